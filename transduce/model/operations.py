"""Floating-point operations of a training step, computed from sentence lengths."""

import numpy as np
from jaxtyping import Integer

from transduce.config import ModelConfig


def training_operations(
    config: ModelConfig,
    source: Integer[np.ndarray, " pairs"],
    target: Integer[np.ndarray, " pairs"],
) -> int:
    """Operations in matrix products of a training step of a Transformer on these lengths.

    A product of [m × k] and [k × n] is 2mkn operations, and the gradients of its two factors are
    as many again each. Masked positions of the causal mask are counted; padding and element-wise
    operations are not.
    """
    s, t = source.astype(np.int64), target.astype(np.int64)
    d, h, d_k, d_v = config.d_model, config.n_heads, config.key_width, config.value_width
    query, key_value, output = d * h * d_k, d * h * (d_k + d_v), h * d_v * d
    cross_attention = t * (query + output) + s * key_value + s * t * h * (d_k + d_v)
    products = (
        config.encoder_depth * _layer(config, s)
        + config.decoder_depth * (_layer(config, t) + cross_attention)
        + t * d * config.decoder_vocab_size
    )
    return 3 * 2 * int(products.sum())


def decoder_only_operations(config: ModelConfig, target: Integer[np.ndarray, " texts"]) -> int:
    """The same for a language model."""
    t = target.astype(np.int64)
    products = config.decoder_depth * _layer(config, t) + t * config.d_model * config.vocab_size
    return 3 * 2 * int(products.sum())


def _layer(config: ModelConfig, n: Integer[np.ndarray, " texts"]) -> Integer[np.ndarray, " texts"]:
    """Multiplications of self-attention and the feed-forward network, forward."""
    d, h, widths = config.d_model, config.n_heads, config.key_width + config.value_width
    projections = 2 * d * h * widths  # W^Q and W^K, W^V and Wᴼ
    return n * (projections + 2 * d * config.d_ff) + n * n * h * widths
