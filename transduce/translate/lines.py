"""Reading and writing lines: one output line per input line, even for invalid UTF-8.

A line ends at "\\n" only, as in a corpus.
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

PAUSE = 0.05  # seconds without input after which the lines read so far are translated
BLOCK = 2**14  # maximum bytes per read

T = TypeVar("T")

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_LINE_END = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")  # all line ends of str.splitlines
# characters that some programs treat as line ends, and unpaired surrogates
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_INVISIBLE = regex.compile(r"[\s\p{Cf}\p{Default_Ignorable_Code_Point}]*+")


class ArrivingLines:
    """The lines of an open file or pipe, as they arrive; of any length."""

    def __init__(self, file: TextFile) -> None:
        self._file = file
        self._lines: deque[bytes] = deque()
        self._unended: list[bytes] = []  # blocks of an incomplete line
        self._open = True

    def __iter__(self) -> Iterator[bytes]:
        """The lines, with line ends."""
        while self._lines or self._open:
            if self._lines:
                yield self._lines.popleft()
            else:
                self._receive()

    def ready(self) -> bool:
        """Whether the next line or the end of the input arrives within PAUSE."""
        while not self._lines and self._open:
            try:
                readable, _, _ = select.select([self._file.stream], [], [], PAUSE)
            except (OSError, ValueError):  # not a file descriptor: reading never blocks
                readable = [self._file.stream]
            if not readable:
                return False
            self._receive()
        return True

    def _receive(self) -> None:
        """Reads a block; waits for it if necessary."""
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
    """The lines as text without line ends.

    Bytes that are not UTF-8 become U+FFFD; `log` is called at the end with the number of lines.
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
            f"lines that are not UTF-8: {broken:,}, the first is line {first:,}; invalid bytes "
            "are replaced by U+FFFD: convert the input, for example with "
            "iconv -f latin1 -t utf-8"
        )


def clean(text: str) -> str:
    """The text without control characters and outer spaces; "" if nothing is visible."""
    if _SURROGATE.search(text):  # pairs are joined, unpaired ones replaced
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text = _CONTROL.sub(" ", text).strip()
    return "" if _INVISIBLE.fullmatch(text) else text


def listed(texts: str | Iterable[str]) -> list[str]:
    """The texts as a list; raises InputError for one that is not a string."""
    found = [texts] if isinstance(texts, str) else list(texts)
    for number, text in enumerate(found):
        if not isinstance(text, str):
            raise InputError(f'texts[{number}] is {text!r}, not a string: use "" for none')
    return found


def one_line(text: str) -> str:
    """The text with a space for every character that a program may treat as a line end."""
    return _LINE_END.sub(" ", text)


def json_line(entry: Mapping[str, object]) -> str:
    """A JSON object on one line, without characters that a program may treat as a line end."""
    line = json.dumps(entry, ensure_ascii=False)
    return _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", line)


class OutputFile:
    """An output file, written as FILE.partial and renamed when it is complete.

    With `resume` the lines of FILE.partial or FILE are kept: `done` is their number, and `skip`
    skips their inputs. Devices and pipes are written to directly. FILE.partial is locked: raises
    InputError if another process is writing it.
    """

    def __init__(self, file: Path, resume: bool = False) -> None:
        self.file = file
        self.done = 0
        self._resume = resume
        self._target = Path(os.path.realpath(file))  # a symbolic link is kept
        self._partial = self._target.with_name(f"{self._target.name}.partial")
        self._direct = False
        self._moved = False  # FILE was renamed to FILE.partial
        self._untouched = True  # nothing was written yet

    def __enter__(self) -> "OutputFile":
        with self._writing():
            self._stream = self._opened()
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        with self._writing(), closing(self._stream):
            if self._direct:
                return
            # the lock is held until after the rename, so that no other process takes the file
            if error is None:
                self._stream.truncate()
                os.fsync(self._stream.fileno())
                self._partial.replace(self._target)
                atomic.flush(self._target.parent)
            elif self._untouched and self._moved:
                self._partial.replace(self._target)
            elif self._untouched and not self._resume:
                self._partial.unlink()  # nothing to resume

    def write(self, line: str) -> None:
        """Writes a line and flushes it."""
        assert "\n" not in line
        with self._writing():
            if self._untouched and not self._direct:
                self._stream.truncate()  # remove an incomplete last line
            self._untouched = False
            self._stream.write(f"{line}\n".encode("utf-8", "replace"))
            self._stream.flush()

    def skip(self, inputs: Iterator[object]) -> None:
        """Skips the inputs whose lines are done; raises InputError if there are fewer."""
        for number in range(self.done):
            if next(inputs, self) is self:
                raise InputError(
                    f"{self.file} has {self.done:,} lines already but the input only {number:,}: "
                    "resume with the same input, or name another output"
                )

    def _opened(self) -> BinaryIO:
        """The file to write to, positioned after the lines that are done."""
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
        """Opens and locks FILE.partial."""
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
            stream.close()  # another process has just renamed it: create a new one

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise  # the reader, such as `head`, has closed the pipe: not an error
        except OSError as error:
            raise InputError(f"{self.file} cannot be written: {error.strerror}") from None
