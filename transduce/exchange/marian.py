"""Conversion between our settings and weights and Marian's.

Marian lays its sinusoids out with all sines before all cosines. A model with the paper's layout
becomes Marian's, exactly, by the same reordering of every vector of width d_model.
"""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from transduce.config import ModelConfig
from transduce.directory.network import weights_of
from transduce.errors import ModelError
from transduce.model import Transformer

# MarianConfig's values of what a config.json may leave out.
DEFAULTS: dict[str, Any] = {
    "vocab_size": 58101,
    "d_model": 1024,
    "encoder_layers": 12,
    "decoder_layers": 12,
    "encoder_ffn_dim": 4096,
    "decoder_ffn_dim": 4096,
    "encoder_attention_heads": 16,
    "decoder_attention_heads": 16,
    "activation_function": "gelu",
    "dropout": 0.1,
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
    "scale_embedding": False,
    "share_encoder_decoder_embeddings": True,
    "tie_word_embeddings": True,
    "decoder_start_token_id": 58100,
    "pad_token_id": 58100,
    "eos_token_id": 0,
}
# Older versions had variants of the network: the values of every Marian model.
FIXED = {
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "add_bias_logits": False,
    "static_position_embeddings": True,
}
ACTIVATIONS: dict[str, Literal["relu", "gelu", "silu"]] = {
    "swish": "silu",
    "silu": "silu",
    "gelu": "gelu",
    "relu": "relu",
}
NORM_EPS = 1e-5  # fixed in Marian
MAX_POSITIONS = 1024
MAX_LENGTH = 512  # tokens, as in OPUS-MT
FORBIDDEN = -1e4  # a bias that excludes a token, and that float16 can represent

# Our names of modules → Marian's; q, k and v are one matrix here and three there.
PARTS = {
    "self_attention.output": "self_attn.out_proj",
    "self_attention_norm.norm": "self_attn_layer_norm",
    "cross_attention.output": "encoder_attn.out_proj",
    "cross_attention_norm.norm": "encoder_attn_layer_norm",
    "feed_forward.inner": "fc1",
    "feed_forward.outer": "fc2",
    "feed_forward_norm.norm": "final_layer_norm",
}
ATTENTIONS = {"self_attention.qkv": "self_attn", "cross_attention.qkv": "encoder_attn"}


def config_from_marian(settings: Mapping[str, Any], where: Path) -> ModelConfig:
    """Our settings from Marian's; raises ModelError if they are not supported."""
    settings = {**DEFAULTS, **settings}
    for name, value in FIXED.items():
        if settings.get(name, value) != value:
            raise ModelError(f"{where}: {name} = {json.dumps(settings[name])} is not supported")
    for side in ("ffn_dim", "attention_heads"):
        if settings[f"encoder_{side}"] != settings[f"decoder_{side}"]:
            raise ModelError(f"{where}: encoder_{side} and decoder_{side} differ: not supported")
    activation = settings["activation_function"]
    if activation not in ACTIVATIONS:
        raise ModelError(f"{where}: activation_function {activation!r} is not supported")
    shared, tied = settings["share_encoder_decoder_embeddings"], settings["tie_word_embeddings"]
    source, target = settings["vocab_size"], settings.get("decoder_vocab_size")
    return ModelConfig(
        vocab_size=source,
        target_vocab_size=None if shared or target in (None, source) else target,
        d_model=settings["d_model"],
        d_ff=settings["encoder_ffn_dim"],
        n_heads=settings["encoder_attention_heads"],
        n_encoder_layers=settings["encoder_layers"],
        n_decoder_layers=settings["decoder_layers"],
        p_drop=float(settings["dropout"]),
        p_drop_attention=float(settings["attention_dropout"]),
        p_drop_relu=float(settings["activation_dropout"]),
        activation=ACTIVATIONS[activation],
        norm_eps=NORM_EPS,
        positions="sinusoidal-concatenated",
        share_embeddings=("all" if shared else "target") if tied else "none",
        scale_embeddings=settings["scale_embedding"],
        output_bias=True,
        pad_id=settings["pad_token_id"],
        bos_id=settings["decoder_start_token_id"],
        eos_id=settings["eos_token_id"],
    )


def config_for_marian(config: ModelConfig) -> dict[str, Any]:
    """Marian's settings from ours."""
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "vocab_size": config.vocab_size,
        "decoder_vocab_size": config.decoder_vocab_size,
        "d_model": config.d_model,
        "encoder_layers": config.encoder_depth,
        "decoder_layers": config.decoder_depth,
        "encoder_attention_heads": config.n_heads,
        "decoder_attention_heads": config.n_heads,
        "encoder_ffn_dim": config.d_ff,
        "decoder_ffn_dim": config.d_ff,
        "dropout": config.p_drop,
        "attention_dropout": config.p_drop_attention,
        "activation_dropout": config.p_drop_relu,
        "activation_function": config.activation,
        "scale_embedding": config.scale_embeddings,
        "share_encoder_decoder_embeddings": config.share_embeddings == "all",
        "tie_word_embeddings": config.share_embeddings != "none",
        "max_position_embeddings": MAX_POSITIONS,
        **special_ids(config),
    }


def special_ids(config: ModelConfig) -> dict[str, Any]:
    """Marian's settings of the special symbols, whose default ids differ."""
    return {
        "pad_token_id": config.pad_id,
        "eos_token_id": config.eos_id,
        "bos_token_id": config.bos_id,
        "decoder_start_token_id": config.bos_id,
        "forced_eos_token_id": config.eos_id,
    }


def check_marian_compatible(config: ModelConfig) -> None:
    """Raises ModelError if Hugging Face's Marian classes do not support the network."""
    width = config.d_model // config.n_heads
    reasons = {
        'model.norm = "pre"': config.norm == "pre",
        f"model.norm_eps = {config.norm_eps}": config.norm_eps != NORM_EPS,
        f"model.attention = {config.attention!r}": config.attention != "scaled",
        f"model.neighbourhood = {config.neighbourhood}": config.neighbourhood is not None,
        f"model.positions = {config.positions!r}": config.positions
        not in ("sinusoidal", "sinusoidal-concatenated"),
        f"model.d_k = {config.d_k}": config.key_width != width,
        f"model.d_v = {config.d_v}": config.value_width != width,
    }
    for reason, holds in reasons.items():
        if holds:
            raise ModelError(f"{reason} cannot be expressed as a Hugging Face Marian model")


def from_marian(name: str, take: Callable[[tuple[str, ...]], Tensor]) -> Tensor:
    """Our tensor of this name; `take` returns the first tensor that exists under Marian's names."""
    if ".qkv." in name:
        return torch.cat([take((key,)) for key in _qkv_names(name)])
    return take(_marian_names(name))


def to_marian(model: Transformer) -> dict[str, Tensor]:
    """Marian's tensors by name."""
    ours = in_marian_order(model)
    vocabulary = ours.get("target_embedding.weight", ours["source_embedding.weight"]).shape[0]
    theirs = {"final_logits_bias": torch.zeros(1, vocabulary)}
    for name, weight in ours.items():
        theirs |= _for_marian(name, weight, shared="target_embedding.weight" not in ours)
        if name.endswith(("attention.qkv.weight", "attention.output.weight")):
            bias = name.removesuffix("weight") + "bias"
            if bias not in ours:  # Marian's attention always has one
                theirs |= _for_marian(bias, torch.zeros(weight.shape[0]), shared=False)
    return theirs


def in_marian_order(model: Transformer) -> dict[str, Tensor]:
    """The weights with the d_model axis permuted to the order of Marian's sinusoids."""
    weights = weights_of(model)
    if model.config.positions == "sinusoidal-concatenated":
        return weights
    d_model = model.config.d_model
    order = torch.cat([torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)])
    return {name: _reorder(name, weight, order) for name, weight in weights.items()}


def _marian_names(name: str) -> tuple[str, ...]:
    """Marian's possible names of our tensor `name`."""
    stack, part = name.split(".", 1)
    shared = "model.shared.weight"
    if stack == "source_embedding":
        return ("model.encoder.embed_tokens.weight", shared)
    if stack == "target_embedding":
        return ("model.decoder.embed_tokens.weight", shared)
    if stack == "output":
        return ("final_logits_bias",) if part == "bias" else ("lm_head.weight", shared)
    number, part = part.split(".", 1)
    part, kind = part.rsplit(".", 1)
    return (f"model.{stack}.layers.{number}.{PARTS[part]}.{kind}",)


def _qkv_names(name: str) -> list[str]:
    found = re.fullmatch(r"(\w+)\.(\d+)\.(\w+\.qkv)\.(\w+)", name)
    assert found
    stack, number, part, kind = found.groups()
    return [f"model.{stack}.layers.{number}.{ATTENTIONS[part]}.{x}_proj.{kind}" for x in "qkv"]


def _for_marian(name: str, weight: Tensor, shared: bool) -> dict[str, Tensor]:
    if ".qkv." in name:
        names = _qkv_names(name)
        return {key: part.contiguous() for key, part in zip(names, weight.chunk(3), strict=True)}
    if name == "source_embedding.weight" and shared:
        return {"model.shared.weight": weight}
    if name == "output.bias":
        return {"final_logits_bias": weight[None]}
    return {_marian_names(name)[0]: weight}


def _reorder(name: str, weight: Tensor, order: Tensor) -> Tensor:
    if name == "output.bias" or name.endswith((".qkv.bias", ".inner.bias")):
        return weight  # no axis of width d_model
    if name.endswith(("embedding.weight", ".qkv.weight", ".inner.weight")) or name.startswith(
        "output."
    ):
        return weight[:, order]
    return weight[order]
