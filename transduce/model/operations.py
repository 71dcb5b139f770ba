"""How many floating-point operations a batch needs, counted from its shape alone."""

import numpy as np
from jaxtyping import Integer

from transduce.config import ModelConfig


def training_operations(
    config: ModelConfig,
    source: Integer[np.ndarray, " pairs"],
    target: Integer[np.ndarray, " pairs"],
) -> int:
    """Operations of the matrix products of a training step, for sentences of these lengths.

    A product of [m × k] and [k × n] is 2mkn operations, and the gradients of both its factors take
    as many again each. Padding is not counted, so a system that computes it gets no credit for it;
    what causality hides is counted, and element-wise work is not.
    """
    s, t = source.astype(np.int64), target.astype(np.int64)
    d, h, d_k, d_v = config.d_model, config.n_heads, config.key_width, config.value_width
    query, key_value, output = d * h * d_k, d * h * (d_k + d_v), h * d_v * d
    feed_forward, meeting = 2 * d * config.d_ff, h * (d_k + d_v)  # meeting: QKᵀ and the weighted V
    encoder = s * (query + key_value + output + feed_forward) + s * s * meeting
    itself = t * (query + key_value + output) + t * t * meeting
    across = t * (query + output) + s * key_value + s * t * meeting
    decoder = itself + across + t * feed_forward
    products = (
        config.encoder_depth * encoder
        + config.decoder_depth * decoder
        + t * d * config.decoder_vocab_size
    )
    return 3 * 2 * int(products.sum())
