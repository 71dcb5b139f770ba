"""Reading Marian's own models: weights in .npz, as in the archives of OPUS-MT.

Where Marian differs from Hugging Face's port of it: the longest wavelength of its sinusoids is
exactly 10000 · 2π, ε of its normalisation is 1e-6, and the decoder begins with a zero vector
instead of the embedding of a symbol. We add a symbol whose embedding is zero.
"""

import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from transduce.config import ModelConfig
from transduce.directory.network import load_weights
from transduce.directory.weights import check_shapes
from transduce.errors import ConfigError, ModelError
from transduce.exchange.marian import FORBIDDEN
from transduce.exchange.marian_vocabulary import find_vocabularies, read_vocabularies
from transduce.exchange.yaml_files import as_list, parse_yaml, read_yaml
from transduce.model import Transformer
from transduce.shapes import parameter_shapes
from transduce.tokenizer import MarianTokenizer
from transduce.tokenizer.marian import END

Arrays = Mapping[str, np.ndarray]

DECODER = "decoder.yml"
SETTINGS = "special:model.yml"  # inside the .npz
NORM_EPS = 1e-6
# Marian's "gelu" is an approximation that we do not have.
ACTIVATIONS: dict[str, Literal["relu", "silu"]] = {"relu": "relu", "swish": "silu"}
# Settings that change the network, and the values that we support.
SUPPORTED: dict[str, tuple[Any, ...]] = {
    "type": ("transformer",),
    "right-left": (False,),
    "transformer-decoder-autoreg": ("self-attention",),
    "transformer-ffn-depth": (2,),
    "transformer-ffn-activation": tuple(ACTIVATIONS),
    "transformer-no-projection": (False,),
    "transformer-postprocess-emb": ("d", "", None),
    "transformer-tied-layers": ([], None),
    "transformer-train-position-embeddings": (False,),
    "transformer-train-positions": (False,),
    "lemma-dim-emb": (0,),
}
# (preprocess, postprocess, postprocess-top): d is dropout, a adds the residual, n normalises.
NORMS: dict[tuple[str, str, str], Literal["post", "pre"]] = {
    ("", "dan", ""): "post",
    ("n", "da", "n"): "pre",
}
# Our names of modules → Marian's names of weight and bias.
PARTS = {
    "self_attention.output": ("self_Wo", "self_bo"),
    "self_attention_norm.norm": ("self_Wo_ln_scale", "self_Wo_ln_bias"),
    "cross_attention.output": ("context_Wo", "context_bo"),
    "cross_attention_norm.norm": ("context_Wo_ln_scale", "context_Wo_ln_bias"),
    "feed_forward.inner": ("ffn_W1", "ffn_b1"),
    "feed_forward.outer": ("ffn_W2", "ffn_b2"),
    "feed_forward_norm.norm": ("ffn_ffn_ln_scale", "ffn_ffn_ln_bias"),
}


def read_marian(directory: Path) -> tuple[Transformer, MarianTokenizer]:
    """The network and the tokenizer of a directory with a .npz file and its vocabularies."""
    if not directory.is_dir():
        raise ModelError(f"no directory {directory}")
    decoder = read_yaml(directory / DECODER) if (directory / DECODER).is_file() else {}
    file = _find_weights(directory, as_list(decoder.get("models")))
    arrays = _read_arrays(file)
    if SETTINGS not in arrays:
        raise ModelError(f"{file} has no {SETTINGS}: it is not a model of Marian")
    settings = parse_yaml(arrays[SETTINGS].tobytes().rstrip(b"\0"), f"{SETTINGS} of {file}")
    _check_supported(settings, file)

    source, target = (_embedding(arrays, stack, file) for stack in ("encoder", "decoder"))
    rows = max(len(source), len(target))  # the id of the new symbol, in both languages
    named = as_list(decoder.get("vocabs") or settings.get("vocabs"))
    paths = find_vocabularies(directory, named)
    tokenizer = read_vocabularies(directory, paths, (len(source), len(target)), rows)
    eos = {side.index(END) for side in (tokenizer.vocabulary, tokenizer.target_vocabulary)}
    if len(eos) > 1:
        raise ModelError(f"{directory}: {END} has different ids in the two vocabularies")
    config = _config(settings, arrays, source, rows, eos.pop(), file)
    shapes = parameter_shapes(config)
    try:
        weights = {name: _weight(name, arrays, config, rows, file) for name in shapes}
    except ValueError as error:
        raise ModelError(f"{file}: the weights cannot be read: {error}") from None
    check_shapes({name: weight.shape for name, weight in weights.items()}, shapes, file)
    model = Transformer(config)
    load_weights(model, {name: torch.from_numpy(w) for name, w in weights.items()}, file)
    return model.eval(), tokenizer


def read_languages(directory: Path) -> dict[str, str]:
    """The languages that the README of an OPUS-MT archive names, as fields of `Description`."""
    try:
        text = (directory / "README.md").read_text("utf-8", errors="replace")
    except OSError:
        return {}
    found = re.findall(r"^[*-] (source|target) language\(s\): *(\S.{0,999})$", text, re.M)
    return {f"{side}_language": names.strip() for side, names in reversed(found)}


def _find_weights(directory: Path, named: list[str]) -> Path:
    found = [directory / Path(name).name for name in named] or sorted(directory.glob("*.npz"))
    if len(found) > 1:
        names = ", ".join(file.name for file in found)
        raise ModelError(f"{directory} has several models ({names}): leave one in it")
    if not found or not found[0].is_file():
        missing = found[0].name if found else "file of weights, *.npz"
        raise ModelError(f"{directory} has no {missing}: it is not a model of Marian")
    if found[0].suffix != ".npz":
        raise ModelError(f"{found[0]} is not an .npz file: only those are read")
    return found[0]


def _read_arrays(file: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise ModelError(f"{file} cannot be read: {error}") from None
    for name, array in arrays.items():
        if name != SETTINGS and array.dtype not in (np.float32, np.float16):
            raise ModelError(f"{file}: {name} is {array.dtype}, not float32 or float16")
    return arrays


def _check_supported(settings: Mapping[str, Any], file: Path) -> None:
    for name, values in SUPPORTED.items():
        if settings.get(name, values[0]) not in values:
            raise ModelError(f"{file}: {name} = {settings[name]!r} is not supported")


def _norm(settings: Mapping[str, Any], file: Path) -> Literal["post", "pre"]:
    names = "preprocess", "postprocess", "postprocess-top"
    defaults = "", "dan", ""
    order = tuple(
        str(settings.get(f"transformer-{name}", default) or "")
        for name, default in zip(names, defaults, strict=True)
    )
    if order not in NORMS:
        shown = ", ".join(f"transformer-{n} = {o!r}" for n, o in zip(names, order, strict=True))
        raise ModelError(f"{file}: {shown}: this order of normalisation is not supported")
    return NORMS[order]


def _config(
    settings: Mapping[str, Any], arrays: Arrays, source: np.ndarray, pad: int, eos: int, file: Path
) -> ModelConfig:
    shared = "encoder_Wemb" not in arrays
    tied = not {"decoder_ff_logit_out_W", "decoder_ff_logit_out_Wt"} & arrays.keys()
    inner = arrays.get("encoder_l1_ffn_W1", np.zeros((0, 0)))
    try:
        return ModelConfig(
            vocab_size=pad + 1,
            d_model=source.shape[1],
            d_ff=inner.shape[-1],
            n_heads=settings["transformer-heads"],
            n_encoder_layers=settings["enc-depth"],
            n_decoder_layers=settings["dec-depth"],
            norm=_norm(settings, file),
            norm_eps=NORM_EPS,
            activation=ACTIVATIONS[settings.get("transformer-ffn-activation", "swish")],
            positions="sinusoidal-tensor2tensor",
            share_embeddings=("all" if shared else "target") if tied else "none",
            output_bias=True,
            pad_id=pad,
            bos_id=pad,
            eos_id=eos,
        )
    except KeyError as error:
        raise ModelError(f"{SETTINGS} of {file} has no {error}") from None
    except ConfigError as error:
        raise ModelError(f"{file}: {error}") from None


def _embedding(arrays: Arrays, stack: str, file: Path) -> np.ndarray:
    found = _take(arrays, file, f"{stack}_Wemb", "Wemb")
    if found.ndim != 2:
        raise ModelError(f"{file}: the embeddings have {found.ndim} dimensions, not 2")
    return found


def _weight(name: str, arrays: Arrays, config: ModelConfig, rows: int, file: Path) -> np.ndarray:
    """Our tensor of this name."""
    if name in ("source_embedding.weight", "target_embedding.weight"):
        stack = {"source": "encoder", "target": "decoder"}[name.split("_")[0]]
        return _padded(_embedding(arrays, stack, file), rows + 1)
    if name == "output.weight":
        if "decoder_ff_logit_out_W" in arrays:
            return _padded(arrays["decoder_ff_logit_out_W"].T, rows + 1)
        found = arrays.get("decoder_ff_logit_out_Wt")
        return _padded(_embedding(arrays, "decoder", file) if found is None else found, rows + 1)
    if name == "output.bias":
        bias = arrays.get("decoder_ff_logit_out_b")
        known = np.zeros(len(_embedding(arrays, "decoder", file))) if bias is None else bias.ravel()
        return _padded(known, rows + 1, FORBIDDEN)
    stack, part = name.split(".", 1)
    if stack.endswith("_norm"):
        kind = {"weight": "scale", "bias": "bias"}[part]
        return _vector(_take(arrays, file, f"{stack.removesuffix('_norm')}_top_ln_{kind}"))
    number, part = part.split(".", 1)
    part, kind = part.rsplit(".", 1)
    layer = f"{stack}_l{int(number) + 1}_"
    if part.endswith(".qkv"):
        attention = {"self_attention.qkv": "self", "cross_attention.qkv": "context"}[part]
        letter = {"weight": "W", "bias": "b"}[kind]
        three = [_take(arrays, file, f"{layer}{attention}_{letter}{x}") for x in "qkv"]
        return np.concatenate([_matrix(x) if kind == "weight" else _vector(x) for x in three])
    theirs = layer + PARTS[part][kind == "bias"]
    if part.endswith("_norm.norm"):
        return _vector(_take(arrays, file, theirs + ("_pre" if config.norm == "pre" else "")))
    return (_matrix if kind == "weight" else _vector)(_take(arrays, file, theirs))


def _take(arrays: Arrays, file: Path, *names: str) -> np.ndarray:
    """The first of these arrays that exists."""
    for name in names:
        if name in arrays:
            return arrays[name]
    raise ModelError(f"{file} has no {names[0]}")


def _matrix(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array.T, dtype=np.float32)  # x · W there, W · x here


def _vector(array: np.ndarray) -> np.ndarray:
    return array.ravel().astype(np.float32)


def _padded(array: np.ndarray, rows: int, value: float = 0.0) -> np.ndarray:
    """The array with more rows of this value."""
    if len(array) > rows:
        raise ValueError(f"{len(array):,} rows instead of {rows:,}")
    more = np.full((rows - len(array), *array.shape[1:]), value)
    return np.concatenate([array, more]).astype(np.float32)
