"""What a run directory is and how far its training has come."""

import fcntl
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transduce.config import Config
from transduce.corpus.filters import Reason, Tally
from transduce.directory import verify_checksums
from transduce.errors import InputError, ModelError
from transduce.store import Store
from transduce.train.progress import clock
from transduce.train.run import (
    CHECKPOINT_FILES,
    Run,
    flat,
    numbered,
    read_config,
    read_metrics,
)


@dataclass(frozen=True)
class Corpus:
    """What a run has of a corpus."""

    pairs: int
    source_tokens: int
    target_tokens: int
    read: int
    dropped: dict[Reason, int]


@dataclass(frozen=True)
class SavedState:
    """A checkpoint, and what is wrong with it if anything is."""

    name: str
    step: int
    scheduled: bool
    bytes: int
    problem: str | None


@dataclass(frozen=True)
class Validation:
    """The scores of one validation."""

    step: int
    nll: float
    perplexity: float
    bleu: float | None
    exact_match: float | None


@dataclass(frozen=True)
class History:
    """All that is known of a run."""

    directory: Path
    settings: dict[str, Any]  # those that are not the paper's
    vocab_size: int | None
    steps: int | None  # to be done
    step: int
    epoch: int
    tokens: int  # target tokens seen
    seconds: float
    finished: bool
    rollbacks: int
    trained_by: str | None  # a process that is at it now
    training: Corpus | None
    validation: Corpus | None
    best: Validation | None
    last: Validation | None
    final: Validation | None  # of the averaged model
    checkpoints: list[SavedState]
    model: Path | None


def read_history(run: Run) -> History:
    """Reads what the run has left on disk so far, whole or not."""
    config = read_config(run) if run.config.exists() else None
    metrics = read_metrics(run.metrics)
    steps = [entry for entry in metrics if entry.get("event") == "train"]
    validations = [_scores(entry) for entry in metrics if entry.get("event") == "validation"]
    finals = [_scores(entry) for entry in metrics if entry.get("event") == "final"]
    reached: Mapping[str, Any] = steps[-1] if steps else {}
    return History(
        directory=run.directory,
        settings=differences(config) if config else {},
        vocab_size=config.model.vocab_size if config else None,
        steps=config.train.steps if config else None,
        step=max((entry["step"] for entry in metrics), default=0),
        epoch=reached.get("epoch", 0),
        tokens=reached.get("tokens", 0),
        seconds=float(reached.get("seconds", 0.0)),
        finished=bool(finals),
        rollbacks=sum(entry.get("event") == "rollback" for entry in metrics),
        trained_by=trainer_of(run),
        training=_corpus(run.data / "train"),
        validation=_corpus(run.data / "valid"),
        best=min(validations, key=lambda scores: scores.nll, default=None),
        last=validations[-1] if validations else None,
        final=finals[-1] if finals else None,
        checkpoints=[saved_state(path) for path in numbered(run.checkpoints)],
        model=run.model if run.model.is_dir() else None,
    )


def differences(config: Config) -> dict[str, Any]:
    """The settings that are not the paper's."""
    paper = flat(Config())
    return {name: value for name, value in flat(config).items() if value != paper[name]}


def trainer_of(run: Run) -> str | None:
    """The process that holds the run, as far as this machine can know."""
    try:
        with (run.directory / "lock").open(encoding="utf-8", errors="replace") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # given back when the file closes
            except BlockingIOError:
                return file.read().strip()
    except OSError:
        pass
    return None


def saved_state(path: Path) -> SavedState:
    """A checkpoint, read to the last byte."""
    size, scheduled, problem = 0, False, None
    try:
        size = sum(file.stat().st_size for file in path.iterdir())
        verify_checksums(path, CHECKPOINT_FILES)
        scheduled = bool(json.loads((path / "state.json").read_text("utf-8")).get("scheduled"))
    except (ModelError, OSError, ValueError) as error:  # or it was pruned just now
        problem = str(error)
    return SavedState(path.name, int(path.name.split("-")[1]), scheduled, size, problem)


def _corpus(directory: Path) -> Corpus | None:
    try:
        store = Store.open(directory)
    except InputError:
        return None
    meta, tally = store.meta, store.tally
    dropped = {reason: count for reason, count in tally.dropped.items() if count}
    return Corpus(meta.examples, meta.tokens["source"], meta.tokens["target"], meta.read, dropped)


def _scores(entry: Mapping[str, Any]) -> Validation:
    return Validation(
        step=entry["step"],
        nll=float(entry["nll"]),
        perplexity=float(entry["perplexity"]),
        bleu=entry.get("bleu"),
        exact_match=entry.get("exact_match"),
    )


def render(history: History) -> str:
    """The run in words."""
    settings = [f"{name} = {value}" for name, value in history.settings.items()]
    rows = [
        *_listed("state", _state(history)),
        *_listed("training data", _described(history.training)),
        *_listed("validation data", _described(history.validation)),
        *_listed("scores", _scored(history)),
        *_listed("checkpoints", [_checkpoint(saved) for saved in history.checkpoints]),
        *_listed("model", [str(history.model)] if history.model else []),
        *_listed("not as in the paper", settings),
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join(
        [str(history.directory), *(f"  {name:<{width}}  {text}" for name, text in rows)]
    )


def _listed(name: str, lines: list[str]) -> list[tuple[str, str]]:
    return [("" if i else name, line) for i, line in enumerate(lines or ["nothing yet"])]


def _state(history: History) -> list[str]:
    if history.trained_by is not None:
        now = f"process {history.trained_by} is training it now"
    elif history.finished:
        now = "finished"
    else:
        now = "nobody trains it now: `transduce train` on this directory continues it"
    if history.steps is None:
        return ["the data is not prepared yet", now]
    share = 100 * history.step / history.steps
    lines = [
        f"step {history.step:,} of {history.steps:,} ({share:.0f} %), epoch {history.epoch:,}, "
        f"{history.tokens:,} target tokens, {clock(history.seconds)} of training",
        now,
    ]
    if history.rollbacks:
        lines.append(f"{history.rollbacks} rollbacks: a loss, gradient or weight was not finite")
    return lines


def _described(corpus: Corpus | None) -> list[str]:
    if corpus is None:
        return []
    sides = f"{corpus.source_tokens:,} source tokens, {corpus.target_tokens:,} target tokens"
    return [str(Tally(corpus.read, Counter(corpus.dropped))), sides]


def _scored(history: History) -> list[str]:
    scores = {"best": history.best, "last": history.last, "model": history.final}
    if history.last == history.best:
        scores["last"] = None
    lines = []
    for name, found in scores.items():
        if found is None:
            continue
        parts = [f"perplexity {found.perplexity:,.3f}"]
        if found.bleu is not None and found.exact_match is not None:
            parts += [f"BLEU {found.bleu:.1f}", f"exact match {100 * found.exact_match:.1f} %"]
        where = "averaged" if name == "model" else f"step {found.step:,}"
        lines.append(f"{name:<5}  {'  '.join(parts)}  ({where})")
    return lines


def _checkpoint(saved: SavedState) -> str:
    kind = "" if saved.scheduled else ", saved on a signal"
    condition = saved.problem or f"whole{kind}"
    return f"step {saved.step:>9,}  {saved.bytes / 2**20:>8,.1f} MiB  {condition}"
