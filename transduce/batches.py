"""§5.1: batches of sentences of similar length, with a fixed number of tokens per batch.

`lengths` are those of a store: for each side the length of every sentence in tokens, with EOS.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
import torch
from jaxtyping import Int, Int64
from torch import Tensor

from transduce.blocks import Blocks
from transduce.config import TrainConfig
from transduce.store import Lengths, Side, Store

POOL = (
    128  # micro-batches that are sorted together: more means less padding, fewer means more random
)
ENOUGH = 96  # micro-batches per epoch that keep padding below 5 %
SMALLEST = 2048  # tokens: smaller micro-batches have too much overhead

Indices = Int64[np.ndarray, " _"]  # rows of a store


@dataclass(frozen=True)
class Batch:
    """A padded micro-batch: encoder input, decoder input and decoder target.

    The target is the last side of the task, the source the one before it; for a task with one
    side, `source` has no columns.
    """

    source: Int[Tensor, "rows source"]  # ids EOS
    target_in: Int[Tensor, "rows target"]  # BOS ids
    target_out: Int[Tensor, "rows target"]  # ids EOS

    def to(self, device: torch.device) -> "Batch":
        return Batch(
            self.source.to(device, non_blocking=True),
            self.target_in.to(device, non_blocking=True),
            self.target_out.to(device, non_blocking=True),
        )

    def twice(self) -> "Batch":
        """The batch, followed by itself."""
        return Batch(
            self.source.repeat(2, 1), self.target_in.repeat(2, 1), self.target_out.repeat(2, 1)
        )


class Batching:
    """The division of a training corpus into batches."""

    def __init__(
        self, store: Store, settings: TrainConfig, micro_batches: int | None = None
    ) -> None:
        self.store, self.lengths = store, store.lengths
        self.seed = settings.seed
        self.tokens = settings.tokens_per_batch * settings.accumulate
        self.parts = store.parts
        lengths = [side[self.rows(0)] for side in self.lengths]
        self.micro_batches = micro_batches or max(
            settings.accumulate, micro_batches_for(lengths, self.tokens)
        )

    def rows(self, epoch: int) -> Indices:
        """The examples of an epoch: all of them, each corpus as often as its weight says."""
        if isinstance(self.store, Blocks):
            return self.store.starts(int(np.random.default_rng([self.seed, epoch]).integers(2**31)))
        counts = [part.examples for part in self.parts]
        return np.concatenate(
            [
                start + weighted_rows(part.examples, part.weight, [self.seed, number], epoch)
                for number, (part, start) in enumerate(
                    zip(self.parts, accumulate([0, *counts]), strict=False)
                )
            ]
        )

    def epoch(self, number: int) -> list[Indices]:
        """The batches of an epoch."""
        rows = self.rows(number)
        lengths = [side[rows] for side in self.lengths]
        plan = plan_epoch(lengths, self.tokens, self.seed, number, self.micro_batches)
        return [rows[batch] for batch in plan]


def weighted_rows(examples: int, weight: float, seed: Sequence[int], epoch: int) -> Indices:
    """The examples of a corpus that an epoch sees: weight · examples of them.

    All epochs together are a sequence of permutations: after any number of epochs, two examples
    have been seen equally often, or one of them once more. An epoch has at least one example.
    """
    if weight == 1:
        return np.arange(examples)
    weight = max(weight, 1 / examples)
    start, end = (int(weight * examples * number) for number in (epoch, epoch + 1))
    parts = [
        np.random.default_rng([*seed, number, 1]).permutation(examples)
        for number in range(start // examples, -(-end // examples))
    ]
    first = start - start // examples * examples
    return np.concatenate(parts)[first : first + end - start]


def plan_validation(store: Store, tokens_per_batch: int) -> list[Indices]:
    """Batches of all examples of a store; of a stream, the blocks that do not overlap."""
    rows = store.starts() if isinstance(store, Blocks) else np.arange(len(store))
    plan = plan_epoch([side[rows] for side in store.lengths], tokens_per_batch, 0, 0)
    return [rows[batch] for batch in plan]


def target_tokens(store: Store, batch: Indices) -> int:
    """The number of target tokens of a batch, with EOS."""
    return int(store.lengths[-1][batch].sum())


def plan_epoch(
    lengths: Sequence[Lengths],
    tokens_per_batch: int,
    seed: int,
    epoch: int,
    micro_batches: int = 1,
) -> list[Indices]:
    """The batches of an epoch, as a function of seed and epoch; each sentence occurs once.

    A batch consists of `micro_batches` padded micro-batches of sentences of similar length, each of
    at most tokens_per_batch ÷ micro_batches tokens per side, counting padding, BOS and EOS; a
    longer sentence is a micro-batch of its own. `split` recovers the micro-batches, or divides
    the batch among processes: the batch does not depend on their number.
    """
    rng = np.random.default_rng([seed, epoch])
    longest = _longest(lengths)
    budget = max(1, tokens_per_batch // micro_batches)
    pools = max(1, round(int(longest.sum()) / budget / POOL))
    order = _by_length(longest, lengths, pools, rng)
    # a random size of the first micro-batch shifts the boundaries of all others
    edges = _cut(longest[order], budget, int(budget * rng.uniform(0.1, 1)))
    parts = [order[start:end] for start, end in pairwise(edges)]
    parts = [parts[i] for i in rng.permutation(len(parts))]
    batches = [
        parts[start : start + micro_batches] for start in range(0, len(parts), micro_batches)
    ]
    return [
        np.concatenate(sorted(batch, key=lambda part: int(longest[part[0]]))) for batch in batches
    ]


def micro_batches_for(lengths: Sequence[Lengths], tokens_per_batch: int) -> int:
    """The number of micro-batches per batch that keeps padding below 5 %.

    It is 1 unless the corpus is so small that an epoch has only a few batches.
    """
    batches = int(_longest(lengths).sum()) / tokens_per_batch
    return max(1, min(math.ceil(ENOUGH / batches), tokens_per_batch // SMALLEST))


def split(batch: Indices, parts: int, lengths: Sequence[Lengths]) -> list[Indices]:
    """Splits a batch into consecutive parts; the largest, padded, is as small as possible.

    Part r of n is computed by process r of n. A part is empty only if there are fewer sentences
    than parts.
    """
    longest = _longest([side[batch] for side in lengths])
    low, high = int(longest.max()), int(longest.max()) * len(batch)
    while low < high:
        middle = (low + high) // 2
        if len(_cut(longest, middle, middle)) - 1 <= parts:
            high = middle
        else:
            low = middle + 1
    edges = _cut(longest, low, low)
    while len(edges) - 1 < min(parts, len(batch)):
        rows, start = max((end - start, start) for start, end in pairwise(edges))
        edges = sorted([*edges, start + rows // 2])
    edges += [len(batch)] * (parts + 1 - len(edges))
    return [batch[start:end] for start, end in pairwise(edges)]


def collate(store: Store, indices: Indices) -> Batch:
    """The sentences as a padded micro-batch."""
    if isinstance(store, Blocks):
        blocks = torch.from_numpy(store.rows(indices))
        return Batch(blocks[:, :0], blocks[:, :-1], blocks[:, 1:])
    pad, bos, eos = store.meta.symbols
    rows = [_padded_rows(side, indices, pad, eos) for side in store.sides.values()]
    source = np.empty((len(indices), 0), np.int64) if len(rows) == 1 else rows[0]
    begin = np.full((len(indices), 1), bos)
    inputs = np.where(rows[-1] == eos, pad, rows[-1])[:, :-1]
    return Batch(
        source=torch.from_numpy(source),
        target_in=torch.from_numpy(np.concatenate([begin, inputs], axis=1)),
        target_out=torch.from_numpy(rows[-1]),
    )


def padded_tokens(batch: Indices, lengths: Sequence[Lengths]) -> int:
    """The number of tokens of a padded micro-batch, all sides, padding included."""
    return len(batch) * sum(int(side[batch].max()) for side in lengths)


def padding(batches: list[Indices], lengths: Sequence[Lengths]) -> float:
    """The fraction of the tokens of micro-batches that is padding."""
    filled = sum(int(side[batch].sum()) for side in lengths for batch in batches)
    return 1 - filled / sum(padded_tokens(batch, lengths) for batch in batches if len(batch))


def _longest(lengths: Sequence[Lengths]) -> Int64[np.ndarray, " examples"]:
    """The length of the longest side of each example."""
    return np.max(np.stack(list(lengths)), axis=0).astype(np.int64)


def _by_length(
    longest: Int64[np.ndarray, " examples"],
    lengths: Sequence[Lengths],
    pools: int,
    rng: np.random.Generator,
) -> Indices:
    """An order in which neighbours have similar lengths on every side.

    Sentences are distributed at random over pools; a pool is sorted by the longest side, then by
    how much longer the target is. Both alternate in direction, so that neighbours differ little.
    """
    examples = len(longest)
    shuffled = rng.permutation(examples)
    pool = np.arange(examples) * pools // max(examples, 1)
    length = longest[shuffled]
    excess = (lengths[-1].astype(np.int64) - lengths[0])[shuffled]
    bound = int(longest.max(initial=0)) + 1
    by_length = np.where(pool % 2 == 0, length, bound - length)
    by_excess = np.where((length + rng.integers(2)) % 2 == 0, excess, -excess)
    key = (pool * (bound + 1) + by_length) * (2 * bound + 1) + by_excess + bound
    return shuffled[np.argsort(key, kind="stable")]


def _cut(longest: Int64[np.ndarray, " rows"], budget: int, first: int) -> list[int]:
    """The boundaries of micro-batches of at most `budget` tokens, and `first` for the first one."""
    edges = [0]
    while edges[-1] < len(longest):
        start, limit = edges[-1], budget if len(edges) > 1 else first
        window = longest[start : start + max(1, limit // int(longest[start]))]
        padded = np.maximum.accumulate(window) * np.arange(1, len(window) + 1)
        edges.append(start + max(1, int(np.searchsorted(padded, limit, side="right"))))
    return edges


def _padded_rows(
    side: Side, indices: Indices, pad: int, eos: int
) -> Int64[np.ndarray, "rows longest"]:
    """The ids of each sentence with EOS, padded to the longest."""
    lengths = side.lengths[indices]
    column = np.arange(lengths.max(initial=1))
    inside = column < lengths[:, None] - 1
    rows = np.full(inside.shape, pad)
    rows[inside] = side.ids[(side.offsets[indices][:, None] + column)[inside]]
    rows[np.arange(len(rows)), lengths - 1] = eos
    return rows
