"""The interface of a network for training, validation and decoding."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor, nn

from transduce.batches import Batch
from transduce.config import ModelConfig
from transduce.loss import Loss


class Network(nn.Module, ABC):
    """Maps a source and the target so far to the logits of each next target token."""

    config: ModelConfig

    @abstractmethod
    def forward(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocabulary"]:
        """The logits after each target token; padding follows the tokens of a row."""

    @abstractmethod
    def loss(self, batch: Batch, smoothing: float) -> Loss:
        """The loss of a batch, summed over its target tokens."""

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
    def operations(
        self, source: Integer[np.ndarray, " pairs"], target: Integer[np.ndarray, " pairs"]
    ) -> int:
        """Floating-point operations of a training step on sentences of these lengths."""

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device


def count_parameters(module: nn.Module) -> int:
    """The number of trainable parameters; a shared matrix counts once."""
    return sum(p.numel() for p in module.parameters())
