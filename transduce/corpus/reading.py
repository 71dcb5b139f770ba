"""Reading sentence pairs from files, line by line.

A line ends at "\\n" and nowhere else: U+2028, U+0085 and the like are text. "\\r\\n" is read as
"\\n", a byte order mark at the start of a file is skipped, and other control characters become
spaces. Everything else is kept, no-break spaces included.
"""

import gzip
import hashlib
import io
import itertools
import json
import lzma
import re
import shutil
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Literal

from transduce.corpus.pair import Pair
from transduce.errors import InputError
from transduce.log import Log, plural, silent

File = Path | str  # "-" is standard input
Format = Literal["tsv", "jsonl"]

STDIN = "-"
BOTH_SIDES = (
    "standard input holds both sides, as TSV or JSON lines: give - alone, or two line-aligned files"
)
LONGEST_LINE = 2**24  # bytes; a longer line is not text
KEYS = (
    ("source", "target"),
    ("text", "translation"),
)  # the second is the output of `translate --json`
SUFFIXES: dict[str, Format] = {".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}

_CONTROL = re.compile("[\x00-\x1f]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_pairs(
    sources: Sequence[File],
    targets: Sequence[File] = (),
    format: Format | None = None,
    log: Log = silent,
) -> Iterator[Pair]:
    """The pairs of line-aligned files, the first source with the first target and so on.

    Without targets, each file has both sides: TSV (source TAB target) or JSON lines (an object with
    "source" and "target", or "text" and "translation"), distinguished by name, then by content. Any
    file may be gzip or xz. `log` is called if characters had to be changed.
    """
    if not targets:
        parts = [_both_sides(file, format, log) for file in sources]
    elif len(sources) == len(targets):
        files = list(zip(sources, targets, strict=True))
        for source, target in files:
            _check_two_files(source, target)
        parts = [_aligned(source, target, log) for source, target in files]
    else:
        raise InputError(
            f"{len(sources):,} source files but {len(targets):,} target files: "
            "give as many of one as of the other"
        )
    return _some(itertools.chain.from_iterable(parts), [*sources, *targets])


def read_lines(file: File, log: Log = silent) -> Iterator[str]:
    """The lines of one file, blank ones included."""
    with TextFile(file) as lines:
        yield from map(lines.spaced, lines)
        lines.report(log)


class TextFile:
    """An open text file: its lines, the line number, and how many control characters it had."""

    def __init__(self, file: File) -> None:
        self.file = file
        self.number = 0
        self.controls = 0
        self.first_control = 0  # line number
        self._closing = ExitStack()
        self.stream = self._closing.enter_context(open_bytes(file))

    def __enter__(self) -> "TextFile":
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def __iter__(self) -> Iterator[str]:
        for raw in self.raw():
            line = raw.removesuffix(b"\n").removesuffix(b"\r")
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise self.error(_encoding_advice(line, error)) from None
            yield text.removeprefix("\ufeff") if self.number == 1 else text

    def raw(self) -> Iterator[bytes]:
        """The lines as bytes, with line ends."""
        with self.reading():
            for line in iter(partial(self.stream.readline, LONGEST_LINE), b""):
                self.number += 1
                if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                    raise self.error(
                        "is longer than 16 MiB: is this text with one sentence per line?"
                    )
                yield line

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Raises InputError if reading fails or the compressed data is damaged."""
        try:
            yield
        except (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError):
            raise InputError(
                f"{self.file} is damaged: its compressed data is truncated or corrupt: "
                "download or compress it again"
            ) from None
        except OSError as error:
            raise _unreadable(self.file, error) from None

    def spaced(self, text: str) -> str:
        """The text with control characters replaced by spaces; counts them."""
        if text.isprintable():
            return text
        if _SURROGATE.search(text):
            raise self.error("has an unpaired surrogate, which is not a character")
        text, count = _CONTROL.subn(" ", text)
        if count and not self.controls:
            self.first_control = self.number
        self.controls += count
        return text

    def report(self, log: Log) -> None:
        if self.controls:
            log(
                f"{self.file}: control characters read as spaces: {self.controls:,}, "
                f"the first on line {self.first_control:,}"
            )

    def error(self, what: str) -> InputError:
        return InputError(f"{self.file}, line {self.number:,} {what}")


@contextmanager
def open_bytes(file: File) -> Iterator[io.BufferedReader]:
    """The decompressed bytes of a file; gzip and xz are detected by their first bytes."""
    with ExitStack() as closing:
        try:
            raw = sys.stdin.buffer if file == STDIN else closing.enter_context(_opened(file))
            if not isinstance(raw, io.BufferedReader):  # standard input is replaced, as in tests
                raw = io.BufferedReader(raw)
            start = raw.peek(6)[:6]
        except OSError as error:
            raise _unreadable(file, error) from None
        if start.startswith(b"\x1f\x8b"):
            inner: gzip.GzipFile | lzma.LZMAFile = closing.enter_context(gzip.GzipFile(fileobj=raw))
        elif start == b"\xfd7zXZ\x00":
            inner = closing.enter_context(lzma.LZMAFile(raw))
        else:
            yield raw
            return
        # buffered, because their own readline is slow
        yield closing.enter_context(io.BufferedReader(inner, 2**16))


def _opened(file: File) -> IO[bytes]:
    return Path(file).open("rb")


def keep_stdin(file: Path) -> Path:
    """Copies standard input, which can be read only once, to a file."""
    with file.open("wb") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
    return file


def fingerprint(files: Iterable[File]) -> str:
    """A digest of the contents of the files, independent of their names."""
    total = hashlib.blake2b(digest_size=16)
    for file in files:
        try:
            with Path(file).open("rb") as stream:
                total.update(hashlib.file_digest(stream, "blake2b").digest())
        except OSError as error:
            raise _unreadable(file, error) from None
    return total.hexdigest()


def _aligned(source: File, target: File, log: Log) -> Iterator[Pair]:
    with TextFile(source) as sources, TextFile(target) as targets:
        for left, right in itertools.zip_longest(sources, targets):
            if left is None or right is None:
                raise _unequal(sources, targets)
            yield Pair(sources.spaced(left), targets.spaced(right))
        sources.report(log)
        targets.report(log)


def _unequal(sources: TextFile, targets: TextFile) -> InputError:
    shorter, longer = sorted((sources, targets), key=lambda lines: lines.number)
    for _ in longer.raw():  # count the remaining lines
        pass
    names = [str(lines.file) for lines in (shorter, longer)]
    if Path(names[0]).name != Path(names[1]).name:
        names = [Path(name).name for name in names]
    return InputError(
        f"{names[0]} has {plural(shorter.number, 'line')} but {names[1]} has {longer.number:,}: "
        "the files must be line-aligned"
    )


def _both_sides(file: File, format: Format | None, log: Log) -> Iterator[Pair]:
    with TextFile(file) as lines:
        format = format or format_by_name(file)
        for line in lines:
            format = format or ("jsonl" if line.startswith("{") else "tsv")
            pair = _json_pair(line, lines) if format == "jsonl" else _tsv_pair(line, lines)
            if pair is not None:
                yield pair
        lines.report(log)


def format_by_name(file: File) -> Format | None:
    """The format of a file that has both sides; None if its name does not tell."""
    name = str(file).removesuffix(".gz").removesuffix(".xz")
    return SUFFIXES.get(Path(name).suffix)


def _tsv_pair(line: str, lines: TextFile) -> Pair:
    fields = line.split("\t")
    if len(fields) != 2:
        raise lines.error(
            f"has {len(fields) - 1:,} tabs, not one: write source TAB target, "
            "or give two line-aligned files"
        )
    return Pair(lines.spaced(fields[0]), lines.spaced(fields[1]))


def _json_pair(line: str, lines: TextFile) -> Pair | None:
    """The pair of a JSON object, None for a blank line; other keys are ignored."""
    if not line.strip():
        return None
    try:
        item = json.loads(line)
    except (ValueError, RecursionError):
        raise lines.error("is not JSON") from None
    for keys in KEYS:
        if isinstance(item, dict) and keys[0] in item:
            source, target = (item.get(key) for key in keys)
            if isinstance(source, str) and isinstance(target, str):
                return Pair(lines.spaced(source), lines.spaced(target))
    raise lines.error('needs an object with texts "source" and "target", or "text", "translation"')


def _some(pairs: Iterator[Pair], files: Sequence[File]) -> Iterator[Pair]:
    first = next(pairs, None)
    if first is None:
        raise InputError(f"there are no sentence pairs in {' and '.join(map(str, files))}")
    yield first
    yield from pairs


def _check_two_files(source: File, target: File) -> None:
    if STDIN in (source, target):
        raise InputError(BOTH_SIDES)
    try:
        same = Path(source).samefile(target)
    except OSError:
        return  # reported when it is opened
    if same:
        raise InputError(f"{source} is given for both sides: give one file per language")


def _unreadable(file: File, error: OSError) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError(f"there is no file {file}")
    if isinstance(error, IsADirectoryError):
        return InputError(f"{file} is a directory: give a file")
    return InputError(f"{file} cannot be read: {error.strerror}")


def _encoding_advice(line: bytes, error: UnicodeDecodeError) -> str:
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "is not UTF-8 but UTF-16: convert the file with iconv -f utf-16 -t utf-8"
    byte = line[error.start]
    return (
        f"is not UTF-8 (byte 0x{byte:02X} at {error.start + 1:,}): convert the file, "
        "for example with iconv -f latin1 -t utf-8"
    )
