"""From text to the encoded corpus of a run: read, filter, learn the vocabulary, encode."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from transduce import atomic
from transduce.config import DataConfig
from transduce.corpus.filters import Rules, Tally, keep
from transduce.corpus.pair import Example
from transduce.errors import InputError, UserError
from transduce.log import Log, silent
from transduce.store import Store, build_store
from transduce.tasks import TRANSLATION, Task, task_of
from transduce.tokenizer import Tokenizer
from transduce.train.inputs import Inputs
from transduce.train.run import Run

Progress = Callable[[str, int], None]  # the current stage, and the number of examples so far

HELD_OUT = 1000  # training examples used for validation if no validation data is given
HELD_OUT_EVERY = 50


@dataclass(frozen=True)
class Prepared:
    """A run's vocabulary and encoded corpora."""

    task: Task
    tokenizer: Tokenizer
    train: Store
    valid: Store


@dataclass(frozen=True)
class Origin:
    """What the vocabulary and the encoded data of a run were made from."""

    task: str
    text: str  # fingerprint
    settings: DataConfig


def prepare(run: Run, config: DataConfig, inputs: Inputs, log: Log, progress: Progress) -> Prepared:
    """Learns the vocabulary and encodes the corpora, unless that was done from the same text.

    Raises InputError if the run was trained with other text or data settings.
    """
    with _written(run):
        return _prepare(run, config, inputs, log, progress)


@contextmanager
def _written(run: Run) -> Iterator[None]:
    """Raises InputError for an OSError such as a full disk."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"the data of {run.directory} cannot be written: {error.strerror}: free some space, "
            "and the same command continues"
        ) from None


def _prepare(
    run: Run, config: DataConfig, inputs: Inputs, log: Log, progress: Progress
) -> Prepared:
    task, corpus = inputs.task, _Corpus(inputs, rules_of(config))
    origin = Origin(task.name, corpus.fingerprint(), config)
    _discard_other(run, origin, log)
    tokenizer = _vocabulary(run, log)
    if tokenizer is None:
        corpus.check()
        texts = corpus.texts(lambda number: progress("reading", number))
        tokenizer = Tokenizer.learn(texts, config.vocab_size, run.tokens, log=log)
        _write_origin(run, origin, tokenizer)

    def store(name: str, examples: Callable[[Log], Iterator[Example]]) -> Store:
        found = _store(run, name, origin, tokenizer, log)
        if found is None:
            found = build_store(
                examples(log),
                tokenizer,
                run.data / name,
                config.max_length,
                sides=task.sides,
                rules=corpus.rules,
                fingerprint=origin.text,
                progress=lambda number: progress(f"encoding {name}", number),
            )
            log(f"{'training' if name == 'train' else 'validation'} data: {found.tally}")
        return found

    valid = store("valid", corpus.valid)
    return Prepared(task, tokenizer, store("train", corpus.train), valid)


def reopen(run: Run) -> Prepared:
    """The data that `prepare` made."""
    known = _read_origin(run)
    task = task_of(known[0].task) if known else TRANSLATION
    stores = (Store.open(run.data / name) for name in ("train", "valid"))
    return Prepared(task, Tokenizer.load(run.tokens), *stores)


def rules_of(config: DataConfig) -> Rules:
    return Rules(config.max_ratio, config.drop_identical, config.drop_duplicates)


def _discard_other(run: Run, origin: Origin, log: Log) -> None:
    """Deletes data made from other text or settings; raises InputError if it was trained on."""
    known = _read_origin(run)
    before = known[0] if known else _origin_of_store(run, origin)
    if before == origin:
        return
    if run.begun and before is not None:
        what = "other text" if before.text != origin.text else "another task or other data settings"
        raise InputError(
            f"{run.directory} was started with {what}: continue it with the same files and "
            "settings, or train into another directory"
        )
    if run.begun:
        return  # its data was deleted or is damaged: encode again with the same vocabulary
    if run.tokens.exists():
        log(f"{run.tokens} was learned from other text or with other settings: learning it again")
    run.tokens.unlink(missing_ok=True)
    shutil.rmtree(run.data, ignore_errors=True)
    run.prepared.unlink(missing_ok=True)


def _write_origin(run: Run, origin: Origin, tokenizer: Tokenizer) -> None:
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


def _vocabulary(run: Run, log: Log) -> Tokenizer | None:
    """The tokenizer of the run; None if it has to be learned."""
    if not run.tokens.exists() and not run.begun:
        return None
    known = _read_origin(run)
    try:
        tokenizer = Tokenizer.load(run.tokens)
        if known is None or known[1] == tokenizer.checksum:
            return tokenizer
        problem = f"{run.tokens} is not the vocabulary that was learned for this run"
    except UserError as error:
        problem = str(error)
    if run.begun:
        raise InputError(f"{problem}: restore it, or train into another directory")
    log(f"{problem}: learning it again")
    return None


def _store(run: Run, name: str, origin: Origin, tokenizer: Tokenizer, log: Log) -> Store | None:
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


class _Corpus:
    """Training and validation examples; without validation files, some examples are held out."""

    def __init__(self, inputs: Inputs, rules: Rules) -> None:
        self.task, self.inputs, self.rules = inputs.task, inputs, rules

    def fingerprint(self) -> str:
        valid = self.inputs.valid
        return (
            self.inputs.train.fingerprint() + "|" + (valid.fingerprint() if valid else "held out")
        )

    def check(self) -> None:
        if self.inputs.valid:
            self.task.check_validation(self.inputs.train, self.inputs.valid)

    def texts(self, progress: Callable[[int], None]) -> Iterator[str]:
        """The texts that the vocabulary is learned from."""
        for number, example in enumerate(keep(self.train(), self.rules, Tally()), 1):
            if number % 1000 == 0:
                progress(number)
            yield from example

    def train(self, log: Log = silent) -> Iterator[Example]:
        """The training examples, without those whose source is held out for validation."""
        examples = self.task.read(self.inputs.train, log)
        if self.inputs.valid:
            return examples
        first = {example[0] for example in self.held_out}
        return (example for example in examples if example[0] not in first)

    def valid(self, log: Log = silent) -> Iterator[Example]:
        if self.inputs.valid:
            return self.task.read(self.inputs.valid, log)
        count = len(self.held_out)
        log(f"no validation data given: {count:,} training pairs are held out")
        return iter(self.held_out)

    @cached_property
    def held_out(self) -> list[Example]:
        kept = keep(self.task.read(self.inputs.train), self.rules, Tally())
        examples = list(islice(islice(kept, HELD_OUT_EVERY - 1, None, HELD_OUT_EVERY), HELD_OUT))
        if not examples:
            raise InputError(
                f"{self.inputs.train} has fewer than {HELD_OUT_EVERY} usable pairs, too few to "
                "hold some out for validation: give validation data with --valid"
            )
        return examples
