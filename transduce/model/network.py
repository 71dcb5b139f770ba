"""The interface of a network for training, validation and decoding."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor, nn

from transduce.batches import Batch
from transduce.config import ModelConfig
from transduce.errors import InputError
from transduce.loss import Loss, sequence_loss
from transduce.model.embedding import OutputProjection


@dataclass(frozen=True)
class AttentionMaps:
    """The attention weights of every head of every layer; empty for what a network lacks."""

    encoder: tuple[Float[Tensor, "batch heads source source"], ...] = ()
    decoder: tuple[Float[Tensor, "batch heads target target"], ...] = ()
    cross: tuple[Float[Tensor, "batch heads target source"], ...] = ()


class Network(nn.Module, ABC):
    """Maps a source and the target so far to the logits of each next target token."""

    config: ModelConfig
    output: OutputProjection

    @abstractmethod
    def states(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target d_model"]:
        """The inputs of the pre-softmax layer; padding follows the tokens of a row."""

    def forward(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocabulary"]:
        """The logits after each target token; padding follows the tokens of a row."""
        check_batch(source, target)
        return self.output(self.states(source, target))

    def loss(self, batch: Batch, smoothing: float, consistency: float = 0.0) -> Loss:
        """The loss of a batch, summed over its target tokens; see `sequence_loss`."""
        states = self.states(batch.source, batch.target_in)
        weight, bias, pad_id = self.output.weight, self.output.bias, self.config.pad_id
        return sequence_loss(states, batch.target_out, weight, bias, smoothing, pad_id, consistency)

    @abstractmethod
    def start(self, source: Int[Tensor, "batch source"]) -> Any:
        """The state before the first target token, for `step` and `beam_search`.

        A state has `select(rows, sentences)`: see `transduce.search.beam.State`.
        """

    @abstractmethod
    def step(
        self, newest: Int[Tensor, " rows"], state: Any
    ) -> tuple[Float[Tensor, "rows vocabulary"], Any]:
        """The logits after the newest token of each row, and the state that includes it."""

    @abstractmethod
    def attention_maps(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> AttentionMaps:
        """The attention weights of every head."""

    @abstractmethod
    def operations(
        self, source: Integer[np.ndarray, " pairs"], target: Integer[np.ndarray, " pairs"]
    ) -> int:
        """Floating-point operations of a training step on sentences of these lengths.

        A product of [m × k] and [k × n] is 2mkn operations, and the gradients of its two factors
        are as many again each.
        """

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device


def count_parameters(module: nn.Module) -> int:
    """The number of trainable parameters; a shared matrix counts once."""
    return sum(p.numel() for p in module.parameters())


def check_batch(source: Tensor, target: Tensor) -> None:
    """Raises InputError if these are not ids [batch, length] of the same number of sentences."""
    for name, ids in (("source", source), ("target", target)):
        if ids.ndim != 2:
            raise InputError(
                f"{name} has shape {list(ids.shape)}, but must be [batch, length]: "
                f"one sentence is {name}[None]"
            )
    if len(source) != len(target):
        raise InputError(
            f"source has {len(source):,} sentences and target {len(target):,}: "
            "row i of the target must be the translation of row i of the source"
        )
