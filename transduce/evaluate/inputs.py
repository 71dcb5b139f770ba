"""The texts of an evaluation, read and checked before anything is translated."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from transduce.corpus.reading import STDIN, File, TextFile, read_lines
from transduce.errors import InputError
from transduce.log import Log, plural, silent


@dataclass(frozen=True)
class TestSet:
    """Line-aligned texts; `translations` and `others` are None if no such file is given."""

    sources: list[str]
    references: list[list[str]]
    translations: list[str] | None = None
    others: list[str] | None = None


def read_inputs(
    source: File,
    references: Sequence[File],
    translations: File | None = None,
    others: File | None = None,
    log: Log = silent,
) -> TestSet:
    """Reads files with one sentence per line; gzip and xz are detected; one may be "-"."""
    scored = [*references, *(file for file in (translations, others) if file is not None)]
    if [source, *scored].count(STDIN) > 1:
        raise InputError("standard input can be read only once: give - for one file")
    sources = list(read_lines(source, log))
    read = {file: read_scored(file) for file in scored}
    for file, lines in ((source, sources), *read.items()):
        if not lines:
            raise InputError(f"{file} is empty: it needs one sentence per line")
        if len(lines) != len(sources):
            raise InputError(
                f"{source} has {plural(len(sources), 'line')} but {file} has {len(lines):,}: "
                "the files must be line-aligned"
            )
    return TestSet(
        sources,
        [read[file] for file in references],
        None if translations is None else read[translations],
        None if others is None else read[others],
    )


def read_scored(file: File) -> list[str]:
    """The lines of references or translations, as the sacrebleu command reads them."""
    with TextFile(file) as lines:
        return [line.rstrip() for line in lines]


def check_writable(output: Path, inputs: Sequence[File], option: str = "--output") -> None:
    """Raises InputError if `output` cannot be written or is one of the inputs."""
    if not output.parent.is_dir():
        raise InputError(
            f"there is no directory {output.parent} for {output.name}: create it first"
        )
    if output.exists() and not output.is_file():
        raise InputError(f"{output} is not a file: name another with {option}")
    for file in inputs:
        if output.exists() and Path(file).exists() and output.samefile(file):
            raise InputError(f"{output} is also an input: name another file with {option}")


def check_record(record: Path, others: Sequence[File]) -> None:
    """The same for a result record, whose file name is the name of the result."""
    if record.suffix != ".json":
        raise InputError(f"{record} cannot be a record: its name must end in .json")
    check_writable(record, others, "--record")
