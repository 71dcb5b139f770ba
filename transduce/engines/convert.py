"""Conversion of a Transformer to CTranslate2 from its numpy weights; without torch.

int8 weights are rounded to 7 bits as in a model directory, so that integer products are exact on
every CPU.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np

from transduce.config import ModelConfig
from transduce.directory.weights import LARGEST
from transduce.engines import alignment_layer
from transduce.errors import ModelError
from transduce.positions import sinusoids

ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "silu": "SWISH"}

Weights = Mapping[str, np.ndarray]


def write_ctranslate2(
    config: ModelConfig,
    weights: Weights,
    directory: Path,
    source_vocabulary: Sequence[str],
    target_vocabulary: Sequence[str],
    longest: int,
    vocabulary_map: Path | None = None,
    int8: bool = True,
) -> None:
    """Writes a CTranslate2 model into an existing directory; `longest` is its maximum length."""
    check_ctranslate2_compatible(config)
    if config.kind == "lm":
        _write_language_model(config, weights, directory, target_vocabulary, longest)
        return
    specs = ctranslate2.specs
    spec = specs.TransformerSpec.from_config(
        (config.encoder_depth, config.decoder_depth),
        config.n_heads,
        pre_norm=config.norm == "pre",
        activation=getattr(specs.Activation, ACTIVATIONS[config.activation]),
        alignment_layer=alignment_layer(config.decoder_depth),
        alignment_heads=config.n_heads,  # the mean of all
    )
    spec.config.layer_norm_epsilon = config.norm_eps
    spec.config.add_source_eos = True
    spec.config.bos_token = source_vocabulary[config.bos_id]
    spec.config.eos_token = target_vocabulary[config.eos_id]
    spec.config.decoder_start_token = target_vocabulary[config.bos_id]
    spec.register_source_vocabulary(list(source_vocabulary))
    spec.register_target_vocabulary(list(target_vocabulary))
    if vocabulary_map is not None:
        spec.register_vocabulary_mapping(str(vocabulary_map))
    _put_all(spec, config, weights, longest)
    spec.validate()
    if int8:
        spec._visit(_round)
    spec.optimize()
    spec.save(str(directory))


def check_ctranslate2_compatible(config: ModelConfig) -> None:
    """Raises ModelError if CTranslate2 does not support the network."""
    width = config.d_model // config.n_heads
    reasons = {
        f"model.attention = {config.attention!r}": config.attention != "scaled",
        f"model.neighbourhood = {config.neighbourhood}": config.neighbourhood is not None,
        f"model.d_k = {config.d_k}": config.key_width != width,
        f"model.d_v = {config.d_v}": config.value_width != width,
        f"model.kind = {config.kind!r}": config.kind not in ("transformer", "lm"),
    }
    for reason, holds in reasons.items():
        if holds:
            raise ModelError(f"{reason} cannot be expressed as a CTranslate2 model")


def _write_language_model(
    config: ModelConfig, weights: Weights, directory: Path, vocabulary: Sequence[str], longest: int
) -> None:
    """For `ctranslate2.Generator`, in float32."""
    specs = ctranslate2.specs
    spec = specs.TransformerDecoderModelSpec.from_config(
        config.decoder_depth,
        config.n_heads,
        pre_norm=config.norm == "pre",
        activation=getattr(specs.Activation, ACTIVATIONS[config.activation]),
    )
    spec.config.layer_norm_epsilon = config.norm_eps
    spec.config.bos_token = vocabulary[config.bos_id]
    spec.config.eos_token = vocabulary[config.eos_id]
    spec.config.unk_token = vocabulary[3]
    spec.register_vocabulary(list(vocabulary))
    embedding = weights["target_embedding.weight"]
    untied = config.share_embeddings == "none"
    spec.decoder.embeddings.weight = embedding
    spec.decoder.projection.weight = weights["output.weight"] if untied else embedding
    if config.output_bias:
        spec.decoder.projection.bias = weights["output.bias"]
    spec.decoder.scale_embeddings = config.scale_embeddings
    spec.decoder.position_encodings.encodings = _positions(config, weights, "target", longest)
    if config.norm == "pre":
        _put_norm(spec.decoder.layer_norm, weights, "decoder_norm")
    for i, layer in enumerate(spec.decoder.layer):
        _put_self_attention(layer.self_attention, weights, f"decoder.{i}")
        _put_feed_forward(layer.ffn, weights, f"decoder.{i}")
    spec.validate()
    spec.optimize()
    spec.save(str(directory))


def _positions(config: ModelConfig, weights: Weights, side: str, longest: int) -> np.ndarray:
    learned = weights.get(f"{side}_embedding.positions")
    if learned is not None:
        return learned
    return sinusoids(0, longest, config.d_model, config.positions).astype(np.float32)


def _put_all(spec: Any, config: ModelConfig, weights: Weights, longest: int) -> None:
    shared = config.share_embeddings
    source = weights["source_embedding.weight"]
    target = source if shared == "all" else weights["target_embedding.weight"]
    spec.encoder.embeddings[0].weight = source
    spec.decoder.embeddings.weight = target
    spec.decoder.projection.weight = weights["output.weight"] if shared == "none" else target
    if config.output_bias:
        spec.decoder.projection.bias = weights["output.bias"]
    for name, stack in (("source", spec.encoder), ("target", spec.decoder)):
        stack.scale_embeddings = config.scale_embeddings
        stack.position_encodings.encodings = _positions(config, weights, name, longest)
    if config.norm == "pre":
        _put_norm(spec.encoder.layer_norm, weights, "encoder_norm")
        _put_norm(spec.decoder.layer_norm, weights, "decoder_norm")
    for i, layer in enumerate(spec.encoder.layer):
        _put_self_attention(layer.self_attention, weights, f"encoder.{i}")
        _put_feed_forward(layer.ffn, weights, f"encoder.{i}")
    for i, layer in enumerate(spec.decoder.layer):
        _put_self_attention(layer.self_attention, weights, f"decoder.{i}")
        _put_cross_attention(layer.attention, weights, f"decoder.{i}", config)
        _put_feed_forward(layer.ffn, weights, f"decoder.{i}")


def _put_self_attention(spec: Any, weights: Weights, layer: str) -> None:
    _put_norm(spec.layer_norm, weights, f"{layer}.self_attention_norm.norm")
    _put_linear(spec.linear[0], weights, f"{layer}.self_attention.qkv")
    _put_linear(spec.linear[1], weights, f"{layer}.self_attention.output")


def _put_cross_attention(spec: Any, weights: Weights, layer: str, config: ModelConfig) -> None:
    _put_norm(spec.layer_norm, weights, f"{layer}.cross_attention_norm.norm")
    queries = config.n_heads * config.key_width
    _put_linear(spec.linear[0], weights, f"{layer}.cross_attention.qkv", slice(queries))
    _put_linear(spec.linear[1], weights, f"{layer}.cross_attention.qkv", slice(queries, None))
    _put_linear(spec.linear[2], weights, f"{layer}.cross_attention.output")


def _put_feed_forward(spec: Any, weights: Weights, layer: str) -> None:
    _put_norm(spec.layer_norm, weights, f"{layer}.feed_forward_norm.norm")
    _put_linear(spec.linear_0, weights, f"{layer}.feed_forward.inner")
    _put_linear(spec.linear_1, weights, f"{layer}.feed_forward.outer")


def _put_linear(spec: Any, weights: Weights, name: str, rows: slice = slice(None)) -> None:
    spec.weight = np.ascontiguousarray(weights[f"{name}.weight"][rows])
    if f"{name}.bias" in weights:
        spec.bias = np.ascontiguousarray(weights[f"{name}.bias"][rows])


def _put_norm(spec: Any, weights: Weights, name: str) -> None:
    spec.gamma, spec.beta = weights[f"{name}.weight"], weights[f"{name}.bias"]


def _round(spec: Any, name: str, value: Any) -> None:
    """Quantizes a matrix to 7-bit weights with a scale per row; vectors stay float32."""
    key = name.rsplit("/", 1)[-1]
    if not hasattr(spec, f"{key}_scale") or isinstance(value, str) or value.is_scalar():
        return
    matrix = value.numpy()
    largest = np.maximum(np.abs(matrix).max(axis=1), np.finfo(np.float32).tiny * LARGEST)
    scale = (LARGEST / largest).astype(np.float32)
    variable = ctranslate2.specs.model_spec.NumpyVariable
    setattr(spec, key, variable(np.rint(matrix * scale[:, None]).astype(np.int8)))
    setattr(spec, f"{key}_scale", variable(scale))
