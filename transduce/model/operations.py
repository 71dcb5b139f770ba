"""Floating-point operations of a training step, computed from sentence lengths."""

import numpy as np
from jaxtyping import Integer

from transduce.config import ModelConfig


def training_operations(
    config: ModelConfig,
    source: Integer[np.ndarray, " pairs"],
    target: Integer[np.ndarray, " pairs"],
) -> int:
    """Operations in matrix products of a training step on sentences of these lengths.

    A product of [m × k] and [k × n] is 2mkn operations, and the gradients of its two factors are
    as many again each. Masked positions of the causal mask are counted; padding and element-wise
    operations are not.
    """
    s, t = source.astype(np.int64), target.astype(np.int64)
    d, h, d_k, d_v = config.d_model, config.n_heads, config.key_width, config.value_width
    query, key_value, output = d * h * d_k, d * h * (d_k + d_v), h * d_v * d
    feed_forward, attention = 2 * d * config.d_ff, h * (d_k + d_v)  # QKᵀ and the weighted V
    encoder = s * (query + key_value + output + feed_forward) + s * s * attention
    self_attention = t * (query + key_value + output) + t * t * attention
    cross_attention = t * (query + output) + s * key_value + s * t * attention
    decoder = self_attention + cross_attention + t * feed_forward
    products = (
        config.encoder_depth * encoder
        + config.decoder_depth * decoder
        + t * d * config.decoder_vocab_size
    )
    return 3 * 2 * int(products.sum())
