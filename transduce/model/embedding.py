"""§3.4, §3.5: embeddings with positions, and the pre-softmax layer, for every network."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from transduce.config import ModelConfig
from transduce.errors import InputError
from transduce.model.dropout import Dropout
from transduce.positions import sinusoids


class Embedding(nn.Module):
    """§3.4, §3.5: token embeddings × √d_model plus positions, with dropout on the sum."""

    def __init__(self, config: ModelConfig, weight: nn.Parameter) -> None:
        super().__init__()
        self.weight = weight
        self.layout = config.positions
        if self.layout == "learned":
            self.positions = vectors(config.max_positions, config.d_model)
        self._sinusoids: Tensor | None = None
        self.scale = math.sqrt(config.d_model) if config.scale_embeddings else 1.0
        self.dropout = Dropout(config.p_drop)

    def forward(
        self, ids: Int[Tensor, "batch length"], start: int = 0
    ) -> Float[Tensor, "batch length d_model"]:
        """Embeds ids at positions start, start + 1, …"""
        check_ids(ids, self.weight.shape[0])
        tokens = F.embedding(ids, self.weight) * self.scale
        return self.dropout(tokens + self.encoding(start, ids.shape[1]))

    def encoding(self, start: int, length: int) -> Float[Tensor, "length d_model"]:
        """The positional encodings of positions start ≤ pos < start + length."""
        if self.layout != "learned":
            return self._table(start + length)[start : start + length]
        if start + length > self.positions.shape[0]:
            raise InputError(
                f"a sequence of {start + length} tokens is longer than this model's "
                f"{self.positions.shape[0]} learned positions: split it, or train with sinusoids"
            )
        return self.positions[start : start + length]

    def _table(self, length: int) -> Float[Tensor, "positions d_model"]:
        """Sinusoids of at least `length` positions, cached in the weights' device and dtype."""
        table, weight = self._sinusoids, self.weight
        usable = table is not None and (table.device, table.dtype) == (weight.device, weight.dtype)
        if table is None or not usable or len(table) < length:
            size = (
                1 << (max(length, 64) - 1).bit_length()
            )  # a power of two, so that it seldom grows
            with torch.inference_mode(False):  # training may use it after inference has cached it
                made = torch.from_numpy(sinusoids(0, size, weight.shape[1], self.layout))
                self._sinusoids = table = made.to(weight)
        return table


class OutputProjection(nn.Module):
    """§3.4: the pre-softmax linear transformation, xEᵀ with E shared and no bias by default."""

    def __init__(self, config: ModelConfig, weight: nn.Parameter) -> None:
        super().__init__()
        self.weight = weight
        bias = nn.Parameter(torch.zeros(config.decoder_vocab_size)) if config.output_bias else None
        self.bias = bias

    def forward(self, x: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocabulary"]:
        return F.linear(x, self.weight, self.bias)


def embedding_matrices(config: ModelConfig) -> tuple[nn.Parameter, nn.Parameter, nn.Parameter]:
    """The matrices of source, target and pre-softmax layer, shared by `share_embeddings`, §3.4."""
    target = vectors(config.decoder_vocab_size, config.d_model)
    shared = config.share_embeddings
    source = target if shared == "all" else vectors(config.vocab_size, config.d_model)
    output = target if shared != "none" else vectors(*target.shape)
    return source, target, output


def vectors(count: int, d_model: int) -> nn.Parameter:
    """Embeddings initialised as in the paper's code: normal, standard deviation 1/√d_model."""
    return nn.Parameter(torch.randn(count, d_model) * d_model**-0.5)


def check_ids(ids: Int[Tensor, "batch length"], vocab_size: int) -> None:
    """Raises InputError for ids outside the vocabulary; on a GPU the check would be too slow."""
    if ids.device.type != "cpu" or ids.numel() == 0:
        return
    smallest, largest = torch.aminmax(ids)
    if smallest < 0 or largest >= vocab_size:
        wrong = int(smallest) if smallest < 0 else int(largest)
        raise InputError(
            f"token id {wrong} is outside the vocabulary of {vocab_size} (0 to {vocab_size - 1}): "
            "the text was encoded with another vocabulary than the model's"
        )
