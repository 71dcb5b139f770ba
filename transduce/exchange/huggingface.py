"""Hugging Face `MarianMTModel` directories (Marian, OPUS-MT), read and written.

Marian lays its sinusoids out with all sines before all cosines. A model with the paper's layout
becomes Marian's, exactly, by the same reordering of every vector of width d_model.
"""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from transduce import atomic
from transduce.checkpoint import load_weights, read_json, weights_of
from transduce.config import ModelConfig
from transduce.errors import ModelError
from transduce.model import Transformer

ACTIVATIONS: dict[str, Literal["relu", "gelu", "silu"]] = {
    "swish": "silu",
    "silu": "silu",
    "gelu": "gelu",
    "relu": "relu",
}
NORM_EPS = 1e-5  # Marian's layer norms have no setting for it
MAX_POSITIONS = 1024
TOKENIZER_FILES = ("source.spm", "target.spm", "vocab.json", "target_vocab.json")

# Our name of a layer's part → Marian's; q, k and v are one matrix here and three there.
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


def read_huggingface(directory: Path) -> Transformer:
    """The network of a Marian directory, with its weights."""
    settings = read_json(directory, "config.json")
    if settings.get("model_type") != "marian":
        raise ModelError(
            f"{directory} holds a model of type {settings.get('model_type')!r}; "
            "only Hugging Face's marian models can be imported"
        )
    try:
        config = config_from_marian(settings, directory)
    except KeyError as error:
        raise ModelError(f"{directory / 'config.json'} does not say {error}") from None
    theirs = _read_weights(directory)
    if not theirs.get("final_logits_bias", torch.zeros(1)).any():
        config = config.replace(output_bias=False)
    model = Transformer(config)
    weights = {
        name: _from_marian(name, lambda key: _take(theirs, key, directory))
        for name, _ in model.named_parameters()
    }
    load_weights(model, weights, directory)
    return model.eval()


def config_from_marian(settings: Mapping[str, Any], where: Path) -> ModelConfig:
    """Our settings for Marian's; what cannot be represented is refused."""
    for side in ("ffn_dim", "attention_heads"):
        if settings[f"encoder_{side}"] != settings[f"decoder_{side}"]:
            raise ModelError(f"{where}: encoder_{side} and decoder_{side} differ: not supported")
    activation = settings.get("activation_function", "gelu")
    if activation not in ACTIVATIONS:
        raise ModelError(f"{where}: activation_function {activation!r} is not supported")
    shared = settings.get("share_encoder_decoder_embeddings", True)
    tied = settings.get("tie_word_embeddings", True)
    source, target = settings["vocab_size"], settings.get("decoder_vocab_size")
    return ModelConfig(
        vocab_size=source,
        target_vocab_size=None if shared or target in (None, source) else target,
        d_model=settings["d_model"],
        d_ff=settings["encoder_ffn_dim"],
        n_heads=settings["encoder_attention_heads"],
        n_encoder_layers=settings["encoder_layers"],
        n_decoder_layers=settings["decoder_layers"],
        p_drop=float(settings.get("dropout", 0.1)),
        p_drop_attention=float(settings.get("attention_dropout", 0.0)),
        p_drop_relu=float(settings.get("activation_dropout", 0.0)),
        activation=ACTIVATIONS[activation],
        norm_eps=NORM_EPS,
        positions="sinusoidal-concatenated",
        share_embeddings=("all" if shared else "target") if tied else "none",
        scale_embeddings=settings.get("scale_embedding", False),
        output_bias=True,
        pad_id=settings["pad_token_id"],
        bos_id=settings["decoder_start_token_id"],
        eos_id=settings["eos_token_id"],
    )


def write_huggingface(
    model: Transformer, directory: Path, files: Mapping[str, bytes] | None = None
) -> None:
    """A directory that Hugging Face's own `MarianMTModel.from_pretrained` loads."""
    config = model.config
    _refuse_what_marian_cannot_say(config)
    weights = _to_marian(in_marian_order(model))
    with atomic.directory(directory) as aside:
        _write_json(aside / "config.json", config_for_marian(config))
        _write_json(aside / "generation_config.json", _generation(config))
        save_file(weights, aside / "model.safetensors", metadata={"format": "pt"})
        for name, content in (files or {}).items():
            (aside / name).write_bytes(content)
        difference = largest_difference(model, aside)
        if difference > 1e-4:
            raise ModelError(
                f"the export differs from the model by {difference:.2g} in its logits, so nothing "
                "was written: please report this"
            )


def config_for_marian(config: ModelConfig) -> dict[str, Any]:
    """Marian's settings for ours."""
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
        **_generation(config),
    }


def in_marian_order(model: Transformer) -> dict[str, Tensor]:
    """The weights with every vector of width d_model in the order of Marian's sinusoids."""
    weights = weights_of(model)
    if model.config.positions == "sinusoidal-concatenated":
        return weights
    d_model = model.config.d_model
    order = torch.cat([torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)])
    return {name: _reorder(name, weight, order) for name, weight in weights.items()}


def largest_difference(model: Transformer, directory: Path) -> float:
    """How far the logits of the written directory are from the model's, on random tokens.

    Hugging Face's own classes read the directory where they are installed; elsewhere we do.
    """
    generator = torch.Generator().manual_seed(0)
    source, target = (
        torch.randint(size, (3, 11), generator=generator)
        for size in (model.config.vocab_size, model.config.decoder_vocab_size)
    )
    source[source == model.config.pad_id] = model.config.eos_id
    model = model.eval()
    with torch.no_grad():
        expected = model(source, target)
        try:
            from transformers import MarianMTModel
        except ImportError:
            found = read_huggingface(directory)(source, target)
        else:
            peer = MarianMTModel.from_pretrained(directory, local_files_only=True).eval()
            found = peer(input_ids=source, decoder_input_ids=target).logits
    return float((expected - found.to(expected)).abs().max())


def tokenizer_files(directory: Path) -> dict[str, bytes]:
    """The tokenizer's files, carried along as they are."""
    return {
        name: (directory / name).read_bytes()
        for name in TOKENIZER_FILES
        if (directory / name).is_file()
    }


def _generation(config: ModelConfig) -> dict[str, Any]:
    return {
        "pad_token_id": config.pad_id,
        "eos_token_id": config.eos_id,
        "bos_token_id": config.bos_id,
        "decoder_start_token_id": config.bos_id,
        "forced_eos_token_id": config.eos_id,
    }


def _refuse_what_marian_cannot_say(config: ModelConfig) -> None:
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


def _read_weights(directory: Path) -> dict[str, Tensor]:
    file = directory / "model.safetensors"
    if not file.is_file():
        raise ModelError(
            f"{directory} has no model.safetensors; pickled weights (pytorch_model.bin) are never "
            "loaded: convert them with Hugging Face's save_pretrained first"
        )
    try:
        return dict(load_file(file))
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{file} cannot be read: {error}") from None


def _take(theirs: Mapping[str, Tensor], keys: tuple[str, ...], directory: Path) -> Tensor:
    """The first of these tensors that is there: tied matrices are stored under one name of many."""
    for key in keys:
        if key in theirs:
            return theirs[key]
    raise ModelError(f"{directory / 'model.safetensors'} has no {keys[0]}")


def _marian_names(name: str) -> tuple[str, ...]:
    """Where Marian may keep the tensor that we call `name`."""
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


def _from_marian(name: str, take: Callable[[tuple[str, ...]], Tensor]) -> Tensor:
    if ".qkv." in name:
        return torch.cat([take((key,)) for key in _qkv_names(name)])
    weight = take(_marian_names(name))
    return weight.flatten() if name == "output.bias" else weight


def _to_marian(ours: Mapping[str, Tensor]) -> dict[str, Tensor]:
    vocabulary = ours.get("target_embedding.weight", ours["source_embedding.weight"]).shape[0]
    theirs = {"final_logits_bias": torch.zeros(1, vocabulary)}
    for name, weight in ours.items():
        theirs |= _for_marian(name, weight, shared="target_embedding.weight" not in ours)
        if name.endswith(("attention.qkv.weight", "attention.output.weight")):
            bias = name.removesuffix("weight") + "bias"
            if bias not in ours:  # Marian's attention always has one
                theirs |= _for_marian(bias, torch.zeros(weight.shape[0]), shared=False)
    return theirs


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


def _write_json(file: Path, content: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
