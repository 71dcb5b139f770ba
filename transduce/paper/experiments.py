"""Training runs of a table: one after the other, resumable, with one JSON file per row."""

import json
import re
import shutil
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from transduce import atomic, machine
from transduce.batches import plan_epoch, target_tokens
from transduce.config import Config, TrainConfig, resolve
from transduce.errors import InputError
from transduce.log import Log
from transduce.model import Network
from transduce.search import PAPER
from transduce.store import Store
from transduce.tasks.translation import corpus_bleu
from transduce.train import state
from transduce.train.inputs import Inputs
from transduce.train.job import train_run
from transduce.train.objective import Gradient
from transduce.train.prepare import reopen
from transduce.train.processes import Processes, StopSignal
from transduce.train.run import Run, numbered, read_config, read_metrics
from transduce.train.state import Learner
from transduce.translate.options import TranslateOptions
from transduce.translate.translator import Translator

TIMED = 25  # training steps whose speed is measured
Row = Mapping[str, Any]  # the results of an experiment, as in the JSON file


@dataclass(frozen=True)
class Experiment:
    """A training run: a preset and the settings that differ from it.

    It may continue the run of another experiment, whose directory it shares.
    """

    name: str
    preset: str
    settings: tuple[str, ...] = ()
    continues: str | None = None

    @property
    def file(self) -> str:
        return f"{_slug(self.name)}.json"

    @property
    def directory(self) -> str:
        return _slug(self.continues or self.name)

    @property
    def config(self) -> Config:
        return resolve(self.preset, None, self.settings)


def run_all(
    experiments: Sequence[Experiment],
    inputs_of: Callable[[Run], Inputs],
    test: tuple[Sequence[str], Sequence[str]] | None,
    folder: Path,
    results: Path,
    stop: StopSignal,
    log: Log,
    facts: Callable[[Run], Row],
    sentences: int = 2000,
) -> bool:
    """Trains and scores what is not in the results yet; False if a signal stopped it.

    `test` are sources and references; None: validation `sentences` of the run. `facts` are further
    fields of the row of a run. The file of a row is written when it is done. Rows that another
    process is training are skipped.
    """
    for number, experiment in enumerate(experiments, 1):
        settings = experiment.config.model_dump(mode="json", exclude_unset=True)
        file = results / experiment.file
        if file.exists() and read_row(file)["settings"] == settings:
            continue
        run = Run(folder / experiment.directory)
        title = f"{number} of {len(experiments)}: {experiment.name}"
        before = experiment.continues and results / f"{_slug(experiment.continues)}.json"
        if run.is_locked() or (before and not before.exists()):
            log(f"{title}: skipped, as another process is training it")
            continue
        log(title)
        if run.model.exists() and not numbered(run.checkpoints):
            shutil.rmtree(run.directory)  # its result was removed, or has other settings
        if train_run(run, experiment.config, inputs_of(run), stop) is not None:
            return False
        row = {
            "name": experiment.name,
            "preset": experiment.preset,
            "changes": list(experiment.settings),
            "settings": settings,
            **measured(run, test or validation_text(run, sentences)),
            **facts(run),
            "machine": machine.description(("torch", "sentencepiece", "sacrebleu")),
            "date": datetime.now(UTC).date().isoformat(),
        }
        results.mkdir(parents=True, exist_ok=True)
        with atomic.file(file) as aside:
            aside.write_text(json.dumps(row, indent=1, ensure_ascii=False) + "\n", "utf-8")
        log(f"{file}: written")
        if not any(one.continues == experiment.name for one in experiments):
            shutil.rmtree(run.checkpoints, ignore_errors=True)
            shutil.rmtree(run.data, ignore_errors=True)
    return True


def measured(run: Run, test: tuple[Sequence[str], Sequence[str]]) -> dict[str, Any]:
    """What a finished run has learned, and what that took."""
    entries = read_metrics(run.metrics)
    final = next(entry for entry in reversed(entries) if entry.get("event") == "final")
    position, _ = state.read_state(numbered(run.checkpoints)[-1])
    translator = Translator.load(run.model, engine="torch")
    sources, references = test
    options = TranslateOptions(PAPER)
    translator.translate(sources[:64], options)  # the first call allocates memory
    began = time.process_time()
    found = translator.translate(sources, options)
    seconds = time.process_time() - began
    network, data = _network(translator), reopen(run)
    return {
        "parameters": sum(p.numel() for p in network.parameters()),
        "steps": position.step,
        "target_tokens": position.tokens,
        "operations": position.operations,
        "seconds": position.seconds,
        "perplexity": final["perplexity"],
        "bleu": corpus_bleu(found, references),
        "sentences_per_cpu_second": len(sources) / seconds,
        "target_tokens_per_cpu_second": training_speed(network, data.train, read_config(run).train),
        "curve": _curve(entries),
    }


def training_speed(network: Network, store: Store, settings: TrainConfig) -> float:
    """Target tokens per second of CPU time, the median of some training steps.

    Unlike the seconds by the clock it hardly depends on what else the machine was doing. The
    learning rate is 0, so that the network does not change.
    """
    learner = Learner(network, settings)
    gradient = Gradient(network, settings, Processes(0, 1, torch.device("cpu")))
    speeds = []
    network.train()
    for batch in plan_epoch(store.lengths, settings.tokens_per_batch, settings.seed, 0)[:TIMED]:
        began = time.process_time()
        gradient.of(store, batch)
        learner.update(0.0)
        speeds.append(target_tokens(store, batch) / (time.process_time() - began))
    network.eval()
    return statistics.median(speeds)


def validation_text(run: Run, most: int) -> tuple[list[str], list[str]]:
    """The first sentences of the validation data of a run, as text."""
    data = reopen(run)
    sides = data.valid.sides.values()
    count = min(len(data.valid), most)
    source, target = ([data.tokenizer.decode(side[i]) for i in range(count)] for side in sides)
    return source, target


def read_rows(results: Path, experiments: Sequence[Experiment]) -> list[Row]:
    """The rows that are done, in the order of the experiments."""
    files = (results / experiment.file for experiment in experiments)
    return [read_row(file) for file in files if file.exists()]


def read_row(file: Path) -> Row:
    try:
        row: Row = json.loads(file.read_text("utf-8"))
        return {**row, "name": row["name"], "settings": row["settings"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file} cannot be read: {error}") from None


def _slug(name: str) -> str:
    """
    >>> _slug("P_drop = 0.0")
    'p-drop-0.0'
    """
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")


def _network(translator: Translator) -> Any:
    from transduce.engines.router import Router

    assert isinstance(translator.engine, Router)
    return translator.engine.torch_engine.model


def _curve(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, float | int]]:
    """Validation BLEU against steps, target tokens and seconds."""
    points, seen = [], {"tokens": 0, "seconds": 0.0}
    for entry in entries:
        if entry.get("event") == "train":
            seen = {"tokens": entry["tokens"], "seconds": entry["seconds"]}
        elif entry.get("event") == "validation":
            scores = {key: entry[key] for key in ("bleu", "perplexity") if key in entry}
            points.append({"step": entry["step"], **seen, **scores})
    return points
