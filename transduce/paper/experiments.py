"""Training runs of a table: one after the other, resumable, with the results in one JSON file."""

import json
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from transduce import atomic, machine
from transduce.config import Config, resolve
from transduce.errors import InputError
from transduce.log import Log
from transduce.search import PAPER
from transduce.tasks.translation import corpus_bleu
from transduce.train import state
from transduce.train.inputs import Inputs
from transduce.train.job import train_run
from transduce.train.prepare import reopen
from transduce.train.processes import StopSignal
from transduce.train.run import Run, numbered, read_metrics
from transduce.translate.options import TranslateOptions
from transduce.translate.translator import Translator

Row = Mapping[str, Any]  # the results of an experiment, as in the JSON file


@dataclass(frozen=True)
class Experiment:
    """A training run: a preset and the settings that differ from it."""

    name: str
    preset: str
    settings: tuple[str, ...] = ()

    @property
    def directory(self) -> str:
        return re.sub(r"[^a-z0-9.]+", "-", self.name.lower())

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
    sentences: int = 2000,
) -> list[Row] | None:
    """Trains and scores what is not in the results yet; None if a signal stopped it.

    `test` are sources and references; None: validation `sentences` of the run. The results are
    written after each experiment.
    """
    rows = {row["name"]: row for row in read_rows(results)}
    for number, experiment in enumerate(experiments, 1):
        settings = experiment.config.model_dump(mode="json", exclude_unset=True)
        if rows.get(experiment.name, {}).get("settings") == settings:
            continue
        log(f"{number} of {len(experiments)}: {experiment.name}")
        run = Run(folder / experiment.directory)
        if train_run(run, experiment.config, inputs_of(run), stop) is not None:
            return None
        rows[experiment.name] = {
            "name": experiment.name,
            "preset": experiment.preset,
            "changes": list(experiment.settings),
            "settings": settings,
            **measured(run, test or validation_text(run, sentences)),
            "machine": machine.description(("torch", "sentencepiece", "sacrebleu")),
            "date": datetime.now(UTC).date().isoformat(),
        }
        write_rows(results, [rows[e.name] for e in experiments if e.name in rows])
        shutil.rmtree(run.checkpoints, ignore_errors=True)
        shutil.rmtree(run.data, ignore_errors=True)
    return [rows[experiment.name] for experiment in experiments]


def measured(run: Run, test: tuple[Sequence[str], Sequence[str]]) -> dict[str, Any]:
    """What a finished run has learned, and what that took."""
    entries = read_metrics(run.metrics)
    final = next(entry for entry in reversed(entries) if entry.get("event") == "final")
    position, _ = state.read_state(numbered(run.checkpoints)[-1])
    translator = Translator.load(run.model, engine="torch")
    sources, references = test
    options = TranslateOptions(PAPER)
    translator.translate(sources[:64], options)  # the first call allocates memory
    began = time.perf_counter()
    found = translator.translate(sources, options)
    seconds = time.perf_counter() - began
    return {
        "parameters": sum(p.numel() for p in _network(translator).parameters()),
        "steps": position.step,
        "target_tokens": position.tokens,
        "operations": position.operations,
        "seconds": position.seconds,
        "perplexity": final["perplexity"],
        "bleu": corpus_bleu(found, references),
        "sentences_per_second": len(sources) / seconds,
        "curve": _curve(entries),
    }


def validation_text(run: Run, most: int) -> tuple[list[str], list[str]]:
    """The first sentences of the validation data of a run, as text."""
    data = reopen(run)
    sides = data.valid.sides.values()
    count = min(len(data.valid), most)
    source, target = ([data.tokenizer.decode(side[i]) for i in range(count)] for side in sides)
    return source, target


def read_rows(results: Path) -> list[Row]:
    """The rows of a results file; none if there is no such file."""
    if not results.exists():
        return []
    try:
        rows: list[Row] = json.loads(results.read_text("utf-8"))["rows"]
        return [row for row in rows if row["name"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{results} cannot be read: {error}") from None


def write_rows(results: Path, rows: Sequence[Row]) -> None:
    results.parent.mkdir(parents=True, exist_ok=True)
    with atomic.file(results) as aside:
        aside.write_text(json.dumps({"rows": rows}, indent=1) + "\n", "utf-8")


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
