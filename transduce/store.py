"""The encoded corpus on disk, memory-mapped: it may be larger than memory.

A directory of `meta.json` and, for each side, `SIDE.ids` (the tokens of all sentences, one after
the other) and `SIDE.offsets` (where each sentence begins, and where the last one ends).
"""

import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Integer
from pydantic import NonNegativeInt, PositiveInt, TypeAdapter

from transduce import atomic
from transduce.corpus.filters import Reason, Rules, Tally, check_usable, keep
from transduce.corpus.pair import Pair
from transduce.errors import InputError
from transduce.tokenizer import Tokenizer

CHUNK = 2000  # pairs that a thread encodes at a time
OFFSET = np.dtype("<i8")

Ids = Integer[np.ndarray, " tokens"]
Lengths = Integer[np.ndarray, " pairs"]


@dataclass(frozen=True)
class Meta:
    """What a store holds and what it was made from."""

    version: Literal[1]
    pairs: PositiveInt
    source_tokens: PositiveInt
    target_tokens: PositiveInt
    dtype: Literal["<u2", "<u4"]
    tokens: str  # checksum of the vocabulary
    fingerprint: str  # of the text
    rules: Rules
    max_length: PositiveInt  # tokens a side
    read: PositiveInt
    dropped: dict[Reason, NonNegativeInt]


_META = TypeAdapter(Meta)


@dataclass(frozen=True)
class Side:
    """All sentences of one language."""

    ids: Ids
    offsets: Integer[np.ndarray, " pairs_and_one"]
    lengths: Lengths

    def __getitem__(self, index: int) -> Ids:
        return self.ids[self.offsets[index] : self.offsets[index + 1]]


class Store:
    """An encoded corpus: pair i is `source(i)` and `target(i)`, without special symbols."""

    def __init__(self, meta: Meta, sources: Side, targets: Side) -> None:
        self.meta = meta
        self.sources = sources
        self.targets = targets

    @classmethod
    def open(cls, directory: Path) -> "Store":
        """Refuses a store that is missing, damaged or of another version."""
        if not directory.is_dir():
            raise InputError(f"there is no encoded corpus {directory}")
        try:
            meta = _META.validate_json((directory / "meta.json").read_bytes())
            sides = [
                _open_side(directory, name, meta.pairs, tokens, np.dtype(meta.dtype))
                for name, tokens in (("source", meta.source_tokens), ("target", meta.target_tokens))
            ]
        except (OSError, ValueError):  # a file is missing, cut short or not what it should be
            raise InputError(
                f"the encoded corpus {directory} is damaged or of another version: delete it, and "
                "it is made again"
            ) from None
        return cls(meta, *sides)

    def __len__(self) -> int:
        return self.meta.pairs

    def source(self, index: int) -> Ids:
        return self.sources[index]

    def target(self, index: int) -> Ids:
        return self.targets[index]

    @property
    def source_lengths(self) -> Lengths:
        return self.sources.lengths

    @property
    def target_lengths(self) -> Lengths:
        return self.targets.lengths

    @property
    def tally(self) -> Tally:
        """How many pairs were read for this store, and why some of them are not in it."""
        return Tally(self.meta.read, Counter(self.meta.dropped))


def build_store(
    pairs: Iterable[Pair],
    tokens: Tokenizer,
    directory: Path,
    max_length: int,
    *,
    rules: Rules | None = None,
    fingerprint: str = "",
    threads: int | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Store:
    """Filters and encodes the pairs, and leaves them in a directory, whole or not at all.

    Pairs of more than `max_length` tokens on a side are dropped as well. Memory does not grow with
    the corpus, but for the digests that duplicates are known by. `threads` is by default the number
    of cores; `progress` hears how many pairs have been read.
    """
    rules = rules or Rules()
    tally = Tally()
    dtype = np.dtype("<u2" if tokens.vocab_size <= 2**16 else "<u4")
    with atomic.directory(directory) as aside:
        with _Writer(aside, "source", dtype) as source, _Writer(aside, "target", dtype) as target:
            fit = keep(pairs, rules, tally)
            for encoded in _encode_all(fit, tokens, max_length, threads or os.cpu_count() or 1):
                source.write(encoded.sources)
                target.write(encoded.targets)
                if encoded.too_long:
                    tally.dropped["too long"] += encoded.too_long
                progress(tally.read)
        check_usable(tally)
        meta = Meta(
            version=1,
            pairs=source.pairs,
            source_tokens=source.tokens,
            target_tokens=target.tokens,
            dtype="<u2" if dtype.itemsize == 2 else "<u4",
            tokens=tokens.checksum,
            fingerprint=fingerprint,
            rules=rules,
            max_length=max_length,
            read=tally.read,
            dropped=dict(tally.dropped),
        )
        (aside / "meta.json").write_bytes(_META.dump_json(meta, indent=2) + b"\n")
    return Store.open(directory)


@dataclass(frozen=True)
class _Encoded:
    sources: list[np.ndarray]
    targets: list[np.ndarray]
    too_long: int


def _encode_all(
    pairs: Iterable[Pair], tokens: Tokenizer, max_length: int, threads: int
) -> Iterator[_Encoded]:
    """The pairs encoded, in order: threads encode chunks while this one reads on."""
    pairs = iter(pairs)
    waiting: deque[Future[_Encoded]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        while chunk := list(islice(pairs, CHUNK)):
            waiting.append(pool.submit(_encode, chunk, tokens, max_length))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _encode(chunk: list[Pair], tokens: Tokenizer, max_length: int) -> _Encoded:
    reach = max_length * tokens.longest_piece  # a longer text has too many tokens in any case
    short = [pair for pair in chunk if max(len(pair.source), len(pair.target)) <= reach]
    sources = tokens.encode_arrays([pair.source for pair in short])
    targets = tokens.encode_arrays([pair.target for pair in short])
    fit = [i for i in range(len(short)) if max(len(sources[i]), len(targets[i])) <= max_length]
    return _Encoded(
        [sources[i] for i in fit], [targets[i] for i in fit], too_long=len(chunk) - len(fit)
    )


class _Writer:
    """The two files of one side, written from beginning to end."""

    def __init__(self, directory: Path, name: str, dtype: np.dtype) -> None:
        self.dtype = dtype
        self.ids = (directory / f"{name}.ids").open("wb")
        self.offsets = (directory / f"{name}.offsets").open("wb")
        self.offsets.write(bytes(OFFSET.itemsize))
        self.pairs = 0
        self.tokens = 0

    def __enter__(self) -> "_Writer":
        return self

    def __exit__(self, *_: object) -> None:
        self.ids.close()
        self.offsets.close()

    def write(self, sentences: list[np.ndarray]) -> None:
        if not sentences:
            return
        self.ids.write(np.concatenate(sentences).astype(self.dtype).tobytes())
        ends = self.tokens + np.cumsum([len(ids) for ids in sentences])
        self.offsets.write(ends.astype(OFFSET).tobytes())
        self.pairs += len(sentences)
        self.tokens = int(ends[-1])


def _open_side(
    directory: Path,
    name: str,
    pairs: int,
    tokens: int,
    dtype: np.dtype,
) -> Side:
    """ValueError if the files are not as long as they should be, or contradict each other."""
    files = directory / f"{name}.ids", directory / f"{name}.offsets"
    sizes = tuple(file.stat().st_size for file in files)
    if sizes != (tokens * dtype.itemsize, (pairs + 1) * OFFSET.itemsize):
        raise ValueError(sizes)
    ids, offsets = np.memmap(files[0], dtype, "r"), np.memmap(files[1], OFFSET, "r")
    lengths = np.diff(offsets)
    if offsets[0] != 0 or offsets[-1] != tokens or lengths.min() < 1:
        raise ValueError(name)
    return Side(ids, offsets, lengths.astype(np.int32))
