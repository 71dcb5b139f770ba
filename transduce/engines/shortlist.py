"""A vocabulary shortlist: which target tokens a source sentence could need, from training data.

Target tokens are ordered by how often they are used. A source token *reaches* as far down this
order as its likely translations lie, and a sentence as far as its tokens do; the tokens up to there
are its shortlist. Reaches are rounded up to a few levels, so that a sentence's shortlist is one of
a few nested sets and depends on nothing but the sentence: sentences of one level can share a batch
without lending each other words.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from transduce.errors import ModelError

FILE = "shortlist.safetensors"
SMALLEST = 512  # tokens; a smaller product is no faster
GROWTH = 1.3  # of one level over the one before
COVERED = 0.99  # of a source token's translations, by probability, lie within its reach
LINKS = 20_000_000  # pairs of tokens that are counted: enough to know a word's translations
ROUNDS = 4  # of expectation maximisation

Pair = tuple[Sequence[int] | np.ndarray, Sequence[int] | np.ndarray]


@dataclass(frozen=True)
class Shortlist:
    """The order of target tokens, and how far down it each source token reaches."""

    order: np.ndarray
    reach: np.ndarray

    def level(self, source: Sequence[int]) -> int:
        """How many tokens of the order this sentence may use."""
        return int(self.reach[list(source)].max(initial=SMALLEST))

    def levels(self) -> list[int]:
        """Every level that a sentence can have, but for the whole vocabulary."""
        return sorted({int(n) for n in self.reach if n < len(self.order)} | {SMALLEST})

    def to_bytes(self) -> bytes:
        """The content of its file in a model directory."""
        content: bytes = save({"order": self.order, "reach": self.reach})
        return content


def load_shortlist(directory: Path) -> Shortlist | None:
    """The shortlist of a model directory, if it has one."""
    if not (directory / FILE).is_file():
        return None
    try:
        arrays = load_file(directory / FILE)
        return Shortlist(arrays["order"], arrays["reach"])
    except (SafetensorError, OSError, KeyError) as error:
        raise ModelError(f"{directory / FILE} cannot be read: {error}") from None


def learn_shortlist(
    pairs: Iterable[Pair], source_size: int, target_size: int, always: Sequence[int] = ()
) -> Shortlist:
    """Learns from encoded pairs; `always` are target tokens that any sentence may use."""
    sources: list[np.ndarray] = []
    targets: list[np.ndarray] = []
    used = np.zeros(target_size, dtype=np.int64)
    links = 0
    for source, target in pairs:
        np.add.at(used, target, 1)
        if links < LINKS:
            sources.append(np.unique(np.asarray(source, dtype=np.int64)))
            targets.append(np.unique(np.asarray(target, dtype=np.int64)))
            links += len(sources[-1]) * len(targets[-1])
    used[list(always)] = used.max(initial=0) + 1
    order = np.argsort(-used, kind="stable").astype(np.int32)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order), dtype=np.int32)
    reach = np.full(source_size, target_size, dtype=np.int32)  # of a token never seen: everything
    if links:
        source, target, probability = _translations(sources, targets, target_size)
        for token, far in _reaches(source, rank[target], probability):
            reach[token] = _rounded(far, target_size)
    return Shortlist(order, reach)


def _translations(
    sources: list[np.ndarray], targets: list[np.ndarray], target_size: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """p(target token | source token) of IBM Model 1, for every two that met, by source token."""
    widths = [len(source) * len(target) for source, target in zip(sources, targets, strict=True)]
    source = np.concatenate([np.tile(s, len(t)) for s, t in zip(sources, targets, strict=True)])
    target = np.concatenate([np.repeat(t, len(s)) for s, t in zip(sources, targets, strict=True)])
    # every target token of every sentence chooses among the sentence's source tokens
    choices = np.repeat(
        np.arange(sum(map(len, targets))),
        np.concatenate([np.full(len(t), len(s)) for s, t in zip(sources, targets, strict=True)]),
    )
    assert len(choices) == sum(widths)
    met, link = np.unique(source * target_size + target, return_inverse=True)
    source, target = met // target_size, met % target_size
    probability = np.ones(len(met))
    for _ in range(ROUNDS):
        weight = probability[link]
        weight /= np.bincount(choices, weight)[choices]
        count = np.bincount(link, weight, len(met))
        probability = count / np.bincount(source, count)[source]
    return source, target, probability


def _reaches(
    source: np.ndarray, rank: np.ndarray, probability: np.ndarray
) -> Iterable[tuple[int, int]]:
    """For each source token, the rank within which COVERED of its translations lie."""
    by_rank = np.lexsort((rank, source))
    source, rank, probability = source[by_rank], rank[by_rank], probability[by_rank]
    starts = np.flatnonzero(np.r_[True, source[1:] != source[:-1]])
    for start, stop in zip(starts, np.r_[starts[1:], len(source)], strict=True):
        covered = np.cumsum(probability[start:stop])
        place = int(np.searchsorted(covered, COVERED * covered[-1]))
        yield int(source[start]), int(rank[start + min(place, stop - start - 1)]) + 1


def _rounded(far: int, size: int) -> int:
    level = SMALLEST
    while level < far:
        level = int(level * GROWTH)
    return min(level, size)
