"""Vocabulary shortlist: the target tokens that a source sentence may need, from training data.

Target tokens are sorted by frequency. A source token's rank cut-off is the largest rank among its
translations, and a sentence's shortlist is all tokens up to the largest cut-off of its source
tokens. Cut-offs are rounded up to a few sizes, so that shortlists are a few nested sets: sentences
with the same one can share a batch, and a shortlist does not depend on the rest of the batch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from transduce.errors import ModelError
from transduce.store import Side

FILE = "shortlist.safetensors"
SMALLEST = 512  # tokens; a smaller output layer is no faster
GROWTH = 1.3  # factor from one size to the next
LIKELY = 0.003  # minimum p(target | source) of a translation
SEEN = 1.0  # minimum expected count of a translation, unless it is a copy
LINKS = 12_000_000  # maximum number of co-occurrences, which are held in memory
ROUNDS = 4  # iterations of expectation maximisation
CHUNK = 2**22  # tokens per chunk of the corpus


@dataclass(frozen=True)
class Shortlist:
    """Target tokens sorted by frequency, and the rank cut-off of each source token."""

    order: np.ndarray
    cutoffs: np.ndarray

    def size(self, source: Sequence[int]) -> int:
        """The size of a sentence's shortlist, which is `order[:size]`."""
        return int(self.cutoffs[list(source)].max(initial=SMALLEST))

    def sizes(self) -> list[int]:
        """Every possible size below that of the whole vocabulary."""
        return sorted({int(n) for n in self.cutoffs if n < len(self.order)} | {SMALLEST})

    def to_bytes(self) -> bytes:
        """The content of the file in a model directory."""
        content: bytes = save({"order": self.order, "reach": self.cutoffs})
        return content


def load_shortlist(directory: Path) -> Shortlist | None:
    """The shortlist of a model directory, if it has one; raises ModelError if it is damaged."""
    if not (directory / FILE).is_file():
        return None
    try:
        arrays = load_file(directory / FILE)
        order, cutoffs = arrays["order"], arrays["reach"]
        permutation = np.array_equal(np.sort(order), np.arange(len(order)))
    except (SafetensorError, OSError, KeyError, TypeError) as error:
        raise ModelError(f"{directory / FILE} cannot be read: {error}") from None
    if not permutation or cutoffs.ndim != 1 or cutoffs.dtype.kind != "i" or cutoffs.min() < 1:
        raise ModelError(f"{directory / FILE} is damaged: it does not order a vocabulary")
    return Shortlist(order, cutoffs)


def learn_shortlist(
    source: Side,
    target: Side,
    size: int,
    always: Sequence[int] = (),
    base: Shortlist | None = None,
    links: int = LINKS,
) -> Shortlist:
    """Learns from two encoded sides that share a vocabulary; `always` is in every shortlist.

    With a `base`, learned from other text, no cut-off is smaller than there.
    Frequencies are those of the whole corpus. Translations are learned from a sample of sentences
    with at most `links` co-occurrences, in which rare source tokens are over-represented.
    """
    used, read = _counts(target.ids, size), _counts(source.ids, size)
    written = used > 0
    used[list(always)] = used.max(initial=0) + 1
    order = base.order if base else np.argsort(-used, kind="stable").astype(np.int32)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order), dtype=np.int32)
    # a token that no source has can only be copied, and only if some target has it
    cutoffs = np.where(read > 0, size, np.where(written, rank + 1, 0))
    sample = _sample(source, target, read, links)
    if len(sample):
        found, translation, probability, count = _translations(source, target, sample, size)
        cutoffs[found] = 0
        kept = (probability >= LIKELY) & ((count >= SEEN) | (found == translation))
        np.maximum.at(cutoffs, found[kept], rank[translation[kept]] + 1)
    if base:
        cutoffs = np.maximum(base.cutoffs, np.where(read > 0, cutoffs, 0))
    return Shortlist(order, _rounded(cutoffs, size))


def _counts(ids: np.ndarray, size: int) -> np.ndarray:
    counts = np.zeros(size, dtype=np.int64)
    for start in range(0, len(ids), CHUNK):
        counts += np.bincount(ids[start : start + CHUNK], minlength=size)
    return counts


def _sample(source: Side, target: Side, read: np.ndarray, links: int) -> np.ndarray:
    """A sample of sentences with at most `links` co-occurrences, stratified by rarest token.

    Each sentence belongs to its rarest source token. Sentences are taken round-robin from the
    tokens, in a random order with a fixed seed.
    """
    rng = np.random.default_rng(0)
    shuffled = rng.permutation(len(source.lengths))
    rarest = np.concatenate([*_rarest(source, read), np.zeros(0, dtype=np.int64)])[shuffled]
    by_token = np.argsort(rarest, kind="stable")
    begins = np.flatnonzero(np.diff(rarest[by_token], prepend=-1))
    sizes = np.diff(begins, append=len(by_token))
    turn = np.empty(len(by_token), dtype=np.int64)
    turn[by_token] = np.arange(len(by_token)) - np.repeat(begins, sizes)
    order = shuffled[np.argsort(turn, kind="stable")]
    cost = source.lengths[order].astype(np.int64) * target.lengths[order]
    return order[: int(np.searchsorted(np.cumsum(cost), links, side="right"))]


def _rarest(side: Side, counts: np.ndarray) -> Iterator[np.ndarray]:
    """The rarest token of each sentence, chunk by chunk."""
    keys = counts * len(counts) + np.arange(len(counts))  # sorts by count, and encodes the token
    start, offsets = 0, side.offsets
    while start < len(side.lengths):
        end = int(np.searchsorted(offsets, offsets[start] + CHUNK, side="right")) - 1
        end = min(max(end, start + 1), len(side.lengths))
        tokens = np.asarray(side.ids[offsets[start] : offsets[end]])
        begins = np.asarray(offsets[start:end]) - offsets[start]
        yield np.minimum.reduceat(keys[tokens], begins) % len(counts)
        start = end


def _translations(
    source: Side, target: Side, sample: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """IBM Model 1: co-occurring source and target tokens, p(target | source), expected counts."""
    keys, groups = _links(source, target, sample, size)
    order = np.argsort(keys)
    groups, keys = groups[order], keys[order]
    del order
    new = np.diff(keys, prepend=-1) > 0
    link = np.cumsum(new, dtype=np.int32) - 1
    source_token, target_token = np.divmod(keys[new], size)
    del keys, new
    probability = np.ones(len(source_token))
    for _ in range(ROUNDS):
        weight = probability[link]
        weight /= np.bincount(groups, weight)[groups]
        count = np.bincount(link, weight, len(source_token))
        probability = count / np.bincount(source_token, count)[source_token]
    return source_token, target_token, probability, count


def _links(
    source: Side, target: Side, sample: np.ndarray, size: int
) -> tuple[np.ndarray, np.ndarray]:
    """A key (source token × size + target token) for every co-occurrence, and its group.

    A group is a target token of a sentence, with all source tokens that may have produced it.
    """
    keys, groups, count = [], [], 0
    for i in sample.tolist():
        sources = np.unique(source[i]).astype(np.int64)
        targets = np.unique(target[i]).astype(np.int64)
        keys.append((sources * size + targets[:, None]).ravel())
        numbers = np.arange(count, count + len(targets), dtype=np.int32)
        groups.append(np.repeat(numbers, len(sources)))
        count += len(targets)
    return np.concatenate(keys), np.concatenate(groups)


def _rounded(cutoffs: np.ndarray, size: int) -> np.ndarray:
    """Rounds each cut-off up to the next size."""
    sizes = [SMALLEST]
    while sizes[-1] < size:
        sizes.append(int(sizes[-1] * GROWTH))
    up = np.array(sizes)[np.searchsorted(sizes, cutoffs)]
    return np.minimum(up, size).astype(np.int32)
