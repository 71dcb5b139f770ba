"""A Transformer in CTranslate2's form. Everything is stored as it is, positions included."""

from collections.abc import Sequence
from pathlib import Path

import ctranslate2
import numpy as np
from torch import Tensor

from transduce.config import ModelConfig
from transduce.errors import ModelError
from transduce.model import Transformer
from transduce.model.attention import MultiHeadAttention
from transduce.model.layers import AddNorm, FeedForward
from transduce.model.linear import Linear

ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "silu": "SWISH"}


def write_ctranslate2(
    model: Transformer,
    directory: Path,
    source_vocabulary: Sequence[str],
    target_vocabulary: Sequence[str],
    positions: int,
    shortlist: Path | None = None,
    stored: str | None = None,
) -> None:
    """Writes a model into a directory that exists; `positions` is the longest sequence.

    A `shortlist` is a vocabulary map in CTranslate2's form; `stored` is what weights are rounded
    to, None for float32.
    """
    config = model.config
    check_ctranslate2_compatible(config)
    specs = ctranslate2.specs
    spec = specs.TransformerSpec.from_config(
        (config.encoder_depth, config.decoder_depth),
        config.n_heads,
        pre_norm=config.norm == "pre",
        activation=getattr(specs.Activation, ACTIVATIONS[config.activation]),
    )
    spec.config.layer_norm_epsilon = config.norm_eps
    spec.config.add_source_eos = True
    spec.config.bos_token = source_vocabulary[config.bos_id]
    spec.config.eos_token = target_vocabulary[config.eos_id]
    spec.config.decoder_start_token = target_vocabulary[config.bos_id]
    spec.register_source_vocabulary(list(source_vocabulary))
    spec.register_target_vocabulary(list(target_vocabulary))
    if shortlist is not None:
        spec.register_vocabulary_mapping(str(shortlist))

    for stack, embedding in (
        (spec.encoder, model.source_embedding),
        (spec.decoder, model.target_embedding),
    ):
        stack.scale_embeddings = config.scale_embeddings
        stack.position_encodings.encodings = _array(embedding.encoding(0, positions))
    spec.encoder.embeddings[0].weight = _array(model.source_embedding.weight)
    spec.decoder.embeddings.weight = _array(model.target_embedding.weight)
    spec.decoder.projection.weight = _array(model.output.weight)
    if model.output.bias is not None:
        spec.decoder.projection.bias = _array(model.output.bias)
    if config.norm == "pre":
        _put_norm(spec.encoder.layer_norm, model.encoder_norm)
        _put_norm(spec.decoder.layer_norm, model.decoder_norm)
    for theirs, ours in zip(spec.encoder.layer, model.encoder, strict=True):
        _put_self_attention(theirs.self_attention, ours.self_attention, ours.self_attention_norm)
        _put_feed_forward(theirs.ffn, ours.feed_forward, ours.feed_forward_norm)
    for theirs, block in zip(spec.decoder.layer, model.decoder, strict=True):
        _put_self_attention(theirs.self_attention, block.self_attention, block.self_attention_norm)
        _put_cross_attention(theirs.attention, block.cross_attention, block.cross_attention_norm)
        _put_feed_forward(theirs.ffn, block.feed_forward, block.feed_forward_norm)
    spec.validate()
    spec.optimize(quantization=stored)
    spec.save(str(directory))


def check_ctranslate2_compatible(config: ModelConfig) -> None:
    width = config.d_model // config.n_heads
    reasons = {
        f"model.attention = {config.attention!r}": config.attention != "scaled",
        f"model.neighbourhood = {config.neighbourhood}": config.neighbourhood is not None,
        f"model.d_k = {config.d_k}": config.key_width != width,
        f"model.d_v = {config.d_v}": config.value_width != width,
    }
    for reason, holds in reasons.items():
        if holds:
            raise ModelError(f"{reason} cannot be expressed as a CTranslate2 model")


def _put_self_attention(spec, attention: MultiHeadAttention, norm: AddNorm) -> None:  # type: ignore[no-untyped-def]
    _put_norm(spec.layer_norm, norm.norm)
    _put_linear(spec.linear[0], attention.qkv)
    _put_linear(spec.linear[1], attention.output)


def _put_cross_attention(spec, attention: MultiHeadAttention, norm: AddNorm) -> None:  # type: ignore[no-untyped-def]
    _put_norm(spec.layer_norm, norm.norm)
    queries = attention.qkv.widths[0]
    for linear, rows in ((spec.linear[0], slice(queries)), (spec.linear[1], slice(queries, None))):
        linear.weight = _array(attention.qkv.weight[rows])
        if attention.qkv.bias is not None:
            linear.bias = _array(attention.qkv.bias[rows])
    _put_linear(spec.linear[2], attention.output)


def _put_feed_forward(spec, feed_forward: FeedForward, norm: AddNorm) -> None:  # type: ignore[no-untyped-def]
    _put_norm(spec.layer_norm, norm.norm)
    _put_linear(spec.linear_0, feed_forward.inner)
    _put_linear(spec.linear_1, feed_forward.outer)


def _put_linear(spec, linear: Linear) -> None:  # type: ignore[no-untyped-def]
    spec.weight = _array(linear.weight)
    if linear.bias is not None:
        spec.bias = _array(linear.bias)


def _put_norm(spec, norm) -> None:  # type: ignore[no-untyped-def]
    spec.gamma = _array(norm.weight)
    spec.beta = _array(norm.bias)


def _array(tensor: Tensor) -> np.ndarray:
    return np.ascontiguousarray(tensor.detach().float().cpu().numpy())
