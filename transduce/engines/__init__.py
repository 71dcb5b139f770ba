"""Engines: they find the best hypotheses for encoded sentences, and score given ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from transduce.search import PAPER, Hypothesis, Search
from transduce.search.constraints import Constraint

Ids = Sequence[int]


@dataclass(frozen=True)
class Request:
    """A source to decode and how. Ids are without special symbols; the engine adds them."""

    source: Ids
    search: Search = PAPER
    prefix: Ids = ()  # the output begins with these tokens
    constraint: Constraint | None = None


@runtime_checkable
class Engine(Protocol):
    """A model that can be run."""

    name: str
    compute: str  # dtype

    @property
    def device(self) -> str: ...

    def unsupported(self, request: Request) -> str | None:
        """Why this engine cannot serve a request; None if it can."""
        ...

    def search(self, requests: Sequence[Request], batch_size: int = 64) -> list[list[Hypothesis]]:
        """The best hypotheses of each request, batch-invariant; search settings may differ."""
        ...

    def score(
        self, sources: Sequence[Ids], targets: Sequence[Ids], batch_size: int = 64
    ) -> list[tuple[float, ...]]:
        """The log-probability of each target token, and of EOS after them."""
        ...


def by_search(requests: Sequence[Request]) -> dict[Search, list[int]]:
    """The indices of the requests that have the same search settings."""
    groups: dict[Search, list[int]] = {}
    for i, request in enumerate(requests):
        groups.setdefault(request.search, []).append(i)
    return groups
