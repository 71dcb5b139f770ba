"""An ensemble: networks that share a vocabulary, whose probabilities are averaged."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor, nn

from transduce.directory import ModelDirectory
from transduce.errors import ModelError
from transduce.model import AttentionMaps, Network


@dataclass(frozen=True)
class EnsembleState:
    """The state of each network."""

    members: tuple[Any, ...]

    def select(self, rows: Tensor, sentences: Tensor | None) -> "EnsembleState":
        return EnsembleState(tuple(state.select(rows, sentences) for state in self.members))


class Ensemble(Network):
    """Its scores are the logarithms of the mean of the networks' probabilities."""

    def __init__(self, networks: Sequence[Network]) -> None:
        super().__init__()
        self.config = networks[0].config
        self.members = nn.ModuleList(networks)
        self.output = nn.Identity()  # type: ignore[assignment]

    def states(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target vocabulary"]:
        return mean([network(source, target) for network in self.members])

    def start(self, source: Int[Tensor, "batch source"]) -> EnsembleState:
        return EnsembleState(tuple(network.start(source) for network in self._networks))

    def step(
        self, newest: Int[Tensor, " rows"], state: EnsembleState
    ) -> tuple[Float[Tensor, "rows vocabulary"], EnsembleState]:
        pairs = zip(self._networks, state.members, strict=True)
        logits, states = zip(*(network.step(newest, old) for network, old in pairs), strict=True)
        return mean(logits), EnsembleState(states)

    def attention_maps(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> AttentionMaps:
        """Those of the first network."""
        return self._networks[0].attention_maps(source, target)

    def operations(
        self, source: Integer[np.ndarray, " pairs"], target: Integer[np.ndarray, " pairs"]
    ) -> int:
        return sum(network.operations(source, target) for network in self._networks)

    @property
    def _networks(self) -> list[Network]:
        return list(self.members)  # type: ignore[arg-type]


def mean(logits: Sequence[Float[Tensor, "*rows vocabulary"]]) -> Float[Tensor, "*rows vocabulary"]:
    """log (1/n Σ softmax(logits))."""
    log_probs = torch.stack([one.log_softmax(-1) for one in logits])
    return log_probs.logsumexp(0) - math.log(len(logits))


def check_same_vocabulary(directories: Sequence[ModelDirectory]) -> None:
    """Raises ModelError if models do not have the same tokens in the same order."""
    first, *others = directories
    for other in others:
        for side in ("vocabulary", "target_vocabulary"):
            if getattr(first.tokenizer, side) != getattr(other.tokenizer, side):
                raise ModelError(
                    f"{first.path} and {other.path} have different vocabularies: the models of an "
                    "ensemble must share one; train with --from, or on the same text"
                )
        if other.config.kind == "lm" or first.config.kind == "lm":
            raise ModelError(f"{other.path}: a language model cannot be part of an ensemble")
