"""§5.1: sentences of about the same length together, so many tokens a batch."""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Int, Int64
from torch import Tensor

from transduce.store import Lengths, Side, Store
from transduce.tokenizer import BOS, EOS, PAD

POOL = 128  # micro_batches that are sorted together: more of them pad less, fewer mix better
ENOUGH = 96  # micro_batches an epoch, of which less than 5 % is padding
SMALLEST = 2048  # tokens of a rectangle that is still worth its overhead

Indices = Int64[np.ndarray, " _"]  # rows of a store


@dataclass(frozen=True)
class Batch:
    """A padded micro-batch: what the encoder reads, what the decoder reads and should predict."""

    source: Int[Tensor, "rows source"]  # ids EOS
    target_in: Int[Tensor, "rows target"]  # BOS ids
    target_out: Int[Tensor, "rows target"]  # ids EOS

    @property
    def target_tokens(self) -> int:
        """How many tokens the decoder is to predict."""
        return int((self.target_out != PAD).sum())

    def to(self, device: torch.device) -> "Batch":
        return Batch(
            self.source.to(device, non_blocking=True),
            self.target_in.to(device, non_blocking=True),
            self.target_out.to(device, non_blocking=True),
        )


def plan_epoch(
    source_lengths: Lengths,
    target_lengths: Lengths,
    tokens_per_batch: int,
    seed: int,
    epoch: int,
    micro_batches: int = 1,
) -> list[Indices]:
    """The batches of an epoch, each sentence once, as a function of the seed and the epoch.

    A batch consists of `micro_batches` padded micro-batches of sentences of similar length, each of
    at most tokens_per_batch ÷ micro_batches tokens a side, counting padding, BOS and EOS; a longer
    sentence is a micro-batch by itself. `split` recovers the micro-batches, or divides the batch
    among processes: the batch does not depend on their number.
    """
    rng = np.random.default_rng([seed, epoch])
    longest = _longest(source_lengths, target_lengths)
    budget = max(1, tokens_per_batch // micro_batches)
    pools = max(1, round(int(longest.sum()) / budget / POOL))
    order = _by_length(longest, source_lengths, target_lengths, pools, rng)
    # the first is cut short at random, so that the others do not begin where they always did
    edges = _cut(longest[order], budget, int(budget * rng.uniform(0.1, 1)))
    parts = [order[start:end] for start, end in pairwise(edges)]
    parts = [parts[place] for place in rng.permutation(len(parts))]
    batches = [
        parts[start : start + micro_batches] for start in range(0, len(parts), micro_batches)
    ]
    return [
        np.concatenate(sorted(batch, key=lambda part: int(longest[part[0]]))) for batch in batches
    ]


def micro_batches_for(
    source_lengths: Lengths, target_lengths: Lengths, tokens_per_batch: int
) -> int:
    """In how many micro_batches to compute a batch so that less than 5 % of it is padding.

    One, unless the corpus is so small that an epoch has only few batches.
    """
    batches = int(_longest(source_lengths, target_lengths).sum()) / tokens_per_batch
    return max(1, min(math.ceil(ENOUGH / batches), tokens_per_batch // SMALLEST))


def split(
    batch: Indices, parts: int, source_lengths: Lengths, target_lengths: Lengths
) -> list[Indices]:
    """A batch in so many parts, in order, such that the largest rectangle is as small as can be.

    Part r of n is what process r of n computes. A part is empty only if there are fewer sentences
    than parts.
    """
    longest = _longest(source_lengths[batch], target_lengths[batch])
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
    """The sentences as tensors, padded on the right."""
    source, target = _padded_rows(store.sources, indices), _padded_rows(store.targets, indices)
    begin = np.full((len(indices), 1), BOS)
    return Batch(
        source=torch.from_numpy(_with_end(source, store.source_lengths[indices])),
        target_in=torch.from_numpy(np.concatenate([begin, target], axis=1)),
        target_out=torch.from_numpy(_with_end(target, store.target_lengths[indices])),
    )


def padding(batches: list[Indices], source_lengths: Lengths, target_lengths: Lengths) -> float:
    """The share of the micro_batches' cells, of both sides, that holds nothing."""
    filled = int(source_lengths.sum()) + int(target_lengths.sum()) + 2 * len(source_lengths)
    cells = sum(
        len(batch) * (int(source_lengths[batch].max()) + int(target_lengths[batch].max()) + 2)
        for batch in batches
        if len(batch)
    )
    return 1 - filled / cells


def _longest(source_lengths: Lengths, target_lengths: Lengths) -> Int64[np.ndarray, " pairs"]:
    """The longer side of each pair, with its EOS, or BOS."""
    return np.maximum(source_lengths, target_lengths).astype(np.int64) + 1


def _by_length(
    longest: Int64[np.ndarray, " pairs"],
    source_lengths: Lengths,
    target_lengths: Lengths,
    pools: int,
    rng: np.random.Generator,
) -> Indices:
    """An order in which neighbours have about the same length on both sides.

    Sentences are dealt to pools at random; a pool is sorted by its longer side, then by how much
    longer the target is, and both alternate in direction, so that no neighbours are far apart.
    """
    pairs = len(longest)
    shuffled = rng.permutation(pairs)
    pool = np.arange(pairs) * pools // max(pairs, 1)
    length = longest[shuffled]
    excess = (target_lengths.astype(np.int64) - source_lengths)[shuffled]
    reach = int(longest.max(initial=0)) + 1
    by_length = np.where(pool % 2 == 0, length, reach - length)
    by_excess = np.where((length + rng.integers(2)) % 2 == 0, excess, -excess)
    key = (pool * (reach + 1) + by_length) * (2 * reach + 1) + by_excess + reach
    return shuffled[np.argsort(key, kind="stable")]


def _cut(longest: Int64[np.ndarray, " rows"], budget: int, first: int) -> list[int]:
    """The edges of micro-batches that are as large as the budget; `first` is that of the first."""
    edges = [0]
    while edges[-1] < len(longest):
        start, limit = edges[-1], budget if len(edges) > 1 else first
        window = longest[start : start + max(1, limit // int(longest[start]))]
        cells = np.maximum.accumulate(window) * np.arange(1, len(window) + 1)
        edges.append(start + max(1, int(np.searchsorted(cells, limit, side="right"))))
    return edges


def _padded_rows(side: Side, indices: Indices) -> Int64[np.ndarray, "rows longest"]:
    lengths = side.lengths[indices]
    column = np.arange(lengths.max(initial=0))
    inside = column < lengths[:, None]
    cells = np.full(inside.shape, PAD)
    cells[inside] = side.ids[(side.offsets[indices][:, None] + column)[inside]]
    return cells


def _with_end(
    cells: Int64[np.ndarray, "rows longest"], lengths: Lengths
) -> Int64[np.ndarray, "rows longest+1"]:
    ended = np.pad(cells, ((0, 0), (0, 1)), constant_values=PAD)
    ended[np.arange(len(cells)), lengths] = EOS
    return ended
