"""What a run directory is, and the progress of its training."""

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transduce.corpus.filters import Reason, Tally
from transduce.directory import read_json, verify_checksums
from transduce.errors import ConfigError, InputError, ModelError
from transduce.log import plural
from transduce.store import Store, noun_of
from transduce.table import render_list
from transduce.tasks import TASKS
from transduce.train.progress import clock
from transduce.train.run import (
    CHECKPOINT_FILES,
    Run,
    differences,
    numbered,
    read_config,
    read_metrics,
)

Entry = Mapping[str, Any]  # of metrics.jsonl


@dataclass(frozen=True)
class SavedState:
    """A checkpoint, and what is wrong with it if anything is."""

    name: str
    step: int
    scheduled: bool
    bytes: int
    problem: str | None

    def __str__(self) -> str:
        condition = self.problem or "whole" + ("" if self.scheduled else ", saved on a signal")
        return f"step {self.step:>9,}  {self.bytes / 2**20:>8,.1f} MiB  {condition}"


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
    trained_by: str | None  # the process that trains it now
    training: dict[str, Any] | None
    validation: dict[str, Any] | None
    best: Entry | None
    last: Entry | None
    final: Entry | None  # of the averaged model
    checkpoints: list[SavedState]
    model: Path | None
    problems: list[str]  # what cannot be read


def read_history(run: Run) -> History:
    """Reads what the run has left on disk so far, whole or not."""
    problems: list[str] = []
    config = None
    try:
        config = read_config(run) if run.config.exists() else None
    except ConfigError as error:
        problems.append(str(error))
    metrics = read_metrics(run.metrics)
    validations, finals = (_scores(metrics, event) for event in ("validation", "final"))
    reached: Entry = next((e for e in reversed(metrics) if e.get("event") == "train"), {})
    return History(
        directory=run.directory,
        settings=differences(config) if config else {},
        vocab_size=config.model.vocab_size if config else None,
        steps=config.train.steps if config else None,
        step=max((entry["step"] for entry in metrics), default=0),
        epoch=reached.get("epoch", 0),
        tokens=reached.get("tokens", 0),
        seconds=float(reached.get("seconds", 0)),
        finished=bool(finals),
        rollbacks=sum(entry.get("event") == "rollback" for entry in metrics),
        trained_by=trainer_of(run),
        training=_corpus(run.data / "train", problems),
        validation=_corpus(run.data / "valid", problems),
        best=min(validations, key=lambda entry: entry["nll"], default=None),
        last=validations[-1] if validations else None,
        final=finals[-1] if finals else None,
        checkpoints=[saved_state(path) for path in numbered(run.checkpoints)],
        model=run.model if run.model.is_dir() else None,
        problems=problems,
    )


def trainer_of(run: Run) -> str | None:
    """The process that holds the run's lock, as far as this machine knows.

    The lock itself is not tried: that could refuse a trainer which starts at the same moment.
    """
    try:
        process = run.lock.read_text("utf-8", "replace").strip()
        inode = run.lock.stat().st_ino
        if (locks := Path("/proc/locks")).exists():
            rows = [row.split() for row in locks.read_text("utf-8").splitlines()]
            held = any(row[1:2] == ["FLOCK"] and row[5].endswith(f":{inode}") for row in rows)
        else:
            os.kill(int(process), 0)  # raises if there is none
            held = True
    except (OSError, ValueError):
        return None
    return process if held else None


def saved_state(path: Path) -> SavedState:
    """A checkpoint, read to the last byte."""
    size, scheduled, problem = 0, False, None
    try:
        size = sum(file.stat().st_size for file in path.iterdir())
        verify_checksums(path, CHECKPOINT_FILES)
        scheduled = read_json(path, "state.json").get("scheduled") is True
    except (ModelError, OSError) as error:  # or it was pruned just now
        problem = str(error)
    return SavedState(path.name, int(path.name.removeprefix("step-")), scheduled, size, problem)


def _corpus(directory: Path, problems: list[str]) -> dict[str, Any] | None:
    try:
        store = Store.open(directory)
    except InputError as error:
        if directory.exists():
            problems.append(str(error))
        return None
    meta = store.meta
    dropped: dict[Reason, int] = {reason: n for reason, n in meta.dropped.items() if n}
    tokens = {f"{side}_tokens": count for side, count in meta.tokens.items()}
    return {"pairs": meta.examples, **tokens, "read": meta.read, "dropped": dropped}


def _scores(metrics: list[Entry], event: str) -> list[Entry]:
    return [
        {key: value for key, value in entry.items() if key != "event"}
        for entry in metrics
        if entry.get("event") == event
    ]


def render(history: History) -> str:
    """The run in words."""
    listed = {
        "state": _state(history),
        "training data": _described(history.training),
        "validation data": _described(history.validation),
        "scores": _scored(history),
        "checkpoints": [str(saved) for saved in history.checkpoints],
        "model": [str(history.model)] if history.model else [],
        "not as in the paper": [f"{name} = {value}" for name, value in history.settings.items()],
    }
    listed = {name: lines or ["nothing yet"] for name, lines in listed.items()}
    return render_list(str(history.directory), {**listed, "problems": history.problems})


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
        lines.append(
            f"{plural(history.rollbacks, 'rollback')}: a loss, gradient or weight was not finite"
        )
    return lines


def _described(corpus: dict[str, Any] | None) -> list[str]:
    if corpus is None:
        return []
    tokens = [
        f"{count:,} {key.replace('_', ' ')}"
        for key, count in corpus.items()
        if key.endswith("_tokens")
    ]
    tally = Tally(corpus["read"], Counter(corpus["dropped"]), noun_of(len(tokens)))
    return [str(tally), ", ".join(tokens)]


def _scored(history: History) -> list[str]:
    last = None if history.last == history.best else history.last
    scores = {"best": history.best, "last": last, "model": history.final}
    lines = []
    for name, entry in scores.items():
        if entry is not None:
            parts = [f"perplexity {entry['perplexity']:,.3f}"]
            parts += [
                metric.text(entry[metric.name])
                for task in TASKS.values()
                for metric in task.metrics
                if entry.get(metric.name) is not None
            ]
            where = f"step {entry['step']:,}" if name != "model" else _origin(entry)
            lines.append(f"{name:<5}  {'  '.join(parts)}  ({where})")
    return lines


def _origin(final: Entry) -> str:
    """Which weights the model has: an average of checkpoints or a single one."""
    return str(final.get("what", "averaged")).partition(", better")[0]
