"""The names and shapes of a network's parameters, computed without allocating them."""

import math

from transduce.config import ModelConfig
from transduce.errors import ConfigError
from transduce.machine import memory

Shapes = dict[str, tuple[int, ...]]


def parameter_shapes(config: ModelConfig) -> Shapes:
    """Every parameter of the network by name; a shared matrix is listed under its first name."""
    d, shared = config.d_model, config.share_embeddings
    positions = {"positions": (config.max_positions, d)} if config.positions == "learned" else {}
    shapes = _within("source_embedding", {"weight": (config.vocab_size, d), **positions})
    target: Shapes = {} if shared == "all" else {"weight": (config.decoder_vocab_size, d)}
    shapes |= _within("target_embedding", {**target, **positions})
    attention = _with_norm(config, "self_attention", _attention(config))
    cross = _with_norm(config, "cross_attention", _attention(config))
    inner, outer = _linear(d, config.d_ff), _linear(config.d_ff, d)
    network = {**_within("inner", inner), **_within("outer", outer)}
    feed_forward = _with_norm(config, "feed_forward", network)
    for i in range(config.encoder_depth):
        shapes |= _within(f"encoder.{i}", {**attention, **feed_forward})
    for i in range(config.decoder_depth):
        shapes |= _within(f"decoder.{i}", {**attention, **cross, **feed_forward})
    if shared == "none":
        shapes["output.weight"] = (config.decoder_vocab_size, d)
    if config.output_bias:
        shapes["output.bias"] = (config.decoder_vocab_size,)
    if config.norm == "pre":
        shapes |= _within("encoder_norm", _norm(d)) | _within("decoder_norm", _norm(d))
    return shapes


def parameter_count(shapes: Shapes) -> int:
    return sum(map(math.prod, shapes.values()))


def check_memory(config: ModelConfig, copies: int = 1) -> None:
    """Raises ConfigError if `copies` float32 copies of the weights exceed the memory.

    Training needs four: the weights, their gradients and Adam's two moments.
    """
    parameters = parameter_count(parameter_shapes(config))
    needed, available = 4 * copies * parameters, memory()
    if needed > available:
        raise ConfigError(
            f"the network has {parameters:,} parameters, which need {needed / 2**30:,.1f} GiB, "
            f"but this machine has {available / 2**30:,.1f} GiB of memory: make model.d_model, "
            "model.d_ff, model.n_layers or the vocabulary smaller"
        )


def _attention(config: ModelConfig) -> Shapes:
    keys, values = config.n_heads * config.key_width, config.n_heads * config.value_width
    bias = config.attention_bias
    additive = {"w": (config.n_heads, config.key_width)} if config.attention == "additive" else {}
    return {
        **additive,
        **_within("qkv", _linear(config.d_model, 2 * keys + values, bias)),
        **_within("output", _linear(values, config.d_model, bias)),
    }


def _linear(inputs: int, outputs: int, bias: bool = True) -> Shapes:
    weight: Shapes = {"weight": (outputs, inputs)}
    return {**weight, "bias": (outputs,)} if bias else weight


def _norm(width: int) -> Shapes:
    return {"weight": (width,), "bias": (width,)}


def _with_norm(config: ModelConfig, name: str, shapes: Shapes) -> Shapes:
    """A sub-layer and the LayerNorm of its residual connection."""
    return {**_within(name, shapes), **_within(f"{name}_norm.norm", _norm(config.d_model))}


def _within(module: str, shapes: Shapes) -> Shapes:
    return {f"{module}.{name}": shape for name, shape in shapes.items()}
