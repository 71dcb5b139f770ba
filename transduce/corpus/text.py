"""The files that a corpus consists of."""

from dataclasses import dataclass
from pathlib import Path

from transduce.corpus.reading import File, fingerprint


@dataclass(frozen=True)
class Text:
    """The files of a corpus; the task reads examples from them."""

    sources: tuple[File, ...]
    targets: tuple[File, ...] = ()  # empty if each file has all sides

    @property
    def files(self) -> tuple[File, ...]:
        return self.sources + self.targets

    def fingerprint(self) -> str:
        """A digest of the contents of the files, independent of their names."""
        return fingerprint(self.files)

    def __str__(self) -> str:
        return ", ".join(Path(file).name for file in self.files)
