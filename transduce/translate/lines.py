"""N lines in, N lines out, whatever the bytes.

A line ends at "\\n" and nowhere else, as in a corpus. But where a corpus that is not UTF-8 is
refused, so that it can be put right before an hour is spent, here every line gets its output.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import regex  # type: ignore[import-untyped]

from transduce import atomic
from transduce.errors import InputError
from transduce.log import Log

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_LINE_END = re.compile("[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")  # all that str.splitlines knows
_SURROGATE = re.compile("[\ud800-\udfff]")
_INVISIBLE = regex.compile(r"[\s\p{Cf}\p{Default_Ignorable_Code_Point}]*+")


def read_lines(stream: Iterable[bytes], note: Log) -> Iterator[str]:
    """The lines of a binary stream without their ends, or of a corpus file's `Lines.raw()`.

    Bytes that are not UTF-8 become U+FFFD; `note` hears of them once, at the end.
    """
    broken = first = 0
    for number, raw in enumerate(stream, start=1):
        line = raw.removesuffix(b"\n").removesuffix(b"\r")
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            text = line.decode("utf-8", "replace")
            broken, first = broken + 1, first or number
        yield text.removeprefix("\ufeff") if number == 1 else text
    if broken:
        note(
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


class OutputFile:
    """A file of lines that has its name only when it is complete; until then it is FILE.partial.

    With `resume` the lines that stand there, or in FILE itself, are kept: `done` is their number,
    and `skip` passes over the inputs they came from. A device or a pipe is written to directly.
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
        with self._writing(), ExitStack() as closing:
            closing.callback(self._stream.close)
            if self._direct:
                return
            if error is None:
                self._stream.truncate()
                closing.close()
                atomic.flush(self._partial)
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
        """Passes over the inputs whose lines are done; InputError if there are not as many."""
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
        if self._resume and not self._partial.exists() and self._target.exists():
            self._target.replace(self._partial)
            self._moved = True
        if not self._resume or not self._partial.exists():
            return self._partial.open("wb")
        stream = self._partial.open("rb+")
        size = 0
        for line in stream:
            if line.endswith(b"\n"):
                self.done += 1
                size += len(line)
        stream.seek(size)
        return stream

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise  # the reader has had enough, which is no mistake
        except OSError as error:
            raise InputError(f"{self.file} cannot be written: {error.strerror}") from None
