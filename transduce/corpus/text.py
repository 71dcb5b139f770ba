"""The files that a corpus consists of."""

from dataclasses import dataclass
from pathlib import Path

from transduce.corpus.reading import File, fingerprint


@dataclass(frozen=True)
class Text:
    """Files of examples, which the task knows how to read."""

    sources: tuple[File, ...]
    targets: tuple[File, ...] = ()  # none: each file has all sides of its examples

    @property
    def files(self) -> tuple[File, ...]:
        return self.sources + self.targets

    def fingerprint(self) -> str:
        """A digest of what the files contain, whatever they are called."""
        return fingerprint(self.files)

    def __str__(self) -> str:
        return ", ".join(Path(file).name for file in self.files)
