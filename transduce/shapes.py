"""The names and shapes of a network's parameters, computed without allocating them."""

import math
from collections.abc import Callable

from transduce.config import ModelConfig
from transduce.errors import ConfigError
from transduce.machine import memory

Shapes = dict[str, tuple[int, ...]]


def parameter_shapes(config: ModelConfig) -> Shapes:
    """Every parameter of the network by name; a shared matrix is listed under its first name."""
    return KINDS[config.kind](config)


def _transformer(config: ModelConfig) -> Shapes:
    shapes = _embeddings(config, _positions(config))
    cross = _with_norm(config, "cross_attention", _attention(config))
    for i in range(config.encoder_depth):
        shapes |= _within(f"encoder.{i}", _layer(config))
    for i in range(config.decoder_depth):
        shapes |= _within(f"decoder.{i}", {**_layer(config), **cross})
    if config.norm == "pre":
        shapes |= _within("encoder_norm", _norm(config.d_model))
        shapes |= _within("decoder_norm", _norm(config.d_model))
    return shapes


def _language_model(config: ModelConfig) -> Shapes:
    embedding: Shapes = {"weight": (config.decoder_vocab_size, config.d_model)}
    shapes = _within("target_embedding", {**embedding, **_positions(config)}) | _output(config)
    for i in range(config.decoder_depth):
        shapes |= _within(f"decoder.{i}", _layer(config))
    if config.norm == "pre":
        shapes |= _within("decoder_norm", _norm(config.d_model))
    return shapes


def _recurrent(config: ModelConfig) -> Shapes:
    d, whole, half = config.d_model, config.d_recurrent, config.d_recurrent // 2
    shapes: Shapes = {"w": (1, d)} | _embeddings(config, {})
    for i in range(config.encoder_depth):
        for direction in ("", "_reverse"):
            shapes |= _within("encoder", _lstm(whole if i else d, half, f"l{i}{direction}"))
    for i in range(config.decoder_depth):
        shapes |= _within("decoder", _lstm(whole if i else 2 * d, whole, f"l{i}"))
    shapes |= _within("bridge", _linear(whole, config.decoder_depth * whole))
    shapes |= _within("query", _linear(whole, d)) | _within("key", _linear(whole, d, bias=False))
    return shapes | _within("combine", _linear(2 * whole, d))


def _convolutional(config: ModelConfig) -> Shapes:
    d = config.d_model
    linear = _normalised(d, d)
    convolution = _within("convolution", _normalised(2 * d, d, config.kernel))
    attention = _within("query", linear) | _within("output", linear)
    shapes = _embeddings(config, _positions(config))
    for end in ("encoder_input", "encoder_output", "decoder_input", "decoder_output"):
        shapes |= _within(end, linear)
    for i in range(config.encoder_depth):
        shapes |= _within(f"encoder.{i}", convolution)
    for i in range(config.decoder_depth):
        shapes |= _within(f"decoder.{i}", _within("convolution", convolution) | attention)
    return shapes


KINDS: dict[str, Callable[[ModelConfig], Shapes]] = {
    "transformer": _transformer,
    "recurrent": _recurrent,
    "convolutional": _convolutional,
    "lm": _language_model,
}


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


def _embeddings(config: ModelConfig, positions: Shapes) -> Shapes:
    """The embeddings of both sides with their positions, and the pre-softmax layer."""
    target: Shapes = {"weight": (config.decoder_vocab_size, config.d_model)}
    return {
        **_within("source_embedding", {"weight": (config.vocab_size, config.d_model), **positions}),
        **_within("target_embedding", {} if config.share_embeddings == "all" else target),
        **_within("target_embedding", positions),
        **_output(config),
    }


def _positions(config: ModelConfig) -> Shapes:
    learned = config.positions == "learned"
    return {"positions": (config.max_positions, config.d_model)} if learned else {}


def _output(config: ModelConfig) -> Shapes:
    shapes: Shapes = {}
    if config.share_embeddings == "none":
        shapes["output.weight"] = (config.decoder_vocab_size, config.d_model)
    if config.output_bias:
        shapes["output.bias"] = (config.decoder_vocab_size,)
    return shapes


def _layer(config: ModelConfig) -> Shapes:
    """Self-attention and the feed-forward network."""
    inner, outer = _linear(config.d_model, config.d_ff), _linear(config.d_ff, config.d_model)
    network = {**_within("inner", inner), **_within("outer", outer)}
    return {
        **_with_norm(config, "self_attention", _attention(config)),
        **_with_norm(config, "feed_forward", network),
    }


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


def _lstm(inputs: int, width: int, name: str) -> Shapes:
    """torch's names of one layer and direction; the four gates are side by side."""
    return {
        f"weight_ih_{name}": (4 * width, inputs),
        f"weight_hh_{name}": (4 * width, width),
        f"bias_ih_{name}": (4 * width,),
        f"bias_hh_{name}": (4 * width,),
    }


def _normalised(outputs: int, *inputs: int) -> Shapes:
    """A layer with weight normalisation: the norm and the direction of each output's weights."""
    return {
        "bias": (outputs,),
        "parametrizations.weight.original0": (outputs, *(1 for _ in inputs)),
        "parametrizations.weight.original1": (outputs, *inputs),
    }


def _norm(width: int) -> Shapes:
    return {"weight": (width,), "bias": (width,)}


def _with_norm(config: ModelConfig, name: str, shapes: Shapes) -> Shapes:
    """A sub-layer and the LayerNorm of its residual connection."""
    return {**_within(name, shapes), **_within(f"{name}_norm.norm", _norm(config.d_model))}


def _within(module: str, shapes: Shapes) -> Shapes:
    return {f"{module}.{name}": shape for name, shape in shapes.items()}
