"""The model directory: everything needed to use a model, nothing that could run code."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from transduce import atomic
from transduce.config import ModelConfig
from transduce.directory import FORMAT_VERSION, read_description, sha256, verify_checksums
from transduce.errors import ConfigError, ModelError
from transduce.model import Network, Transformer
from transduce.packing import Stored, packed, unpacked


@dataclass(frozen=True)
class ModelDirectory:
    """A loaded model directory: the network, and what else its `config.json` says of it."""

    model: Transformer
    description: Mapping[str, Any]


def save_model(
    directory: Path,
    model: Network,
    *,
    task: str = "translation",
    card: str = "",
    extra: Mapping[str, Any] | None = None,
    files: Mapping[str, bytes] | None = None,
    stored: Stored = "float32",
) -> None:
    """Writes a complete model directory; one that stands there is replaced when all is written."""
    settings = model.config.model_dump(mode="json", exclude_none=True)
    description = {
        "format_version": FORMAT_VERSION,
        "task": task,
        **(extra or {}),
        "stored": stored,
        "model": settings,
    }
    with atomic.directory(directory) as aside:
        (aside / "config.json").write_text(json.dumps(description, indent=2) + "\n", "utf-8")
        save_file(packed(weights_of(model), stored), aside / "model.safetensors")
        (aside / "card.md").write_text(card, "utf-8")
        for name, content in (files or {}).items():
            (aside / name).write_bytes(content)
        sums = {file.name: sha256(file) for file in sorted(aside.iterdir())}
        (aside / "checksums.json").write_text(json.dumps(sums, indent=2) + "\n", "utf-8")


def load_model(directory: Path, device: torch.device | str = "cpu") -> ModelDirectory:
    """The model of a directory, ready for inference; says plainly what is wrong with it if not."""
    description = read_description(directory)
    verify_checksums(directory)
    try:
        config = ModelConfig(**description["model"])
    except (ConfigError, KeyError, TypeError) as error:
        raise ModelError(
            f"{directory / 'config.json'} does not describe a model: {error}"
        ) from None
    model = Transformer(config)
    try:
        weights = load_file(directory / "model.safetensors")
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{directory / 'model.safetensors'} cannot be read: {error}") from None
    load_weights(model, unpacked(weights), directory / "model.safetensors")
    return ModelDirectory(model.to(device).eval(), description)


def weights_of(model: Network) -> dict[str, Tensor]:
    """Every parameter by name; a shared matrix is there once, under its first name."""
    return {name: p.detach().contiguous() for name, p in model.named_parameters()}


def load_weights(model: Network, weights: Mapping[str, Tensor], where: Path) -> None:
    """Copies weights into the model, which must have exactly these names and shapes."""
    parameters = dict(model.named_parameters())
    for name in parameters.keys() - weights.keys():
        raise ModelError(f"{where} lacks {name}, which the model of its config.json has")
    for name in weights.keys() - parameters.keys():
        raise ModelError(f"{where} has {name}, which the model of its config.json lacks")
    for name, parameter in parameters.items():
        if weights[name].shape != parameter.shape:
            raise ModelError(
                f"{where}: {name} is {list(weights[name].shape)}, but config.json asks for "
                f"{list(parameter.shape)}: the weights belong to another model or vocabulary"
            )
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(weights[name])
