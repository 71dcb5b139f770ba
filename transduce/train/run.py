"""The run directory: its files, its lock, its settings and `metrics.jsonl`."""

import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transduce import atomic
from transduce.config import Config, config_of, read_toml
from transduce.errors import ConfigError, UserError
from transduce.log import Log
from transduce.tokenizer import AnyTokenizer, MarianTokenizer

CHECKPOINT_FILES = ("model.safetensors", "optimiser.safetensors", "state.json")
# From the learned vocabulary, whose size is data.vocab_size or, in a small corpus, less.
DERIVED = {"model.vocab_size", "model.target_vocab_size"}

# Settings that may differ when a run is continued.
FREE = {
    "train.steps",
    "train.log_steps",
    "train.keep",
    "train.average",
    "train.checkpoint_steps",
    "train.checkpoint_minutes",
    "train.validate_steps",
    "train.bleu_sentences",
    "train.patience",
}


@dataclass(frozen=True)
class Run:
    """The paths of a run directory."""

    directory: Path

    @property
    def config(self) -> Path:
        return self.directory / "config.toml"

    def builtin(self, split: str) -> Path:
        """A split of the built-in corpus, if the run uses it."""
        return self.directory / "text" / f"{split}.tsv"

    @property
    def reversed(self) -> Path:
        """The training part of the built-in corpus, German to English."""
        return self.directory / "text" / "train-de-en.tsv"

    @property
    def stdin(self) -> Path:
        """A copy of standard input, if the run read text from there."""
        return self.directory / "text" / "stdin"

    @property
    def inputs(self) -> Path:
        return self.directory / "inputs.json"

    @property
    def tokens(self) -> Path:
        return self.directory / "tokens.model"

    @property
    def start(self) -> Path:
        """A copy of the model that training started from, if any."""
        return self.directory / "from"

    @property
    def prepared(self) -> Path:
        """Records what the vocabulary and the encoded data were made from."""
        return self.directory / "prepared.json"

    @property
    def data(self) -> Path:
        return self.directory / "data"

    @property
    def checkpoints(self) -> Path:
        return self.directory / "checkpoints"

    @property
    def metrics(self) -> Path:
        return self.directory / "metrics.jsonl"

    @property
    def lock(self) -> Path:
        return self.directory / "lock"

    @property
    def model(self) -> Path:
        return self.directory / "model"

    @property
    def begun(self) -> bool:
        """Whether it has a checkpoint or a model."""
        return self.model.exists() or any(self.checkpoints.glob("step-*"))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Locks the run for this process; the system releases the lock when the process ends.

        Raises UserError if another process holds it.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        with self.lock.open("a+", encoding="utf-8", errors="replace") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                raise UserError(
                    f"{self.directory} is being trained by process {file.read().strip()}: wait "
                    "until it ends, or train into another directory"
                ) from None
            file.truncate(0)
            file.write(f"{os.getpid()}\n")
            file.flush()
            yield

    def is_locked(self) -> bool:
        """Whether a process is training this run."""
        try:
            with self.locked():
                return False
        except UserError:
            return True


def is_run(directory: Path) -> bool:
    """Whether a directory is that of a run."""
    run = Run(directory)
    return any(file.exists() for file in (run.config, run.metrics, run.inputs))


def check_same_settings(run: Run, config: Config) -> None:
    """Raises ConfigError if a run was started with other settings."""
    if run.begun and run.config.exists():
        begun = flat(read_config(run))
        derived = DERIVED | (
            {"model.share_embeddings"} if begun["model.target_vocab_size"] else set()
        )
        for name, value in flat(config).items():
            if begun.get(name) != value and name not in FREE | derived:
                raise ConfigError(
                    f"{run.directory} was started with {name} = {begun.get(name)!r}, not {value!r}"
                    ": continue it with the same settings, or train into another directory"
                )


def with_vocabulary(config: Config, tokenizer: AnyTokenizer) -> Config:
    """The settings with the sizes of the learned vocabulary.

    A target vocabulary of its own shares its embeddings with the pre-softmax layer only. An
    imported network keeps its own sizes, which may have more entries than the tokenizer.
    """
    if isinstance(tokenizer, MarianTokenizer):
        return config
    model = config.model.replace(vocab_size=tokenizer.vocab_size)
    if tokenizer.target_vocab_size != tokenizer.vocab_size:
        share = "target" if model.share_embeddings == "all" else model.share_embeddings
        size = tokenizer.target_vocab_size
        model = model.replace(target_vocab_size=size, share_embeddings=share)
    return config.replace(model=model)


def read_config(run: Run) -> Config:
    """The settings that a run was started with."""
    return config_of(read_toml(run.config))


def flat(config: Config) -> dict[str, Any]:
    """Every setting under its full name."""
    sections = config.model_dump(mode="json")
    return {
        f"{section}.{key}": value
        for section, settings in sections.items()
        for key, value in settings.items()
    }


def differences(config: Config) -> dict[str, Any]:
    """The settings that are not the paper's."""
    paper = flat(Config())
    return {name: value for name, value in flat(config).items() if value != paper[name]}


def write_config(file: Path, config: Config) -> None:
    """Writes all settings as TOML, defaults included."""
    lines = ["# Every setting of this run. `transduce train` on this directory continues it.\n"]
    for section, settings in config.model_dump(mode="json", exclude_none=True).items():
        lines.append(f"[{section}]\n")
        lines += [f"{key} = {json.dumps(value)}\n" for key, value in settings.items()]
        lines.append("\n")
    with atomic.file(file) as aside:
        aside.write_text("".join(lines), "utf-8")


# The numbers that an entry of metrics.jsonl must have besides its step, by event.
EVENTS: dict[str | None, tuple[str, ...]] = {
    "train": ("epoch", "tokens", "seconds", "loss"),
    "validation": ("nll", "perplexity"),
    "final": ("nll", "perplexity"),
}


class Metrics:
    """metrics.jsonl: one JSON object per line."""

    def __init__(self, file: Path, step: int, log: Log) -> None:
        """Removes the entries after `step`, the checkpoint to continue from: they will be repeated.

        A damaged file is kept under another name, and its readable entries are copied.
        """
        kept = [line for line in read_metrics(file) if line["step"] <= step]
        if file.exists():
            *complete, _rest = file.read_bytes().split(b"\n")
            if len(complete) > len(read_metrics(file)):
                aside = file.with_name(f"{file.name}.damaged")
                file.replace(aside)
                log(
                    f"{file} is damaged: it is kept as {aside.name}, and its readable "
                    "entries are copied"
                )
        with atomic.file(file) as part:
            part.write_text("".join(json.dumps(line) + "\n" for line in kept), "utf-8")
        self._stream = file.open("a", encoding="utf-8")

    def write(self, **entry: Any) -> None:
        self._stream.write(json.dumps(entry) + "\n")
        self._stream.flush()

    def close(self) -> None:
        self._stream.close()


def read_metrics(file: Path) -> list[Mapping[str, Any]]:
    """The entries of metrics.jsonl; lines that are damaged or truncated are left out."""
    entries: list[Mapping[str, Any]] = []
    for line in file.read_bytes().split(b"\n") if file.exists() else []:
        with suppress(ValueError, RecursionError):
            entry = json.loads(line)
            if isinstance(entry, dict) and type(entry.get("step")) is int and _is_complete(entry):
                entries.append(entry)
    return entries


def numbered(folder: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if re.fullmatch(r"step-\d+", path.name))


def _is_complete(entry: Mapping[str, Any]) -> bool:
    """Whether an entry has all the numbers of its event."""
    event = entry.get("event")
    needed = EVENTS.get(event, ()) if isinstance(event, str | None) else ("event",)
    optional = (entry[name] for name in ("bleu", "exact_match") if entry.get(name) is not None)
    values = [*(entry.get(name) for name in needed), *optional]
    return all(isinstance(value, int | float) for value in values)
