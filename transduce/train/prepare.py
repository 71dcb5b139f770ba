"""From text to the encoded corpus of a run: read, filter, learn the vocabulary, encode."""

import errno
import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, count, islice, takewhile
from pathlib import Path
from random import Random
from typing import Protocol, runtime_checkable

from transduce import atomic
from transduce.blocks import Blocks
from transduce.config import DataConfig
from transduce.corpus.filters import Digests, Rules, Tally, keep
from transduce.corpus.noise import KINDS, Kind
from transduce.corpus.pair import Example
from transduce.directory import ModelDirectory
from transduce.errors import ConfigError, InputError, UserError
from transduce.log import Log, silent
from transduce.store import SYMBOLS, CorpusExamples, Part, Store, build_corpora, noun_of
from transduce.tasks import TRANSLATION, Task, task_of
from transduce.tokenizer import (
    TOKENIZER_FILES,
    AnyTokenizer,
    Tokenizer,
    has_tokenizer,
    load_tokenizer,
)
from transduce.tokenizer.dropout import DropoutTokenizer
from transduce.train.inputs import Inputs
from transduce.train.run import Run
from transduce.train.start import start_of


@runtime_checkable
class Progress(Protocol):
    """Called with the current stage, the number of examples so far and, if known, of all."""

    def __call__(self, stage: str, done: int, total: int | None = None, /) -> None: ...


HELD_OUT = 1000  # training examples used for validation if no validation data is given
HELD_OUT_EVERY = 50
KINDS_OF_DATA = {"train": "training", "valid": "validation"}
OPTIONS = re.compile(r":[^+|]*")  # weights and tags in a fingerprint
NO_RULES = Rules(max_ratio=None, drop_identical=False, drop_duplicates=False)


@dataclass(frozen=True)
class Prepared:
    """A run's vocabulary and encoded corpora."""

    task: Task
    tokenizer: AnyTokenizer
    train: Store
    valid: Store
    copies: tuple[Store, ...] = ()  # the training data with BPE-dropout

    @property
    def segmentations(self) -> tuple[Store, ...]:
        """What epochs see in turn: the training data, or its copies with BPE-dropout."""
        return self.copies or (self.train,)


@dataclass(frozen=True)
class Origin:
    """What the vocabulary and the encoded data of a run were made from."""

    task: str
    text: str  # fingerprint
    settings: DataConfig


def unseen(_stage: str, _done: int, _total: int | None = None, /) -> None:
    """Shows no progress."""


def prepare(
    run: Run, config: DataConfig, inputs: Inputs, log: Log, progress: Progress = unseen
) -> Prepared:
    """Learns the vocabulary and encodes the corpora, unless that was done from the same text.

    Raises InputError if the run was trained with other text or data settings.
    """
    with _written(run):
        return _prepare(run, config, inputs, log, progress)


@contextmanager
def _written(run: Run) -> Iterator[None]:
    """Raises InputError if the disk is full."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        raise InputError(
            f"the data of {run.directory} cannot be written: {error.strerror}: free some space, "
            "and the same command continues"
        ) from None


def _prepare(
    run: Run, config: DataConfig, inputs: Inputs, log: Log, progress: Progress
) -> Prepared:
    task = inputs.task.configured(config)
    corpora = _Corpora(replace(inputs, task=task), config)
    origin = Origin(task.name, inputs.fingerprint(), config)
    _discard_other(run, origin, log)
    start = start_of(run)
    tokenizer = _vocabulary(run, task, log)
    if tokenizer is None or (start and start.tokenizer.checksum != tokenizer.checksum):
        corpora.check()
        if start:
            tokenizer = _keep_vocabulary(run, start, task)
        else:
            examples = corpora.examples(progress)
            tokenizer = task.learn_tokenizer(examples, config, run.tokens, inputs.tags, log)
        _write_origin(run, origin, tokenizer)

    symbols = (start.config.pad_id, start.config.bos_id, start.config.eos_id) if start else SYMBOLS

    def store(
        name: str, parts: Callable[[Log], list[CorpusExamples]], encoder: AnyTokenizer = tokenizer
    ) -> Store:
        found = _store(run, name, origin, tokenizer, log)
        if found is None:
            found = build_corpora(
                parts(log),
                encoder,
                run.data / name,
                config.max_length,
                sides=task.sides,
                rules=corpora.rules,
                fingerprint=origin.text,
                symbols=symbols,
                progress=lambda number: progress(
                    f"encoding {name}", number, corpora.read if name == "train" else None
                ),
            )
            for part in found.parts if name in KINDS_OF_DATA else ():
                log(f"{KINDS_OF_DATA[name]} data{described(part, noun_of(len(task.sides)))}")
        return found

    valid, train = store("valid", corpora.valid), store("train", corpora.train)
    copies = [
        store(_copy(number), lambda _log: corpora.train(), encoder)
        for number, encoder in enumerate(_dropout(tokenizer, config, inputs), 1)
    ]
    return Prepared(task, tokenizer, train, valid, tuple(copies))


def _copy(number: int) -> str:
    return f"train-{number}"


def _dropout(tokenizer: AnyTokenizer, config: DataConfig, inputs: Inputs) -> Iterator[Tokenizer]:
    """The tokenizers of the copies with BPE-dropout."""
    if not config.bpe_dropout:
        return
    if not isinstance(tokenizer, Tokenizer) or inputs.task.name != TRANSLATION.name:
        raise ConfigError(
            "data.bpe_dropout is for translation with a BPE vocabulary that transduce learned: "
            "leave out the setting"
        )
    longest = config.max_length - bool(inputs.tags)
    for number in range(config.bpe_dropout_copies):
        yield DropoutTokenizer(tokenizer, config.bpe_dropout, f"{config.seed} {number}", longest)


def described(part: Part, noun: str) -> str:
    """The counts of a corpus: what was read, dropped and added."""
    name = f", {part.name}" * bool(part.name)
    noise = ", ".join(f"{count:,} {kind}" for kind, count in part.noise.items())
    tally = replace(part.tally, noun=noun)
    return f"{name}: {tally}" + f"; noise added: {noise}".replace("_", " ") * bool(noise)


def reopen(run: Run) -> Prepared:
    """The data that `prepare` made."""
    known = _read_origin(run)
    task = task_of(known[0].task).configured(known[0].settings) if known else TRANSLATION
    train, valid = (Store.open(run.data / name) for name in ("train", "valid"))
    copies = takewhile(Path.exists, (run.data / _copy(number) for number in count(1)))
    tokenizer = load_tokenizer(run.directory, task.symbols)
    return Prepared(task, tokenizer, train, valid, tuple(map(Store.open, copies)))


def in_blocks(data: Prepared, length: int) -> Prepared:
    """The data, with the stream of a language model in blocks of this length."""
    if not data.task.stream:
        return data
    return replace(data, train=Blocks(data.train, length), valid=Blocks(data.valid, length))


def rules_of(config: DataConfig) -> Rules:
    return Rules(config.max_ratio, config.drop_identical, config.drop_duplicates)


def noise_of(config: DataConfig) -> dict[Kind, float]:
    """The shares of noise above 0."""
    shares: dict[Kind, float] = {kind: getattr(config, f"noise_{kind}") for kind in KINDS}
    return {kind: share for kind, share in shares.items() if share}


def _discard_other(run: Run, origin: Origin, log: Log) -> None:
    """Deletes data made from other text or settings; raises InputError if it was trained on."""
    known = _read_origin(run)
    before = known[0] if known else _origin_of_store(run, origin)
    if before == origin:
        return
    if run.begun and before is not None:
        what = "other text"
        if before.text == origin.text:
            what = "another task or other data settings"
        elif OPTIONS.sub("", before.text) == OPTIONS.sub("", origin.text):
            what = "other weights or tags of its corpora"
        raise InputError(
            f"{run.directory} was started with {what}: continue it with the same files and "
            "settings, or train into another directory"
        )
    if run.begun:
        return  # its data was deleted or is damaged: encode again with the same vocabulary
    if run.tokens.exists() and not run.start.exists():
        log(f"{run.tokens} was learned from other text or with other settings: learning it again")
    for name in TOKENIZER_FILES:
        (run.directory / name).unlink(missing_ok=True)
    shutil.rmtree(run.data, ignore_errors=True)
    run.prepared.unlink(missing_ok=True)


def _keep_vocabulary(run: Run, start: ModelDirectory, task: Task) -> AnyTokenizer:
    """Copies the vocabulary of the model to start from into the run."""
    for name in TOKENIZER_FILES:
        (run.directory / name).unlink(missing_ok=True)
        if (start.path / name).is_file():
            with atomic.file(run.directory / name) as aside:
                shutil.copyfile(start.path / name, aside)
    return load_tokenizer(run.directory, task.symbols)


def _write_origin(run: Run, origin: Origin, tokenizer: AnyTokenizer) -> None:
    content = {
        "task": origin.task,
        "text": origin.text,
        "settings": origin.settings.model_dump(mode="json"),
        "vocabulary": tokenizer.checksum,
    }
    with atomic.file(run.prepared) as aside:
        aside.write_text(json.dumps(content, indent=2) + "\n", "utf-8")


def _read_origin(run: Run) -> tuple[Origin, str] | None:
    """The recorded origin and the vocabulary's checksum; None if missing or damaged."""
    try:
        content = json.loads(run.prepared.read_text("utf-8"))
        settings = DataConfig(**content["settings"])
        return Origin(content["task"], content["text"], settings), content["vocabulary"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError, UserError):
        return None


def _origin_of_store(run: Run, origin: Origin) -> Origin | None:
    """The origin according to the store, which does not record `data.vocab_size`."""
    try:
        meta = Store.open(run.data / "train").meta
    except InputError:
        return None
    settings = origin.settings.replace(
        max_length=meta.max_length,
        max_ratio=meta.rules.max_ratio,
        drop_identical=meta.rules.drop_identical,
        drop_duplicates=meta.rules.drop_duplicates,
    )
    return Origin(TRANSLATION.name, meta.fingerprint, settings)


def _vocabulary(run: Run, task: Task, log: Log) -> AnyTokenizer | None:
    """The tokenizer of the run; None if it has to be learned."""
    if not has_tokenizer(run.directory) and not run.begun:
        return None
    known = _read_origin(run)
    try:
        tokenizer = load_tokenizer(run.directory, task.symbols)
        if known is None or known[1] == tokenizer.checksum:
            return tokenizer
        problem = f"{run.tokens} is not the vocabulary that was learned for this run"
    except UserError as error:
        problem = str(error)
    if run.begun:
        raise InputError(f"{problem}: restore it, or train into another directory")
    log(f"{problem}: learning it again")
    return None


def _store(run: Run, name: str, origin: Origin, tokenizer: AnyTokenizer, log: Log) -> Store | None:
    """An encoded corpus of the run; None if it has to be encoded."""
    if not (run.data / name).exists():
        return None
    try:
        store = Store.open(run.data / name)
    except InputError as error:
        log(f"{str(error).partition(': delete it')[0]}: encoding it again")
        return None
    if (store.meta.fingerprint, store.meta.vocabulary) == (origin.text, tokenizer.checksum):
        return store
    log(
        f"{run.data / name} was encoded from other text or with another vocabulary: "
        "encoding it again"
    )
    return None


class _Corpora:
    """Training and validation examples; without validation files, some examples are held out."""

    def __init__(self, inputs: Inputs, config: DataConfig) -> None:
        self.task, self.inputs, self.config = inputs.task, inputs, config
        self.rules = rules_of(config) if self.task.filtered else NO_RULES
        self.noise = noise_of(config)
        self.read: int | None = None  # training examples, once they have been read
        if self.noise and self.task.name != TRANSLATION.name:
            raise ConfigError(
                f"data.noise_{min(self.noise)} is for translation, not for {self.task.name}"
            )

    def check(self) -> None:
        if self.inputs.valid:
            self.task.check_validation(self.inputs.train[0].text, self.inputs.valid)

    def examples(self, progress: Progress) -> Iterator[Example]:
        """What the vocabulary is learned from: each corpus by its weight, with noise."""
        seen, read = Digests(), 0
        for corpus in self.train():
            tally, rng = Tally(), Random(corpus.seed)
            whole, rest = divmod(corpus.weight, 1)
            for _, example in corpus.kept(self.rules, tally, seen):
                if (read + tally.read) % 1000 == 0:
                    progress("reading", read + tally.read)
                for _ in range(int(whole) + (rest > 0 and rng.random() < rest)):
                    yield example
            read += tally.read
        self.read = read
        progress("learning the vocabulary", read)

    def train(self, log: Log = silent) -> list[CorpusExamples]:
        """The training examples, without those whose source is held out for validation."""
        first = set() if self.inputs.valid else {example[0] for example in self.held_out}
        several = len(self.inputs.train) > 1
        return [
            CorpusExamples(
                (ex for ex in self.task.read(corpus.text, log) if ex[0] not in first),
                name=str(corpus.text) if several else "",
                weight=corpus.weight,
                tag=corpus.symbol,
                noise=self.noise,
                seed=f"{self.config.seed} {number}",
            )
            for number, corpus in enumerate(self.inputs.train)
        ]

    def valid(self, log: Log = silent) -> list[CorpusExamples]:
        if self.inputs.valid:
            return [CorpusExamples(self.task.read(self.inputs.valid, log))]
        count = len(self.held_out)
        log(f"no validation data given: training pairs held out: {count:,}")
        return [CorpusExamples(self.held_out)]

    @cached_property
    def held_out(self) -> list[Example]:
        """Examples of the corpora without a tag, which marks synthetic text."""
        train = self.inputs.train
        texts = [corpus.text for corpus in train if not corpus.tag] or [train[0].text]
        read = chain.from_iterable(self.task.read(text) for text in texts)
        kept = keep(read, self.rules, Tally())
        if self.task.stream:  # the end of it, as long as a tenth
            pieces = list(kept)
            if len(pieces) < 2:
                raise InputError(
                    f"{', '.join(map(str, texts))} is too short to hold some of it out for "
                    "validation: give validation data with --valid"
                )
            return pieces[-min(HELD_OUT, -(-len(pieces) // 10)) :]
        examples = list(islice(islice(kept, HELD_OUT_EVERY - 1, None, HELD_OUT_EVERY), HELD_OUT))
        if not examples:
            raise InputError(
                f"{', '.join(map(str, texts))} has fewer than {HELD_OUT_EVERY} usable pairs, too "
                "few to hold some out for validation: give validation data with --valid"
            )
        return examples
