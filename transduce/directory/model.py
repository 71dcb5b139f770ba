"""Opening and verifying a model directory, and writing one."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save_file

from transduce import atomic
from transduce.config import ModelConfig
from transduce.directory.description import FILE as CONFIG
from transduce.directory.description import Description, description_of, read_description
from transduce.directory.files import verify_checksums, write_checksums
from transduce.directory.weights import check_header, pack, read_weights
from transduce.errors import ModelError
from transduce.shapes import parameter_count, parameter_shapes
from transduce.shortlist import FILE as SHORTLIST
from transduce.shortlist import Shortlist, load_shortlist
from transduce.tokenizer import (
    TOKENIZER_FILES,
    AnyTokenizer,
    Tokenizer,
    TokenizerLike,
    has_tokenizer,
    load_tokenizer,
)

if TYPE_CHECKING:
    import torch

    from transduce.model import Network

WEIGHTS, CARD = "model.safetensors", "card.md"
RUN_CONFIG, MODEL = "config.toml", "model"  # of a run directory


@dataclass(frozen=True, repr=False)
class ModelDirectory:
    """A verified model directory."""

    path: Path
    description: Description
    checksums: Mapping[str, str]  # of every file, by name

    @classmethod
    def open(cls, path: Path | str) -> "ModelDirectory":
        """Verifies the files before reading any weights; raises ModelError if they are damaged.

        The path may also be that of a run, whose model is opened.
        """
        path = find_model(path)
        atomic.recover(path)
        values = read_description(path)
        optional = [name for name in (*TOKENIZER_FILES, SHORTLIST) if (path / name).is_file()]
        sums = verify_checksums(path, [CONFIG, WEIGHTS, CARD, *optional])
        model = cls(path, description_of(values, path), sums)
        check_header(path / WEIGHTS, parameter_shapes(model.config))
        if has_tokenizer(path):
            check_vocabulary(model.tokenizer, model.config, path)
        return model

    def __repr__(self) -> str:
        described = self.description
        pair = described.source_language, described.target_language
        what = " → ".join(filter(None, pair)) or described.task
        return f"ModelDirectory({str(self.path)!r}, {what}, {self.parameters:,} parameters)"

    def require_task(self, task: str) -> None:
        """Raises ModelError if this is a model for another task."""
        if self.description.task != task:
            verbs = {"translation": "translate", "parsing": "parse"}
            verb = verbs.get(self.description.task, "generate")
            raise ModelError(
                f"{self.path} is a model for {self.description.task}, not for {task}: use it with "
                f"transduce {verb}"
            )

    @property
    def config(self) -> ModelConfig:
        return self.description.model

    @property
    def languages(self) -> dict[str, str]:
        """The codes `source_language` and `target_language`, if the model names them."""
        values = self.description.to_json()
        names = ("source_language", "target_language")
        return {name: values[name] for name in names if name in values}

    @property
    def fingerprint(self) -> str:
        """The checksum of the weights."""
        return self.checksums[WEIGHTS]

    @property
    def parameters(self) -> int:
        """The number of parameters."""
        return parameter_count(parameter_shapes(self.config))

    @cached_property
    def tokenizer(self) -> AnyTokenizer:
        return load_tokenizer(self.path, symbols=self.description.linearisation is not None)

    @cached_property
    def shortlist(self) -> Shortlist | None:
        return load_shortlist(self.path)

    def weights(self) -> dict[str, np.ndarray]:
        """The parameters by name, in float32; torch is not needed."""
        return read_weights(self.path / WEIGHTS)

    def network(self, device: "torch.device | str" = "cpu") -> "Network":
        """The torch network, in eval mode."""
        import torch

        from transduce.directory.network import load_weights
        from transduce.model import build_network

        network = build_network(self.config)
        tensors = {name: torch.from_numpy(weight) for name, weight in self.weights().items()}
        load_weights(network, tensors, self.path / WEIGHTS)
        return network.to(device).eval()


def find_model(path: Path | str) -> Path:
    """The path of a model directory: of a run, that of its model."""
    path = Path(path)
    if (path / CONFIG).exists() or not (path / RUN_CONFIG).is_file():
        return path
    atomic.recover(path / MODEL)
    if not (path / MODEL).is_dir():
        raise ModelError(
            f"{path} is a run that has no model yet: finish its training with transduce train "
            f"{path}, or average its checkpoints with transduce average {path}"
        )
    return path / MODEL


def check_vocabulary(tokenizer: TokenizerLike, config: ModelConfig, path: Path) -> None:
    """Raises ModelError if a tokenizer does not fit the network's vocabulary.

    Marian's networks may have a few more rows, as padding.
    """
    exact = isinstance(tokenizer, Tokenizer)
    for size, rows in (
        (tokenizer.vocab_size, config.vocab_size),
        (tokenizer.target_vocab_size, config.decoder_vocab_size),
    ):
        if size > rows or (exact and size < rows):
            raise ModelError(
                f"{path}: the tokenizer has {size:,} tokens, but the network has {rows:,}: "
                "they belong to different models"
            )


def write_model(
    path: Path,
    network: "Network",
    *,
    card: str = "",
    files: Mapping[str, bytes] | None = None,
    **described: Any,
) -> None:
    """Writes a model directory, which appears by atomic rename and replaces an existing one.

    `files` are those of the tokenizer and the shortlist; `described` are fields of
    `Description`, such as languages, max_length and dtype.
    """
    description = Description(**described, model=network.config)
    arrays = {name: p.detach().cpu().numpy() for name, p in network.named_parameters()}
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise ModelError(f"{path} is not written: {name} has infinite or NaN weights")
    with atomic.directory(path) as aside:
        content = json.dumps(description.to_json(), indent=2) + "\n"
        (aside / CONFIG).write_text(content, "utf-8")
        try:
            save_file(pack(arrays, description.dtype), aside / WEIGHTS)
        except SafetensorError as error:  # such as a full disk
            raise ModelError(f"{path} could not be written: {error}") from None
        (aside / CARD).write_text(card, "utf-8")
        for name, data in (files or {}).items():
            (aside / name).write_bytes(data)
        write_checksums(aside)
