"""The language model: the decoder without its attention over a source, and without an encoder."""

from dataclasses import dataclass
from typing import cast

import numpy as np
from jaxtyping import Float, Int, Integer
from torch import Tensor, nn

from transduce.config import ModelConfig
from transduce.model.attention import KeysValues, causal_mask
from transduce.model.embedding import Embedding, OutputProjection, embedding_matrices
from transduce.model.layers import EncoderLayer
from transduce.model.network import AttentionMaps, Network
from transduce.model.operations import decoder_only_operations

STD = 0.02  # of the initial weights, as in GPT-2


@dataclass(frozen=True)
class LanguageState:
    """The keys and values of the text so far, of each layer; None before the first token."""

    past: tuple[KeysValues, ...] | None = None
    rows: Int[Tensor, " rows"] | None = None  # rows of `past` to continue, in this order; None: all

    @property
    def length(self) -> int:
        return self.past[0].length if self.past else 0

    def select(self, rows: Tensor, sentences: Tensor | None = None) -> "LanguageState":
        return LanguageState(self.past, rows if self.rows is None else self.rows[rows])


class LanguageModel(Network):
    """Maps a text to the logits of each next token; a source is ignored."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        _, target, output = embedding_matrices(config)
        self.target_embedding = Embedding(config, target)
        decoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.decoder_depth))
        self.decoder = cast(list[EncoderLayer], decoder)
        self.output = OutputProjection(config, output)
        if config.norm == "pre":
            self.decoder_norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)
        # the output of a residual branch is smaller the more of them are added up
        branch = STD / (2 * config.decoder_depth) ** 0.5
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                last = name.endswith(("self_attention.output.weight", "feed_forward.outer.weight"))
                nn.init.normal_(parameter, std=branch if last else STD)

    def states(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target d_model"]:
        return self.decode(target)[0]

    def start(self, source: Int[Tensor, "batch source"]) -> LanguageState:
        return LanguageState()

    def step(
        self, newest: Int[Tensor, " rows"], state: LanguageState
    ) -> tuple[Float[Tensor, "rows vocabulary"], LanguageState]:
        states, state = self.decode(newest[:, None], state)
        return self.output(states[:, 0]), state

    def decode(
        self, target: Int[Tensor, "rows target"], state: LanguageState | None = None
    ) -> tuple[Float[Tensor, "rows target d_model"], LanguageState]:
        """The inputs of the pre-softmax layer for these tokens, which follow those of the state."""
        state = state or LanguageState()
        length, start = target.shape[1], state.length
        mask = causal_mask(length, start + length, target.device) if length > 1 else None
        x = self.target_embedding(target, start)
        present = []
        for layer, past in zip(self.decoder, state.past or [None] * len(self.decoder), strict=True):
            x, kv = layer.extend(x, past, state.rows, mask)
            present.append(kv)
        x = self.decoder_norm(x) if self.config.norm == "pre" else x
        return x, LanguageState(tuple(present))

    def attention_maps(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> AttentionMaps:
        """The attention weights of every head, computed explicitly next to each layer's output."""
        mask = causal_mask(target.shape[1], target.shape[1], target.device)
        x, maps = self.target_embedding(target), []
        for layer in self.decoder:
            maps.append(layer.attention(x, mask))
            x = layer(x, mask)
        return AttentionMaps(decoder=tuple(maps))

    def operations(
        self, source: Integer[np.ndarray, " pairs"], target: Integer[np.ndarray, " pairs"]
    ) -> int:
        return decoder_only_operations(self.config, target)
