"""The numbers of the worked example, every one from the real modules."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from transduce.config import ModelConfig
from transduce.directory import ModelDirectory
from transduce.engines import Request
from transduce.engines.torch_engine import TorchEngine
from transduce.errors import InputError
from transduce.model import Transformer, require_transformer
from transduce.model.attention import Mask, MultiHeadAttention, causal_mask, local_mask

BOS, EOS = "<s>", "</s>"
MOST_TOKENS = 256  # of a sentence


@dataclass(frozen=True)
class Example:
    """A model and a sentence pair for it, as tokens and as ids."""

    model: Transformer
    source: list[str]
    target: list[str]
    source_ids: Tensor
    target_ids: Tensor
    vocabulary: list[str]  # of the target


@dataclass(frozen=True)
class Worked:
    """One head of one attention layer, from the projections to its output."""

    title: str
    attention: str  # scaled, unscaled or additive
    neighbourhood: int | None  # of restricted self-attention
    pre_norm: bool
    kind: str  # encoder, decoder or cross
    queries: list[str]
    keys: list[str]
    x: Float[Tensor, "query d_model"]  # what the queries are computed from, and K and V as well
    memory: (
        Float[Tensor, "key d_model"] | None
    )  # in cross-attention: the encoder's output, for K, V
    w_q: Float[Tensor, "d_model d_k"]
    b_q: Float[Tensor, " d_k"] | None  # None without attention biases
    w: Float[Tensor, " d_k"] | None  # of additive attention
    q: Float[Tensor, "query d_k"]  # xW^Q + b
    k: Float[Tensor, "key d_k"]
    v: Float[Tensor, "key d_v"]
    dots: Float[Tensor, "query key"] | None  # QKᵀ; None with additive attention
    scores: Float[Tensor, "query key"]  # QKᵀ/√d_k, QKᵀ or w · tanh(q + k)
    visible: Tensor  # the mask: True where a query sees a key
    weights: Float[Tensor, "query key"]
    output: Float[Tensor, "query d_v"]


def example(text: str, target: str | None, seed: int) -> Example:
    """A seeded model with a vocabulary of just these words, small enough to print whole."""
    source_words = [*text.split(), EOS]
    target_words = [BOS, *(target or text).split()]
    words = sorted({*source_words, *target_words} - {BOS, EOS})
    _check_size(len(source_words) - 1, len(target_words) - 1)
    ids = {word: i for i, word in enumerate(["<pad>", BOS, EOS, *words])}
    torch.manual_seed(seed)
    config = ModelConfig(vocab_size=len(ids), d_model=8, d_ff=16, n_heads=2, n_layers=2)
    return Example(
        Transformer(config).eval(),
        source_words,
        target_words,
        torch.tensor([[ids[word] for word in source_words]]),
        torch.tensor([[ids[word] for word in target_words]]),
        list(ids),
    )


def of_model(directory: Path, text: str, target: str | None) -> Example:
    """A trained model reading a sentence and a translation: its own, if none is given."""
    opened = ModelDirectory.open(directory)
    opened.require_task("translation")
    model, tokenizer = require_transformer(opened.network(), "explain"), opened.tokenizer
    source = tokenizer.encode(text)
    _check_size(len(source))
    if target is None:
        ((best, *_),) = TorchEngine(model).search([Request(source)])
        written = list(best.tokens)
    else:
        (written,) = tokenizer.encode_targets([target])
    _check_size(len(source), len(written))
    config, vocabulary = model.config, tokenizer.target_vocabulary
    names = _pieces(vocabulary, range(len(vocabulary)))
    for i, name in ((config.pad_id, "<pad>"), (config.bos_id, BOS), (config.eos_id, EOS)):
        names[i] = name
    return Example(
        model,
        [*_pieces(tokenizer.vocabulary, source), EOS],
        [BOS, *_pieces(vocabulary, written)],
        torch.tensor([[*source, config.eos_id]]),
        torch.tensor([[config.bos_id, *written]]),
        names,
    )


def _check_size(*lengths: int) -> None:
    """Raises InputError if a sentence has no token or more than the page can hold."""
    if not lengths[0]:
        raise InputError("there is no word to explain: give a sentence")
    if max(lengths) > MOST_TOKENS:
        raise InputError(
            f"the sentence has {max(lengths):,} tokens, and explain shows at most {MOST_TOKENS}: "
            "give a shorter one"
        )


def _pieces(vocabulary: Sequence[str], ids: Sequence[int]) -> list[str]:
    """Readable tokens: a hyphen marks one that continues a word."""
    pieces = [vocabulary[i] for i in ids]
    return [p[1:] or "▁" if p.startswith("▁") else f"-{p}" for p in pieces]


@torch.no_grad()
def work_out(example: Example, kind: str, layer: int, head: int) -> Worked:
    """Q, K, V, scores, weights and output of one head, layers and heads counted from 1."""
    model = example.model
    depth = len(model.encoder) if kind == "encoder" else len(model.decoder)
    for name, number, most in (("layer", layer, depth), ("head", head, model.config.n_heads)):
        if not 1 <= number <= most:
            raise InputError(f"--{name} {number}: this model has {name}s 1 to {most}")
    attention, x, y, mask = _read(example, kind, layer)
    q, kv = attention.queries(x), attention.keys_values(y)
    h = head - 1
    own = slice(h * attention.d_k, head * attention.d_k)
    bias = attention.qkv.bias
    scores = attention.scores(q, kv.keys)[0, h]
    weights = attention.weights(q, kv, mask)[0, h]
    visible = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask[0, 0]
    if attention.neighbourhood is not None:
        visible = (
            visible & local_mask(len(x[0]), len(y[0]), attention.neighbourhood, x.device)[0, 0]
        )
    names = {"encoder": "encoder self-attention", "decoder": "decoder self-attention"}
    of = names.get(kind, "attention of the decoder over the encoder")
    additive = attention.kind == "additive"
    return Worked(
        title=f"{of}, layer {layer} of {depth}, head {head} of {model.config.n_heads}",
        kind=kind,
        attention=attention.kind,
        neighbourhood=attention.neighbourhood,
        pre_norm=model.config.norm == "pre",
        queries=example.source if kind == "encoder" else example.target,
        keys=example.target if kind == "decoder" else example.source,
        x=x[0],
        memory=y[0] if kind == "cross" else None,
        w_q=attention.qkv.weight.detach()[own].T,
        b_q=None if bias is None else bias.detach()[own],
        w=attention.w.detach()[h] if additive else None,
        q=q[0, h],
        k=kv.keys[0, h],
        v=kv.values[0, h],
        dots=None if additive else q[0, h] @ kv.keys[0, h].T,
        scores=scores,
        visible=visible,
        weights=weights,
        output=weights @ kv.values[0, h],
    )


def _read(
    example: Example, kind: str, layer: int
) -> tuple[MultiHeadAttention, Tensor, Tensor, Mask | None]:
    """An attention module, the inputs of its queries and of its keys and values, and its mask."""
    model = example.model
    if kind == "encoder":
        x = model.source_embedding(example.source_ids)
        for below in model.encoder[: layer - 1]:
            x = below(x, None)
        at = model.encoder[layer - 1]
        x = at.self_attention_norm.before(x)
        return at.self_attention, x, x, None
    memory = model.encode(example.source_ids).states
    length = example.target_ids.shape[1]
    mask = causal_mask(length, length, example.target_ids.device)
    x = model.target_embedding(example.target_ids)
    for lower in model.decoder[: layer - 1]:
        x, _ = lower(x, None, None, mask, lower.cross_attention.keys_values(memory), None)
    here = model.decoder[layer - 1]
    read = here.self_attention_norm.before(x)
    if kind == "decoder":
        return here.self_attention, read, read, mask
    q, kv = here.self_attention.project(read)
    x = here.self_attention_norm.after(x, here.self_attention.attend(q, kv, mask))
    return here.cross_attention, here.cross_attention_norm.before(x), memory, None


def to_json(worked: Worked) -> str:
    values = {
        name: value.tolist() if isinstance(value, Tensor) else value
        for name, value in vars(worked).items()
    }
    return json.dumps(values, indent=2, ensure_ascii=False)
