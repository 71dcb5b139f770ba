"""The encoded corpora on disk, memory-mapped: they may be larger than memory.

A directory of `meta.json` and, for each side of the task, `SIDE.ids` (the tokens of all sentences,
one after the other) and `SIDE.offsets` (where each sentence begins, and the end of the last one).
"""

import hashlib
import json
import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Annotated, Any, Literal

import numpy as np
from jaxtyping import Integer
from pydantic import Field, NonNegativeInt, PositiveInt, TypeAdapter

from transduce import atomic
from transduce.corpus.filters import Digests, Reason, Rules, Tally, check_usable, keep
from transduce.corpus.noise import Kind, add_noise
from transduce.corpus.pair import Example, Pair
from transduce.errors import InputError
from transduce.tokenizer import BOS, EOS, PAD, AnyTokenizer

CHUNK = 2000  # examples per encoding task
OFFSET = np.dtype("<i8")

Ids = Integer[np.ndarray, " tokens"]
Lengths = Integer[np.ndarray, " examples"]
Symbols = tuple[NonNegativeInt, NonNegativeInt, NonNegativeInt]  # ids of padding, BOS and EOS
SYMBOLS: Symbols = (PAD, BOS, EOS)
Noisy = tuple[Kind | None, Example]  # the kind of noise that made it


@dataclass(frozen=True)
class Part:
    """One of the corpora of a store, whose examples follow those of the corpus before it."""

    name: str
    weight: Annotated[float, Field(gt=0)]  # how often it is seen per epoch
    tag: str  # the token before each source, if any
    examples: PositiveInt  # with those that noise added
    read: PositiveInt
    dropped: dict[Reason, NonNegativeInt]
    noise: dict[Kind, PositiveInt]  # examples added

    @property
    def tally(self) -> Tally:
        return Tally(self.read, Counter(self.dropped))


@dataclass(frozen=True)
class Meta:
    """meta.json: the contents of a store and what it was made from."""

    version: Literal[1, 2]
    examples: PositiveInt
    tokens: Annotated[dict[str, PositiveInt], Field(min_length=1)]  # by side
    dtype: Literal["<u2", "<u4"]
    vocabulary: str  # checksum
    fingerprint: str  # of the text
    rules: Rules
    max_length: PositiveInt  # tokens per side
    read: PositiveInt
    dropped: dict[Reason, NonNegativeInt]
    checksums: dict[str, str]  # SHA-256 of each file; version 1 has none
    parts: tuple[Part, ...] = ()  # empty in earlier stores, which have one corpus
    symbols: Symbols = SYMBOLS


_META = TypeAdapter(Meta)


@dataclass(frozen=True)
class Side:
    """All sentences of one side, without special symbols."""

    ids: Ids
    offsets: Integer[np.ndarray, " examples_and_one"]
    lengths: Lengths  # in tokens, with the EOS that each sentence gets in a batch

    def __getitem__(self, index: int) -> Ids:
        return self.ids[self.offsets[index] : self.offsets[index + 1]]


class Store:
    """An encoded corpus: sentence i of a side is `sides[name][i]`."""

    def __init__(self, meta: Meta, sides: Mapping[str, Side]) -> None:
        self.meta = meta
        self.sides = sides
        self.lengths = tuple(side.lengths for side in sides.values())
        whole = Part("", 1.0, "", meta.examples, meta.read, meta.dropped, {})
        self.parts = meta.parts or (whole,)

    @classmethod
    def open(cls, directory: Path) -> "Store":
        """Raises InputError if the store is missing, damaged or of another version."""
        if not directory.is_dir():
            raise InputError(f"there is no encoded corpus {directory}")
        try:
            meta = _read_meta(directory / "meta.json")
            sides = {name: _open_side(directory, name, meta) for name in meta.tokens}
        except (OSError, ValueError, RecursionError) as error:  # missing, truncated or changed
            what = f": {error}" if isinstance(error, DamageError) else " or of another version"
            raise InputError(
                f"the encoded corpus {directory} is damaged{what}: delete it to encode it again"
            ) from None
        return cls(meta, sides)

    def __len__(self) -> int:
        return self.meta.examples

    def part(self, number: int) -> "Store":
        """One of the corpora alone."""
        part = self.parts[number]
        end = sum(part.examples for part in self.parts[: number + 1])
        start = end - part.examples
        sides = {
            name: Side(side.ids, side.offsets[start : end + 1], side.lengths[start:end])
            for name, side in self.sides.items()
        }
        tokens = {name: int(side.offsets[-1] - side.offsets[0]) for name, side in sides.items()}
        meta = replace(
            self.meta,
            examples=part.examples,
            tokens=tokens,
            read=part.read,
            dropped=part.dropped,
            parts=(part,),
        )
        return Store(meta, sides)

    def __repr__(self) -> str:
        tokens = ", ".join(f"{name} {count:,}" for name, count in self.meta.tokens.items())
        return f"Store({len(self):,} examples; tokens: {tokens})"

    @property
    def tally(self) -> Tally:
        """How many examples were read, and how many were dropped and why."""
        return Tally(self.meta.read, Counter(self.meta.dropped), self.noun)

    @property
    def noun(self) -> str:
        """What an example is called: those of a language model have one side only."""
        return noun_of(len(self.meta.tokens))


def noun_of(sides: int) -> str:
    return "pair" if sides > 1 else "example"


class DamageError(ValueError):
    """The checksum of a file of a store is wrong."""


@dataclass(frozen=True)
class CorpusExamples:
    """The examples of a corpus to be encoded, and what happens to them."""

    examples: Iterable[Example]
    name: str = ""
    weight: float = 1.0
    tag: str = ""  # a symbol of the vocabulary
    noise: Mapping[Kind, float] = field(default_factory=dict)  # shares
    seed: str = ""  # of the noise

    def kept(self, rules: Rules, tally: Tally, seen: Digests) -> Iterator[Noisy]:
        """The examples that no rule drops, and those that noise adds, with its kind."""
        fit = keep(self.examples, rules, tally, seen)
        if not self.noise:
            return ((None, example) for example in fit)
        return add_noise((Pair(*example) for example in fit), self.noise, self.seed)


def build_store(
    examples: Iterable[Example],
    tokenizer: AnyTokenizer,
    directory: Path,
    max_length: int,
    *,
    sides: Sequence[str] = ("source", "target"),
    rules: Rules | None = None,
    fingerprint: str = "",
    threads: int | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Store:
    """Filters and encodes one corpus, see `build_corpora`."""
    return build_corpora(
        [CorpusExamples(examples)],
        tokenizer,
        directory,
        max_length,
        sides=sides,
        rules=rules,
        fingerprint=fingerprint,
        threads=threads,
        progress=progress,
    )


def build_corpora(
    corpora: Sequence[CorpusExamples],
    tokenizer: AnyTokenizer,
    directory: Path,
    max_length: int,
    *,
    sides: Sequence[str] = ("source", "target"),
    rules: Rules | None = None,
    fingerprint: str = "",
    symbols: Symbols = SYMBOLS,
    threads: int | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Store:
    """Filters and encodes corpora into a directory, which appears by atomic rename.

    Examples of more than `max_length` tokens on a side are dropped as well. Memory does not grow
    with the corpus, except for 20 bytes per example to detect duplicates. `threads` is by default
    the number of cores; `progress` is called with the number of examples read so far.
    """
    rules = rules or Rules()
    parts: list[Part] = []
    seen = Digests()
    largest = max(tokenizer.vocab_size, tokenizer.target_vocab_size)
    dtype: Literal["<u2", "<u4"] = "<u2" if largest <= 2**16 else "<u4"
    with atomic.directory(directory) as aside:
        with ExitStack() as closing:
            writers = [closing.enter_context(_Writer(aside, name, dtype)) for name in sides]
            for writer in writers:
                writer.offsets.write(bytes(OFFSET.itemsize))  # offset of the first sentence: 0
            for corpus in corpora:
                tally, noise, before = Tally(), Counter[Kind](), writers[0].sentences
                read = sum(part.read for part in parts)
                kept = corpus.kept(rules, tally, seen)
                prefix = np.array([tokenizer.symbol_id(corpus.tag)] if corpus.tag else [], np.int32)
                encode = partial(_encode, tokenizer=tokenizer, prefix=prefix, max_length=max_length)
                for encoded in _encode_all(kept, encode, threads or os.cpu_count() or 1):
                    for writer, sentences in zip(writers, encoded.sides, strict=True):
                        writer.write(sentences)
                    if encoded.too_long:
                        tally.dropped["too long"] += encoded.too_long
                    noise.update(encoded.noise)
                    progress(read + tally.read)
                check_usable(tally, corpus.name)
                parts.append(
                    Part(
                        name=corpus.name,
                        weight=corpus.weight,
                        tag=corpus.tag,
                        examples=writers[0].sentences - before,
                        read=tally.read,
                        dropped=dict(tally.dropped),
                        noise=dict(noise),
                    )
                )
        meta = Meta(
            version=2,
            examples=writers[0].sentences,
            tokens={writer.name: writer.tokens for writer in writers},
            dtype=dtype,
            vocabulary=tokenizer.checksum,
            fingerprint=fingerprint,
            rules=rules,
            max_length=max_length,
            read=sum(part.read for part in parts),
            dropped=dict(sum((Counter(part.dropped) for part in parts), Counter())),
            checksums={name: digest for writer in writers for name, digest in writer.checksums()},
            parts=tuple(parts),
            symbols=symbols,
        )
        (aside / "meta.json").write_bytes(_META.dump_json(meta, indent=2) + b"\n")
    return Store.open(directory)


@dataclass(frozen=True)
class _Encoded:
    sides: list[list[np.ndarray]]
    too_long: int  # without those that noise added
    noise: Counter[Kind]


def _encode_all(
    examples: Iterable[Noisy], encode: Callable[[list[Noisy]], _Encoded], threads: int
) -> Iterator[_Encoded]:
    """Encodes the examples in order, in chunks, with several threads."""
    examples = iter(examples)
    waiting: deque[Future[_Encoded]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        while chunk := list(islice(examples, CHUNK)):
            waiting.append(pool.submit(encode, chunk))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _encode(
    chunk: list[Noisy], tokenizer: AnyTokenizer, prefix: np.ndarray, max_length: int
) -> _Encoded:
    most = (
        max_length * tokenizer.longest_piece
    )  # a longer text always has more than max_length tokens
    short = [item for item in chunk if max(map(len, item[1])) <= most]
    texts = [[example[i] for _, example in short] for i in range(len(chunk[0][1]))]
    sides = [*map(tokenizer.encode_arrays, texts[:-1]), tokenizer.encode_target_arrays(texts[-1])]
    if len(prefix):
        sides[0] = [np.concatenate([prefix, ids]) for ids in sides[0]]
    fit = [i for i in range(len(short)) if max(len(side[i]) for side in sides) <= max_length]
    noise = Counter(kind for i in fit if (kind := short[i][0]) is not None)
    clean = sum(kind is None for kind, _ in chunk)
    too_long = clean - (len(fit) - noise.total())
    return _Encoded([[side[i] for i in fit] for side in sides], too_long, noise)


class _File:
    """A file opened for writing, and its checksum."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.digest = hashlib.sha256()
        self._stream: IO[bytes] = path.open("wb")
        self.close = self._stream.close

    def write(self, content: bytes) -> None:
        self.digest.update(content)
        self._stream.write(content)


class _Writer:
    """The two files of one side."""

    def __init__(self, directory: Path, name: str, dtype: str) -> None:
        self.name, self.dtype = name, np.dtype(dtype)
        self.ids = _File(directory / f"{name}.ids")
        self.offsets = _File(directory / f"{name}.offsets")
        self.sentences = 0
        self.tokens = 0

    def __enter__(self) -> "_Writer":
        return self

    def __exit__(self, *_: object) -> None:
        with (
            ExitStack() as closing
        ):  # closing fails if the disk is full; the other file must still be closed
            for file in (self.ids, self.offsets):
                closing.callback(file.close)

    def write(self, sentences: list[np.ndarray]) -> None:
        if not sentences:
            return
        self.ids.write(np.concatenate(sentences).astype(self.dtype).tobytes())
        ends = self.tokens + np.cumsum([len(ids) for ids in sentences])
        self.offsets.write(ends.astype(OFFSET).tobytes())
        self.sentences += len(sentences)
        self.tokens = int(ends[-1])

    def checksums(self) -> list[tuple[str, str]]:
        return [(file.path.name, file.digest.hexdigest()) for file in (self.ids, self.offsets)]


def _read_meta(file: Path) -> Meta:
    """Reads meta.json of version 2 or 1, which had two sides and no checksums."""
    content: dict[str, Any] = json.loads(file.read_bytes())
    if not isinstance(content, dict):
        raise ValueError(file)
    if content.get("version") == 1:
        content["vocabulary"] = content.pop("tokens", None)
        content["examples"] = content.pop("pairs", None)
        content["tokens"] = {side: content.get(f"{side}_tokens") for side in ("source", "target")}
        content["checksums"] = {}
    return _META.validate_python(content)


def _open_side(directory: Path, name: str, meta: Meta) -> Side:
    """Raises ValueError if the files are damaged."""
    files = directory / f"{name}.ids", directory / f"{name}.offsets"
    dtype, tokens = np.dtype(meta.dtype), meta.tokens[name]
    sizes = tuple(file.stat().st_size for file in files)
    if sizes != (tokens * dtype.itemsize, (meta.examples + 1) * OFFSET.itemsize):
        raise ValueError(sizes)
    for file in files if meta.version > 1 else ():
        with file.open("rb") as stream:
            if hashlib.file_digest(stream, "sha256").hexdigest() != meta.checksums.get(file.name):
                raise DamageError(f"{file.name} does not match its checksum in meta.json")
    ids, offsets = np.memmap(files[0], dtype, "r"), np.memmap(files[1], OFFSET, "r")
    lengths = np.diff(offsets) + 1
    if offsets[0] != 0 or offsets[-1] != tokens or lengths.min() < 2:
        raise ValueError(name)
    return Side(ids, offsets, lengths.astype(np.int32))
