"""A vocabulary shortlist: which target tokens a source sentence could need, from training data.

Target tokens are ordered by how often they are used. A source token *reaches* as far down this
order as its translations lie, and a sentence as far as its tokens do; the tokens up to there
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
LIKELY = 0.003  # the least share of a source token's translations that is not chance
SEEN = 1.0  # the fewest times, by expectation: what was met once may be chance, if it is no copy
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


def learn_shortlist(pairs: Iterable[Pair], size: int, always: Sequence[int] = ()) -> Shortlist:
    """Learns from pairs encoded with one vocabulary; any sentence may use the tokens `always`."""
    sources: list[np.ndarray] = []
    targets: list[np.ndarray] = []
    used = np.zeros(size, dtype=np.int64)
    links = 0
    for source, target in pairs:
        np.add.at(used, target, 1)
        if links < LINKS:
            sources.append(np.unique(np.asarray(source, dtype=np.int64)))
            targets.append(np.unique(np.asarray(target, dtype=np.int64)))
            links += len(sources[-1]) * len(targets[-1])
    written = used > 0
    used[list(always)] = used.max(initial=0) + 1
    order = np.argsort(-used, kind="stable").astype(np.int32)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order), dtype=np.int32)
    # a token that no source has can only be copied, and only if the network has learned to write it
    far = np.where(written, rank + 1, 0)
    if links:
        source, target, probability, count = _translations(sources, targets, size)
        far[source] = 0
        kept = (probability >= LIKELY) & ((count >= SEEN) | (source == target))
        np.maximum.at(far, source[kept], rank[target[kept]] + 1)
    return Shortlist(order, _rounded(far, size))


def _translations(
    sources: list[np.ndarray], targets: list[np.ndarray], size: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Every two tokens that met, by IBM Model 1: p(target | source), and how often, expected."""
    widths = [len(source) * len(target) for source, target in zip(sources, targets, strict=True)]
    source = np.concatenate([np.tile(s, len(t)) for s, t in zip(sources, targets, strict=True)])
    target = np.concatenate([np.repeat(t, len(s)) for s, t in zip(sources, targets, strict=True)])
    # every target token of every sentence chooses among the sentence's source tokens
    choices = np.repeat(
        np.arange(sum(map(len, targets))),
        np.concatenate([np.full(len(t), len(s)) for s, t in zip(sources, targets, strict=True)]),
    )
    assert len(choices) == sum(widths)
    met, link = np.unique(source * size + target, return_inverse=True)
    source, target = met // size, met % size
    probability = np.ones(len(met))
    for _ in range(ROUNDS):
        weight = probability[link]
        weight /= np.bincount(choices, weight)[choices]
        count = np.bincount(link, weight, len(met))
        probability = count / np.bincount(source, count)[source]
    return source, target, probability, count


def _rounded(far: np.ndarray, size: int) -> np.ndarray:
    """Each up to the next level."""
    levels = [SMALLEST]
    while levels[-1] < size:
        levels.append(int(levels[-1] * GROWTH))
    up = np.array(levels)[np.searchsorted(levels, far)]
    return np.minimum(up, size).astype(np.int32)
