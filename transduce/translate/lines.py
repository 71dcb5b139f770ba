"""Reading lines: one output line per input line, even for invalid UTF-8.

A line ends at "\\n" only, as in a corpus.
"""

import json
import re
import select
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

import regex  # type: ignore[import-untyped]

from transduce.corpus.reading import File, TextFile
from transduce.errors import InputError
from transduce.log import Log

PAUSE = 0.05  # seconds without input after which the lines read so far are translated
BLOCK = 2**14  # maximum bytes per read
LEAST = 256  # characters per chunk
COUNTED = 2**20  # bytes per read when lines are only counted

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


class Pace:
    """Limits a chunk of texts to what takes about `seconds` to translate, from the speed so far."""

    def __init__(self, seconds: float = 3.0, characters: int = 4096) -> None:
        self._seconds, self._limit = seconds, characters
        self._characters = 0  # of the chunk
        self._start = time.perf_counter()

    def add(self, text: str) -> None:
        """Counts a text of the next chunk."""
        if not self._characters:
            self._start = time.perf_counter()
        self._characters += len(text) + 1

    def room(self) -> bool:
        """Whether the chunk may have another text."""
        return self._characters < self._limit

    def end(self) -> None:
        """Ends a chunk, which was translated since its first text was added."""
        elapsed = max(time.perf_counter() - self._start, 1e-3)
        possible = self._characters * self._seconds / elapsed
        self._limit = int(min(max(possible, self._limit / 4, LEAST), 4 * self._limit))
        self._characters = 0


def count_lines(file: File) -> int:
    """The number of lines of a file."""
    last, count = b"", 0
    with TextFile(file) as text, text.reading():
        while block := text.stream.read(COUNTED):
            count, last = count + block.count(b"\n"), block
    return count + (not last.endswith(b"\n") and bool(last))


def join_paragraphs(lines: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    """Joins lines up to the next blank one; each text with its first and last line number.

    >>> list(join_paragraphs(["a", " b", "", "c"]))
    [('a b', 1, 2), ('', 3, 3), ('c', 4, 4)]
    """
    begun: list[str] = []
    number = 0
    for number, line in enumerate(lines, start=1):
        if clean(line):
            begun.append(line.strip())
            continue
        if begun:
            yield " ".join(begun), number - len(begun), number - 1
            begun = []
        yield line, number, number
    if begun:
        yield " ".join(begun), number - len(begun) + 1, number


def decode_lines(lines: Iterable[bytes], log: Log, first_of_file: bool = True) -> Iterator[str]:
    """The lines as text without line ends, and without a byte order mark before the first of all.

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
        yield text.removeprefix("\ufeff") if number == 1 and first_of_file else text
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
