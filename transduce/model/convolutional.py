"""The convolutional network, ConvS2S: Gehring et al. 2017, "Convolutional Sequence to Sequence
Learning"; § refers to that paper.
"""

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.parametrizations import weight_norm

from transduce.config import ModelConfig
from transduce.model.attention import (
    AttendedSource,
    KeysValues,
    dot_product_scores,
    softmax_over_visible,
)
from transduce.model.dropout import Dropout
from transduce.model.embedding import Embedding, OutputProjection, embedding_matrices
from transduce.model.network import AttentionMaps, Network

HALF = math.sqrt(0.5)  # keeps the variance of a sum of two, §3.4
EMBEDDING_STD = 0.1


@dataclass(frozen=True)
class ConvolutionalState:
    """The state of decoding: the source, and the last inputs of each layer's convolution."""

    source: AttendedSource
    past: tuple[Float[Tensor, "rows kernel_minus_1 d_model"], ...]
    length: int = 0

    def select(self, rows: Tensor, sentences: Tensor | None) -> "ConvolutionalState":
        source = self.source if sentences is None else self.source.select(sentences)
        past = tuple(inputs.index_select(0, rows) for inputs in self.past)
        return ConvolutionalState(source, past, self.length)


class GatedConvolution(nn.Module):
    """§3.2: a convolution and a gated linear unit, A ⊗ σ(B)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        d, k = config.d_model, config.kernel
        convolution = nn.Conv1d(d, 2 * d, k)
        nn.init.normal_(convolution.weight, std=math.sqrt(4 * (1 - config.p_drop) / (k * d)))
        nn.init.zeros_(cast(Tensor, convolution.bias))
        self.convolution = weight_norm(convolution)

    def forward(
        self, window: Float[Tensor, "batch padded d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        return F.glu(self.convolution(window.transpose(1, 2)), dim=1).transpose(1, 2)


class DecoderBlock(nn.Module):
    """§3.2, §3.3: a gated convolution over the tokens so far, then attention over the source."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.convolution = GatedConvolution(config)
        self.query = linear(config)
        self.output = linear(config)

    def forward(
        self,
        x: Float[Tensor, "rows target d_model"],
        past: Float[Tensor, "rows kernel_minus_1 d_model"],
        embedded: Float[Tensor, "rows target d_model"],
        source: AttendedSource,
    ) -> tuple[
        Float[Tensor, "rows target d_model"],
        Float[Tensor, "rows kernel_minus_1 d_model"],
        Float[Tensor, "rows target source"],
    ]:
        """The block's output, the last inputs of the convolution, and the attention weights."""
        window = torch.cat([past, x], dim=1)
        h = self.convolution(window)
        q = (self.query(h) + embedded) * HALF  # d = W h + b + g, §3.3
        # the rows of one sentence attend to its source as if they were positions of one row
        q = q.reshape(len(source.mask), 1, -1, q.shape[-1])
        weights = softmax_over_visible(dot_product_scores(q, source.seen.keys, 1.0), source.mask)
        length = source.mask.sum(-1, keepdim=True)
        context = (weights @ source.seen.values) * length.sqrt()  # × m√(1/m), §3.4
        h = (h + self.output(context.reshape(h.shape))) * HALF
        kept = window[:, window.shape[1] - past.shape[1] :]
        return h, kept, weights.reshape(*h.shape[:2], -1)


class ConvolutionalNetwork(Network):
    """Stacks of gated convolutions, with attention in every layer of the decoder."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        source, target, output = embedding_matrices(config)
        self.source_embedding = Embedding(config, source)
        self.target_embedding = Embedding(config, target)
        self.encoder_input, self.encoder_output = linear(config), linear(config)
        self.encoder = nn.ModuleList(GatedConvolution(config) for _ in range(config.encoder_depth))
        self.decoder_input, self.decoder_output = linear(config), linear(config)
        self.decoder = nn.ModuleList(DecoderBlock(config) for _ in range(config.decoder_depth))
        self.output = OutputProjection(config, output)
        self.dropout = Dropout(config.p_drop)
        for embedding in (self.source_embedding, self.target_embedding):
            for parameter in embedding.parameters():
                nn.init.normal_(parameter, std=EMBEDDING_STD)
        if config.share_embeddings == "none":
            nn.init.normal_(output, std=EMBEDDING_STD)

    def states(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target d_model"]:
        return self.decode(target, self.start(source))[0]

    def start(self, source: Int[Tensor, "batch source"]) -> ConvolutionalState:
        """§3.2: z, the keys of the decoder's attention; the values are z + e, §3.3."""
        visible = source != self.config.pad_id
        embedded = self.source_embedding(source)
        left = (self.config.kernel - 1) // 2
        right = self.config.kernel - 1 - left
        x = self.encoder_input(embedded)
        for block in self.encoder:
            # padding is zero, like what is outside the sentence
            inner = self.dropout(x) * visible[:, :, None]
            x = (x + block(F.pad(inner, (0, 0, left, right)))) * HALF
        z = scale_gradient(self.encoder_output(x), 1 / (2 * self.config.decoder_depth))
        seen = KeysValues(z[:, None], ((z + embedded) * HALF)[:, None])
        past = z.new_zeros(len(source), self.config.kernel - 1, self.config.d_model)
        return ConvolutionalState(
            AttendedSource(seen, visible[:, None, None]), (past,) * self.config.decoder_depth
        )

    def decode(
        self, target: Int[Tensor, "rows target"], state: ConvolutionalState
    ) -> tuple[
        Float[Tensor, "rows target d_model"],
        list[Float[Tensor, "rows target source"]],
        ConvolutionalState,
    ]:
        """The outputs after each of these tokens, each layer's attention, and the new state."""
        embedded = self.target_embedding(target, state.length)
        x = self.decoder_input(embedded)
        present, maps = [], []
        for block, past in zip(self.decoder, state.past, strict=True):
            h, kept, weights = block(self.dropout(x), past, embedded, state.source)
            x = (x + h) * HALF
            present.append(kept)
            maps.append(weights)
        x = self.dropout(self.decoder_output(x))
        length = state.length + target.shape[1]
        return x, maps, ConvolutionalState(state.source, tuple(present), length)

    def step(
        self, newest: Int[Tensor, " rows"], state: ConvolutionalState
    ) -> tuple[Float[Tensor, "rows vocabulary"], ConvolutionalState]:
        states, _, state = self.decode(newest[:, None], state)
        return self.output(states[:, 0]), state

    def attention_maps(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> AttentionMaps:
        """The attention of each layer over the source, as a single head."""
        _, maps, _ = self.decode(target, self.start(source))
        return AttentionMaps(cross=tuple(weights[:, None] for weights in maps))

    def operations(
        self, source: Integer[np.ndarray, " pairs"], target: Integer[np.ndarray, " pairs"]
    ) -> int:
        config, s, t = self.config, source.astype(np.int64), target.astype(np.int64)
        square = config.d_model**2  # a linear layer; a convolution has 2 · kernel times as many
        encoder = s * square * (2 + config.encoder_depth * 2 * config.kernel)
        decoder = t * square * (2 + config.decoder_depth * (2 * config.kernel + 2))
        attention = config.decoder_depth * s * t * 2 * config.d_model
        products = encoder + decoder + attention + t * config.d_model * config.decoder_vocab_size
        return 3 * 2 * int(products.sum())


def linear(config: ModelConfig) -> nn.Linear:
    """A linear layer with weight normalisation, initialised as in §3.5."""
    layer = nn.Linear(config.d_model, config.d_model)
    nn.init.normal_(layer.weight, std=math.sqrt((1 - config.p_drop) / config.d_model))
    nn.init.zeros_(layer.bias)
    return weight_norm(layer)


def scale_gradient(x: Tensor, factor: float) -> Tensor:
    """x, with its gradient multiplied by a factor, §3.4."""
    return x.detach() + (x - x.detach()) * factor
