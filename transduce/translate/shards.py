"""Shards of a file: consecutive parts of its lines, translated one by one and merged.

A shard of a plain file is a range of bytes: the lines that begin in it. A compressed file cannot be
cut at a byte, so its lines are counted first.
"""

import io
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from transduce import atomic
from transduce.corpus.reading import TextFile
from transduce.errors import InputError
from transduce.translate.lines import COUNTED, count_lines

COMPRESSED = (".gz", ".xz")


@dataclass(frozen=True)
class Shard:
    """Shard `number`, counted from 1, of `count`."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """The shard that is written as I/N."""
        match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text)
        if not match or not 1 <= int(match[1]) <= int(match[2]):
            raise InputError(f"--shard {text} must be I/N with I from 1 to N, such as 1/8")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def output(self, whole: Path) -> Path:
        """The file of this shard; the suffix for compression stays at the end.

        >>> str(Shard(2, 8).output(Path("out.de.gz")))
        'out.de.2-of-8.gz'
        """
        suffix = whole.suffix if whole.suffix.lower() in COMPRESSED else ""
        stem = whole.name.removesuffix(suffix)
        return whole.with_name(f"{stem}.{self.number}-of-{self.count}{suffix}")

    def span(self, total: int) -> tuple[int, int]:
        """Its range of bytes or lines of `total`."""
        return total * (self.number - 1) // self.count, total * self.number // self.count


@dataclass(frozen=True)
class Part:
    """The lines of a shard of an input file."""

    shard: Shard
    file: Path
    unit: str  # "bytes" or "lines"
    total: int  # of them in the file

    @classmethod
    def of(cls, shard: Shard, file: Path) -> "Part":
        with TextFile(file) as text:
            plain = isinstance(text.stream.raw, io.FileIO)
        if plain:
            return cls(shard, file, "bytes", file.stat().st_size)
        return cls(shard, file, "lines", count_lines(file))

    def __str__(self) -> str:
        return f"{self.shard} of {self.total:,} {self.unit}"

    @property
    def first(self) -> bool:
        """Whether it begins with the first line of the file."""
        return self.shard.span(self.total)[0] == 0

    def lines(self, text: TextFile) -> Iterator[bytes]:
        """Its lines, with line ends."""
        start, end = self.shard.span(self.total)
        if self.unit == "lines":
            with text.reading():
                yield from islice(text.stream, start, end)
            return
        at = start
        with text.reading():
            if start:
                text.stream.seek(start - 1)
                at += len(text.stream.readline()) - 1  # the line began before
            while at < end and (line := text.stream.readline()):
                yield line
                at += len(line)

    def count(self) -> int:
        """The number of its lines."""
        with TextFile(self.file) as text:
            return sum(1 for _ in self.lines(text))


def finish_shard(output: Path, settings: Mapping[str, str], lines: int) -> None:
    """Records that the output of a shard is complete, for `merge`."""
    record = {"settings": dict(settings), "lines": lines, "bytes": output.stat().st_size}
    with atomic.file(_record_of(output)) as aside:
        aside.write_text(json.dumps(record) + "\n", "utf-8")


def shard_record(output: Path) -> dict[str, Any] | None:
    """What was recorded of a shard; None if it is not complete."""
    try:
        record = json.loads(_record_of(output).read_text("utf-8"))
        return dict(record) if record["bytes"] == output.stat().st_size else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def merge_shards(whole: Path) -> int:
    """Writes the outputs of all shards to one file; returns the number of lines.

    Raises InputError if one is missing, or if they were not made of the same input in the same way.
    """
    count = _count_of(whole)
    files = {i: Shard(i, count).output(whole) for i in range(1, count + 1)}
    records = {i: record for i, file in files.items() if (record := shard_record(file))}
    missing = [str(i) for i in files if i not in records]
    if missing:
        one = len(missing) == 1
        listed = f"{', '.join(missing[:10])}{' …' if len(missing) > 10 else ''}"
        raise InputError(
            f"{whole}: shard{'' if one else 's'} {listed} of {count} "
            f"{'is' if one else 'are'} missing or not complete: run --shard for "
            f"{'it' if one else 'them'}, then merge again"
        )
    first = _comparable(records[1])
    for i, record in records.items():
        for name, value in _comparable(record).items():
            if value != first.get(name):
                raise InputError(
                    f"{files[i]} was made with {name} {value}, but {files[1].name} with "
                    f"{first.get(name)}: make one of them again, with --restart"
                )
    with atomic.file(whole) as aside, aside.open("wb") as out:
        for file in files.values():
            with file.open("rb") as part:
                shutil.copyfileobj(part, out, COUNTED)
    return sum(int(record["lines"]) for record in records.values())


def _comparable(record: Mapping[str, Any]) -> dict[str, str]:
    """The settings of a shard, with the size of the whole input instead of its own number."""
    settings = dict(record["settings"])
    return {**settings, "--shard": settings["--shard"].partition("/")[2]}


def _count_of(whole: Path) -> int:
    """The number of shards that an output is divided into."""
    stem, suffix = Shard(1, 1).output(whole).name.split(".1-of-1")
    pattern = re.compile(rf"{re.escape(stem)}\.\d+-of-(\d+){re.escape(suffix)}")
    found = (pattern.fullmatch(file.name) for file in whole.parent.glob("*"))
    counts = sorted({int(match[1]) for match in found if match})
    if not counts:
        raise InputError(f"there are no shards of {whole}: make them with --shard I/N")
    if len(counts) > 1:
        several = " and ".join(f"{n:,}" for n in counts)
        raise InputError(f"{whole} was divided into {several} shards: remove those of one division")
    return counts[0]


def _record_of(output: Path) -> Path:
    return output.with_name(f"{output.name}.json")
