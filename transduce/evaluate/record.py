"""The record of a result: scores, and what is needed to reproduce them.

It has names and checksums of files but no paths, and the kind of machine but no host name.
"""

import json
import math
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import transduce
from transduce import machine
from transduce.config import read_toml
from transduce.corpus.reading import STDIN, File
from transduce.directory import ModelDirectory, sha256
from transduce.errors import InputError
from transduce.evaluate.output import write_text
from transduce.search import Search
from transduce.store import Store
from transduce.train.inputs import model_name, read_inputs
from transduce.train.run import Run, read_metrics

PACKAGE = Path(transduce.__file__).parent
RUNS = ("engine", "compute", "device")  # how the model was run
LIBRARIES = ("torch", "ctranslate2", "sentencepiece", "sacrebleu")


@dataclass(frozen=True)
class System:
    """A model directory, its search settings, and the name of the model of --reverse."""

    model: Path
    search: Search
    reverse: str | None = None


def record_of(
    name: str,
    title: str,
    facts: Mapping[str, object],
    source: File,
    references: Sequence[File],
    system: System | None,
    today: date,
) -> dict[str, Any]:
    """The record; `facts` is the output of `transduce evaluate --json`."""
    run = run_of(system.model) if system else None
    data: dict[str, Any] = {
        "source": fingerprint(source),
        "references": [fingerprint(file) for file in references],
    }
    return {
        "name": name,
        "title": title,
        "scores": scores_of(facts),
        "search": search_of(system) if system else None,
        **{key: facts[key] for key in RUNS},
        "model": model_of(system.model) if system else None,
        "data": data | (training_data(run) if run else {}),
        "training": training_of(run, system.model) if run and system else None,
        "commit": commit(),
        "version": version("transduce"),
        "machine": machine.description(LIBRARIES),
        "date": today.isoformat(),
    }


def write_record(file: Path, record: Mapping[str, Any]) -> None:
    write_text(file, json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def scores_of(facts: Mapping[str, object]) -> dict[str, object]:
    """The facts without paths of models and files."""
    scores = {key: value for key, value in facts.items() if key not in ("model", *RUNS)}
    against = scores.get("against")
    if isinstance(against, dict):
        scores["against"] = {**against, "name": Path(against["name"]).name}
    return scores


def search_of(system: System) -> dict[str, object]:
    search, reverse = system.search, system.reverse and model_name(system.reverse)
    found = {"beam": search.beam, "alpha": search.alpha, "penalty": search.penalty}
    return found | ({"reverse": reverse} if reverse else {})


def model_of(directory: Path) -> dict[str, object]:
    """The size, settings and checksum of a model."""
    model = ModelDirectory.open(directory)
    return {
        "parameters": model.parameters,
        "settings": model.description.to_json()["model"],
        "sha256": model.fingerprint,
    }


def fingerprint(file: File) -> dict[str, str | None]:
    """The name and checksum of a file; only the name for standard input or a pipe."""
    known = file != STDIN and Path(file).is_file()
    return {"file": Path(file).name, "sha256": sha256(Path(file)) if known else None}


def run_of(model: Path) -> Run | None:
    """The run that a model directory is part of."""
    run = Run(model.resolve().parent)
    return run if run.model == model.resolve() and run.inputs.is_file() else None


def training_data(run: Run) -> dict[str, list[dict[str, str | None]]]:
    """The files that a run was trained on; without checksums if they have changed since."""
    inputs = read_inputs(run)
    try:
        same = Store.open(run.data / "train").meta.fingerprint == inputs.fingerprint()
    except InputError:  # some files no longer exist
        same = False
    files = {
        "train": [file for corpus in inputs.train for file in corpus.text.files],
        "valid": [*inputs.valid.files] if inputs.valid else [],
    }
    return {
        name: [fingerprint(f) if same else {"file": Path(f).name, "sha256": None} for f in some]
        for name, some in files.items()
    }


def training_of(run: Run, model: Path) -> dict[str, object]:
    """How the model of a run was trained, as of the end of its training."""
    metrics = read_metrics(run.metrics)
    finals = [entry for entry in metrics if entry.get("event") == "final"]
    last = finals[-1]["step"] if finals else math.inf
    steps = [e for e in metrics if e.get("event") == "train" and e["step"] <= last]
    reached = steps[-1] if steps else {}
    inputs = read_inputs(run)
    return {
        **({"started_from": inputs.started_from} if inputs.start else {}),
        "settings": read_toml(run.config),
        "steps": reached.get("step"),
        "epochs": reached.get("epoch"),
        "target_tokens": reached.get("tokens"),
        "seconds": reached.get("seconds"),
        "operations": reached.get("operations"),
        "weights": ModelDirectory.open(model).description.weights,
    }


def commit(package: Path = PACKAGE) -> str | None:
    """The git commit of this code, with "+changes" if it was edited; None outside a repository."""
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return None  # installed, perhaps inside another repository
    head = _git(package, "rev-parse", "HEAD")
    changes = _git(package, "status", "--porcelain", "--", ".")
    return head and head + ("+changes" if changes else "")


def _git(folder: Path, *arguments: str) -> str | None:
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return None
    return done.stdout.strip()
