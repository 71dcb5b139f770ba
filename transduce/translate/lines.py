"""N lines in, N lines out, whatever the bytes.

A line ends at "\\n" and nowhere else, as in a corpus. A corpus that is not UTF-8 raises InputError
before an hour is spent on it; here every line gets its output.
"""

import fcntl
import json
import os
import re
import select
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO, TypeVar

import regex  # type: ignore[import-untyped]

from transduce import atomic
from transduce.corpus.reading import TextFile
from transduce.errors import InputError
from transduce.log import Log

PAUSE = 0.05  # seconds without input after which the lines that are there are translated
BLOCK = 2**14  # bytes read at once, at most

T = TypeVar("T")

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_LINE_END = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")  # all that str.splitlines knows
# what some readers break lines at, and halves of surrogate pairs, which UTF-8 cannot hold
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_INVISIBLE = regex.compile(r"[\s\p{Cf}\p{Default_Ignorable_Code_Point}]*+")


class ArrivingLines:
    """The lines of an open file or pipe, as they arrive; a line may be of any length."""

    def __init__(self, file: TextFile) -> None:
        self._file = file
        self._lines: deque[bytes] = deque()
        self._unended: list[bytes] = []  # blocks of a line whose end has not arrived
        self._open = True

    def __iter__(self) -> Iterator[bytes]:
        """The lines, their ends included."""
        while self._lines or self._open:
            if self._lines:
                yield self._lines.popleft()
            else:
                self._receive()

    def ready(self) -> bool:
        """Whether the next line, or the end, is there or arrives before the input pauses."""
        while not self._lines and self._open:
            try:
                readable, _, _ = select.select([self._file.stream], [], [], PAUSE)
            except (OSError, ValueError):  # not a descriptor of the system: it never waits
                readable = [self._file.stream]
            if not readable:
                return False
            self._receive()
        return True

    def _receive(self) -> None:
        """Waits for some bytes, or the end."""
        with self._file.reading():
            block = self._file.stream.read1(BLOCK)
        self._open = bool(block)
        *ended, rest = block.split(b"\n")
        for line in ended:
            self._lines.append(b"".join([*self._unended, line, b"\n"]))
            self._unended = []
        if rest:
            self._unended.append(rest)
        if not self._open and self._unended:
            self._lines.append(b"".join(self._unended))


def chunks(
    items: Iterable[T], size: int, ready: Callable[[], bool] = lambda: True
) -> Iterator[list[T]]:
    """Lists of up to `size` items; fewer when the next item is not `ready`."""
    chunk: list[T] = []
    for item in items:
        chunk.append(item)
        if len(chunk) == size or not ready():
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def decode_lines(lines: Iterable[bytes], log: Log) -> Iterator[str]:
    """The lines as text without their ends.

    Bytes that are not UTF-8 become U+FFFD; `log` is called once, at the end, with their count.
    """
    broken = first = 0
    for number, raw in enumerate(lines, start=1):
        line = raw.removesuffix(b"\n").removesuffix(b"\r")
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            text = line.decode("utf-8", "replace")
            broken, first = broken + 1, first or number
        yield text.removeprefix("\ufeff") if number == 1 else text
    if broken:
        log(
            f"lines that are not UTF-8: {broken:,}, the first is line {first:,}; what cannot be "
            "read there is replaced by U+FFFD: convert the input, for example with "
            "iconv -f latin1 -t utf-8"
        )


def clean(text: str) -> str:
    """What is translated: no control characters, no space around it; "" if nothing is visible."""
    if _SURROGATE.search(text):  # pairs are joined, and a half is no character
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text = _CONTROL.sub(" ", text).strip()
    return "" if _INVISIBLE.fullmatch(text) else text


def one_line(text: str) -> str:
    """The text with a space wherever any reader would see the end of a line."""
    return _LINE_END.sub(" ", text)


def json_line(entry: Mapping[str, object]) -> str:
    """A JSON object on one line, whichever reader reads it."""
    line = json.dumps(entry, ensure_ascii=False)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", line)


class OutputFile:
    """A file of lines that has its name only when it is complete; until then it is FILE.partial.

    With `resume` the lines that are there, or in FILE itself, are kept: `done` is their number,
    and `skip` passes over the inputs they came from. A device or a pipe is written to directly.
    FILE.partial is locked: a second process that writes the same file is refused.
    """

    def __init__(self, file: Path, resume: bool = False) -> None:
        self.file = file
        self.done = 0
        self._resume = resume
        self._target = Path(os.path.realpath(file))  # a link stays a link
        self._partial = self._target.with_name(f"{self._target.name}.partial")
        self._direct = False
        self._moved = False  # FILE became FILE.partial
        self._untouched = True  # nothing has been written

    def __enter__(self) -> "OutputFile":
        with self._writing():
            self._stream = self._opened()
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        with self._writing(), closing(self._stream):
            if self._direct:
                return
            # the lock is kept until the file has its name, or nobody could tell whose it is
            if error is None:
                self._stream.truncate()
                os.fsync(self._stream.fileno())
                self._partial.replace(self._target)
                atomic.flush(self._target.parent)
            elif self._untouched and self._moved:
                self._partial.replace(self._target)
            elif self._untouched and not self._resume:
                self._partial.unlink()  # there is nothing in it to resume from

    def write(self, line: str) -> None:
        """Adds a line, which must be one, and hands it to the system at once."""
        assert "\n" not in line
        with self._writing():
            if self._untouched and not self._direct:
                self._stream.truncate()  # what came after the last complete line
            self._untouched = False
            self._stream.write(f"{line}\n".encode("utf-8", "replace"))
            self._stream.flush()

    def skip(self, inputs: Iterator[object]) -> None:
        """Passes over the inputs whose lines are done; raises InputError if there are fewer."""
        for number in range(self.done):
            if next(inputs, self) is self:
                raise InputError(
                    f"{self.file} has {self.done:,} lines already but the input only {number:,}: "
                    "resume with the input it began with, or name another output"
                )

    def _opened(self) -> BinaryIO:
        """The file to write to, at the place to go on from."""
        if self.file.is_dir():
            raise InputError(f"{self.file} is a directory: give a file")
        self._direct = self.file.exists() and not self.file.is_file()
        if self._direct:
            if self._resume:
                raise InputError(f"{self.file} is not an ordinary file: it cannot be resumed")
            return self.file.open("wb")
        if not self._target.parent.is_dir():
            raise InputError(f"there is no directory {self.file.parent}: create it first")
        new = not self._partial.exists()
        stream = self._locked()
        if not self._resume:
            stream.truncate()
        elif new and self._target.exists():
            self._target.replace(self._partial)
            self._moved = True
            stream.close()
            stream = self._locked()
        size = 0
        for line in stream:
            if line.endswith(b"\n"):
                self.done += 1
                size += len(line)
        stream.seek(size)
        return stream

    def _locked(self) -> BinaryIO:
        """FILE.partial, for this process alone."""
        while True:
            stream = os.fdopen(os.open(self._partial, os.O_RDWR | os.O_CREAT, 0o666), "rb+")
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.fstat(stream.fileno()), self._partial.stat()):
                    return stream
            except BlockingIOError:
                stream.close()
                raise InputError(
                    f"{self.file} is being written by another process: "
                    "wait until it ends, or name another output"
                ) from None
            except FileNotFoundError:
                pass
            stream.close()  # another process has just given it its name: begin a new one

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise  # the reader, such as `head`, has closed the pipe: no mistake
        except OSError as error:
            raise InputError(f"{self.file} cannot be written: {error.strerror}") from None
