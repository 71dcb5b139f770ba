"""Inference engines: beam search for encoded sentences, and scoring of given targets."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from transduce.search import PAPER, Hypothesis, Search
from transduce.search.constraints import Constraint

Ids = Sequence[int]


@dataclass(frozen=True)
class Request:
    """A source to decode, with its search settings. Ids have no special symbols."""

    source: Ids
    search: Search = PAPER
    prefix: Ids = ()  # the output must begin with these tokens
    constraint: Constraint | None = None
    sample: int = 0  # the number of this sample of the same source

    @property
    def seed(self) -> int:
        """Of sampling: a function of the source and the search settings, not of the batch."""
        return zlib.crc32(repr((self.search.seed, self.sample, tuple(self.source))).encode())


@runtime_checkable
class Engine(Protocol):
    """Runs a model."""

    name: str
    compute: str  # dtype

    @property
    def device(self) -> str: ...

    def unsupported(self, request: Request) -> str | None:
        """Why this engine cannot serve a request; None if it can."""
        ...

    def search(self, requests: Sequence[Request], batch_size: int = 64) -> list[list[Hypothesis]]:
        """The n-best hypotheses of each request, batch-invariant; search settings may differ."""
        ...

    def score(
        self, sources: Sequence[Ids], targets: Sequence[Ids], batch_size: int = 64
    ) -> list[tuple[float, ...]]:
        """The log-probability of each target token, and of EOS after them."""
        ...


@runtime_checkable
class AligningEngine(Engine, Protocol):
    """An engine that also gives word alignments."""

    def alignment_weights(
        self, sources: Sequence[Ids], targets: Sequence[Ids], batch_size: int = 64
    ) -> list[Float[np.ndarray, "target source"]]:
        """How much each target token attends to each source token.

        The weights of `alignment_layer`, averaged over heads; those of EOS are left out.
        """
        ...


def alignment_layer(depth: int) -> int:
    """The layer of a decoder whose attention follows alignments best, counted from 0.

    The last but one, but of several never the first.
    """
    return min(max(depth - 2, 1), depth - 1)


def by_search(requests: Sequence[Request]) -> dict[Search, list[int]]:
    """The indices of requests grouped by search settings."""
    groups: dict[Search, list[int]] = {}
    for i, request in enumerate(requests):
        groups.setdefault(request.search, []).append(i)
    return groups
