"""From text to the encoded corpus of a run: read, filter, learn the vocabulary, encode."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from transduce import atomic
from transduce.config import DataConfig
from transduce.corpus.filters import Rules, Tally, check_not_swapped, keep
from transduce.corpus.pair import Pair
from transduce.corpus.reading import File, fingerprint, read_pairs
from transduce.errors import InputError
from transduce.grammar import grammar
from transduce.log import Log, silent
from transduce.store import Store, build_store
from transduce.tokenizer import Tokenizer
from transduce.train.run import Run

Progress = Callable[[str, int], None]  # what is being done, and how many pairs of it are

BUILTIN: dict[grammar.Split, int] = {"train": 60_000, "valid": 1000, "test": 1000}
HELD_OUT = 1000  # pairs of the training data, when no validation data is given
HELD_OUT_EVERY = 50


@dataclass(frozen=True)
class Text:
    """Files of sentence pairs."""

    sources: tuple[File, ...]
    targets: tuple[File, ...] = ()  # none: each source file has both sides

    def pairs(self, log: Log = silent) -> Iterator[Pair]:
        return read_pairs(self.sources, self.targets, log=log)

    def fingerprint(self) -> str:
        return fingerprint([*self.sources, *self.targets])

    def __str__(self) -> str:
        return ", ".join(Path(file).name for file in [*self.sources, *self.targets])


@dataclass(frozen=True)
class Inputs:
    """What a run learns from."""

    train: Text
    valid: Text | None = None
    builtin: bool = False


def generate_builtin(run: Run, log: Log) -> None:
    """Writes the built-in corpus into the run, for the run and for whoever wants to read it."""
    for split, count in BUILTIN.items():
        file = run.builtin(split)
        if file.exists():
            continue
        log(f"generating {count:,} sentence pairs: {file}")
        file.parent.mkdir(parents=True, exist_ok=True)
        with atomic.file(file) as aside, aside.open("w", encoding="utf-8") as stream:
            for pair in grammar.sentences(split, count, seed=0):
                stream.write(f"{pair.source}\t{pair.target}\n")


@dataclass(frozen=True)
class Prepared:
    """A run's vocabulary and encoded corpora."""

    tokens: Tokenizer
    train: Store
    valid: Store


def prepare(
    run: Run, config: DataConfig, train: Text, valid: Text | None, log: Log, progress: Progress
) -> Prepared:
    """Whatever of the run's data is not there yet is made; what is there must be of this text."""
    rules = rules_of(config)
    mark = train.fingerprint() + "|" + (valid.fingerprint() if valid else "held out")
    done = _open(run, mark, config)
    if done:
        return done
    if valid:
        check_not_swapped(train.pairs(), valid.pairs())
    # Said once: the text is read several times.
    held_out = None if valid else _hold_out(train, rules)

    def training(log: Log = silent) -> Iterator[Pair]:
        return train.pairs(log) if held_out is None else held_out.rest(train.pairs(log))

    def counted(pairs: Iterator[Pair], what: str) -> Iterator[str]:
        for number, pair in enumerate(keep(pairs, rules, Tally()), 1):
            if number % 1000 == 0:
                progress(what, number)
            yield pair.source
            yield pair.target

    if not run.tokens.exists():
        Tokenizer.learn(counted(training(), "reading"), config.vocab_size, run.tokens, log=log)
    tokens = Tokenizer.load(run.tokens)

    def build(name: str, pairs: Iterator[Pair]) -> Store:
        return build_store(
            pairs,
            tokens,
            run.data / name,
            config.max_length,
            rules=rules,
            fingerprint=mark,
            progress=lambda number: progress(f"encoding {name}", number),
        )

    if valid:
        validation = build("valid", valid.pairs(log))
    else:
        assert held_out
        validation = build("valid", iter(held_out.pairs))
        log(f"no validation data given: {len(held_out.pairs):,} training pairs are held out for it")
    training_store = build("train", training(log))
    log(f"training data: {training_store.tally}")
    log(f"validation data: {validation.tally}")
    return Prepared(tokens, training_store, validation)


def reopen(run: Run) -> Prepared:
    """What another process has prepared."""
    return Prepared(
        Tokenizer.load(run.tokens), Store.open(run.data / "train"), Store.open(run.data / "valid")
    )


def rules_of(config: DataConfig) -> Rules:
    return Rules(config.max_ratio, config.drop_identical, config.drop_duplicates)


def _open(run: Run, mark: str, config: DataConfig) -> Prepared | None:
    """The data of a run that has begun; refuses to go on with other text."""
    if not (
        run.tokens.exists() and (run.data / "train").exists() and (run.data / "valid").exists()
    ):
        return None
    prepared = reopen(run)
    for store in (prepared.train, prepared.valid):
        if store.meta.fingerprint != mark:
            raise InputError(
                f"{run.directory} was begun with other text: continue it with the same files, or "
                "train into another directory"
            )
        if store.meta.tokens != prepared.tokens.checksum:
            raise InputError(
                f"{run.tokens} is not the vocabulary that {run.data} was encoded with: delete "
                f"{run.data}, and it is made again"
            )
    return prepared


@dataclass(frozen=True)
class HeldOut:
    """Pairs set aside from the training data, which then has none of their source sentences."""

    pairs: list[Pair]
    sources: frozenset[str]

    def rest(self, pairs: Iterator[Pair]) -> Iterator[Pair]:
        return (pair for pair in pairs if pair.source not in self.sources)


def _hold_out(train: Text, rules: Rules) -> HeldOut:
    every = islice(keep(train.pairs(), rules, Tally()), HELD_OUT_EVERY - 1, None, HELD_OUT_EVERY)
    pairs = list(islice(every, HELD_OUT))
    if not pairs:
        raise InputError(
            f"{train} has fewer than {HELD_OUT_EVERY} usable pairs, too few to hold some out for "
            "validation: give validation data with --valid"
        )
    return HeldOut(pairs, frozenset(pair.source for pair in pairs))


def text_of(files: tuple[Path, ...]) -> Text:
    """--train SRC TGT, or --train FILE with both sides."""
    if len(files) == 1:
        return Text(sources=tuple(files))
    if len(files) % 2:
        raise InputError(
            f"{len(files)} files: give one file with both sides, or as many source files as target "
            "files, all source files first"
        )
    half = len(files) // 2
    return Text(sources=tuple(files[:half]), targets=tuple(files[half:]))
