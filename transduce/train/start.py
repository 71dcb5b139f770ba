"""Training that starts from the weights and the vocabulary of another model."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from transduce import atomic
from transduce.config import Config, ModelConfig, config_of, given_settings
from transduce.directory import ModelDirectory
from transduce.directory.files import CHECKSUMS
from transduce.errors import ConfigError, InputError
from transduce.tokenizer import load_tokenizer
from transduce.train.growth import can_grow
from transduce.train.run import Run

PRESET = "fine-tuning"
# Settings of the network that do not change its weights.
FREE = {"p_drop", "p_drop_attention", "p_drop_relu"}
DEPTHS = ("n_encoder_layers", "n_decoder_layers")  # may be larger than those of the model


def settings_from(
    path: Path, preset: str | None, file: Path | None, overrides: Iterable[str]
) -> Config:
    """The settings of training that starts from a model: its network and vocabulary, and the rest.

    Raises ConfigError if a setting would change them, except for more layers (growth.py).
    """
    model = open_start(path)
    values = given_settings(PRESET if preset is None else preset, file, overrides)
    config_of(values)  # unknown names, wrong types
    own = model.config.model_dump()
    size = values.get("data", {}).get("vocab_size") if preset is None else None
    if size is not None and size != model.tokenizer.vocab_size:
        raise _changed("data.vocab_size", size, model.tokenizer.vocab_size, path)
    network = values.get("model", {})
    for name in network.keys() - FREE - {*DEPTHS, "vocab_size"}:
        if network[name] != own[name]:
            raise _changed(f"model.{name}", network[name], own[name], path)
    depths = {name: network[name] for name in DEPTHS if network.get(name) is not None}
    for name, depth in depths.items():
        _check_depth(name, depth, model.config, path)
    free = {name: network[name] for name in FREE if name in network} | depths
    kept: dict[str, Any] = {"max_length": model.description.max_length}
    if model.description.linearisation:
        kept["linearisation"] = model.description.linearisation
    data = {**kept, **values.get("data", {}), "vocab_size": model.tokenizer.vocab_size}
    return config_of({**values, "model": {**own, **free}, "data": data})


def _changed(name: str, given: object, own: object, path: Path) -> ConfigError:
    return ConfigError(
        f"{name} = {given}, but {path} has {own}: training that starts from a model keeps its "
        "network and vocabulary, so leave out this setting"
    )


def _check_depth(name: str, depth: int, own: ModelConfig, path: Path) -> None:
    """Raises ConfigError if the network of the model cannot have this many layers."""
    present = own.decoder_depth if name == "n_decoder_layers" else own.encoder_depth
    if depth < present:
        raise ConfigError(
            f"model.{name} = {depth}, but {path} has {present}: training that starts from a model "
            "can add layers, not remove them"
        )
    if depth > present and not can_grow(own):
        raise ConfigError(
            f"model.{name} = {depth}, but {path} has {present}: layers can be added to a pre-norm "
            f"Transformer only, and this is {own.kind} with model.norm = {own.norm}"
        )


def open_start(path: Path) -> ModelDirectory:
    """The model to start from; raises ModelError if it is damaged or has no vocabulary."""
    model = ModelDirectory.open(path)
    load_tokenizer(path)
    return model


def start_of(run: Run) -> ModelDirectory | None:
    """The copy of the model that a run started from, if any."""
    return ModelDirectory.open(run.start) if run.start.exists() else None


def keep_start(run: Run, path: Path | None, task: str) -> None:
    """Copies the model into the run, so that the run no longer needs the original.

    Raises InputError if the run was started in another way, or if the model has another task.
    """
    if path is None:
        if run.start.exists():
            raise _other(run, f"from a model, which is in {run.start}")
        return
    model = open_start(path)
    if model.description.task != task:
        raise InputError(f"{path} is a model for {model.description.task}, not for {task}")
    before = start_of(run)
    if before is not None and before.checksums == model.checksums:
        return
    if run.begun:
        raise _other(run, "from another model" if before else "without --from")
    with atomic.directory(run.start) as aside:
        for name in (*model.checksums, CHECKSUMS):
            (aside / name).write_bytes((path / name).read_bytes())


def _other(run: Run, how: str) -> InputError:
    return InputError(
        f"{run.directory} was started {how}: continue it in the same way, or train into another "
        "directory"
    )


def languages_from(run: Run, named: dict[str, str]) -> dict[str, str]:
    """The languages of the model that a run started from, or else those that file names give.

    File names with the same two languages in the other order mean the other direction.
    """
    model = start_of(run)
    own = model.languages if model else {}
    reverse = dict(zip(own, reversed(own.values()), strict=True))
    return named if not own or named == reverse else own
