"""Engines: what finds the best hypotheses for encoded sentences, and scores given ones."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from transduce.search import PAPER, Hypothesis, Search

Ids = Sequence[int]


@runtime_checkable
class Engine(Protocol):
    """A model that runs. Ids are without special symbols; the engine adds them."""

    name: str

    def search(
        self,
        sources: Sequence[Ids],
        search: Search = PAPER,
        prefixes: Sequence[Ids] | None = None,
        batch_size: int = 64,
    ) -> list[list[Hypothesis]]:
        """The best hypotheses of each source, independent of the other sentences in the batch."""
        ...

    def score(
        self, sources: Sequence[Ids], targets: Sequence[Ids], batch_size: int = 64
    ) -> list[tuple[float, ...]]:
        """The log-probability of each target token, and of EOS after them."""
        ...
