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


@dataclass(frozen=True)
class Corpus:
    """One of the corpora to train on.

    `weight` is how often it is seen per epoch: 0.5 is half of it, 2 is twice. `tag` names a token
    that is put before each source, to distinguish synthetic from real text; "" is none.
    """

    text: Text
    weight: float = 1.0
    tag: str = ""

    @property
    def symbol(self) -> str:
        """The tag as a token of the vocabulary."""
        return f"<{self.tag}>" if self.tag else ""

    def fingerprint(self) -> str:
        """A digest of the text, with weight and tag."""
        options = [f"{self.weight:g}"] * (self.weight != 1) + [self.symbol] * bool(self.tag)
        return ":".join([self.text.fingerprint(), *options])

    def __str__(self) -> str:
        options = [f"weight {self.weight:g}"] * (self.weight != 1)
        options += [f"tag {self.symbol}"] * bool(self.tag)
        return f"{self.text} ({', '.join(options)})" if options else str(self.text)
