"""Equation 1 worked out on a sentence, every number from the real modules."""

import json
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from transduce.checkpoint import load_model
from transduce.config import ModelConfig
from transduce.engines.torch_engine import TorchEngine
from transduce.errors import InputError
from transduce.model import Transformer
from transduce.model.attention import Mask, MultiHeadAttention, causal_mask
from transduce.tokenizer import load_tokenizer

BOS, EOS = "<s>", "</s>"
PAGE = 100  # columns of text
WIDEST = 8  # numbers shown of a vector
LONGEST_SUM = 16  # terms written out
MOST_SEEN = 6  # tokens that are named of those that a token looks at
BAR = 40  # columns of a bar that stands for everything


@dataclass(frozen=True)
class Example:
    """A model and a sentence pair for it, as tokens and as ids."""

    model: Transformer
    source: list[str]
    target: list[str]
    source_ids: Tensor
    target_ids: Tensor


@dataclass(frozen=True)
class Worked:
    """One head of one attention layer, from the projections to its output."""

    title: str
    queries: list[str]
    keys: list[str]
    x: Float[Tensor, "query d_model"]  # what the queries are made of
    w_q: Float[Tensor, "d_model d_k"]
    b_q: Float[Tensor, " d_k"]
    q: Float[Tensor, "query d_k"]  # xW^Q + b
    k: Float[Tensor, "key d_k"]
    v: Float[Tensor, "key d_v"]
    dots: Float[Tensor, "query key"]  # QKᵀ
    scores: Float[Tensor, "query key"]  # QKᵀ/√d_k
    visible: Tensor  # where one may look
    weights: Float[Tensor, "query key"]
    output: Float[Tensor, "query d_v"]


def example(text: str, target: str | None, seed: int) -> Example:
    """A seeded model with a vocabulary of just these words, small enough to print whole."""
    source_words = [*text.split(), EOS]
    target_words = [BOS, *(target or text).split()]
    words = sorted({*source_words, *target_words} - {BOS, EOS})
    if not words:
        raise InputError("there is no word to explain: give a sentence")
    ids = {word: i for i, word in enumerate(["<pad>", BOS, EOS, *words])}
    torch.manual_seed(seed)
    config = ModelConfig(vocab_size=len(ids), d_model=8, d_ff=16, n_heads=2, n_layers=2)
    return Example(
        Transformer(config).eval(),
        source_words,
        target_words,
        torch.tensor([[ids[word] for word in source_words]]),
        torch.tensor([[ids[word] for word in target_words]]),
    )


def of_model(directory: Path, text: str, target: str | None) -> Example:
    """A trained model reading a sentence and a translation: its own, if none is given."""
    model, tokens = load_model(directory).model, load_tokenizer(directory)
    source = tokens.encode(text)
    if not source:
        raise InputError("there is no word to explain: give a sentence")
    if target is None:
        ((best, *_),) = TorchEngine(model).search([source])
        written = list(best.tokens)
    else:
        (written,) = tokens.encode_targets([target])
    config = model.config
    return Example(
        model,
        [*_pieces(tokens.vocabulary, source), EOS],
        [BOS, *_pieces(tokens.target_vocabulary, written)],
        torch.tensor([[*source, config.eos_id]]),
        torch.tensor([[config.bos_id, *written]]),
    )


def _pieces(vocabulary: Sequence[str], ids: Sequence[int]) -> list[str]:
    """Tokenizer for people: a hyphen before what goes on with a word."""
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
    w_q = attention.qkv.weight.detach()[own].T
    bias = attention.qkv.bias
    b_q = torch.zeros(attention.d_k) if bias is None else bias.detach()[own]
    scores = attention.scores(q, kv.keys)[0, h]
    weights = attention.weights(q, kv, mask)[0, h]
    visible = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask[0, 0]
    names = {"encoder": "encoder self-attention", "decoder": "decoder self-attention"}
    of = names.get(kind, "attention of the decoder over the encoder")
    return Worked(
        title=f"{of}, layer {layer} of {depth}, head {head} of {model.config.n_heads}",
        queries=example.source if kind == "encoder" else example.target,
        keys=example.target if kind == "decoder" else example.source,
        x=x[0],
        w_q=w_q,
        b_q=b_q,
        q=q[0, h],
        k=kv.keys[0, h],
        v=kv.values[0, h],
        dots=q[0, h] @ kv.keys[0, h].T,
        scores=scores,
        visible=visible.expand_as(scores),
        weights=weights,
        output=weights @ kv.values[0, h],
    )


def _read(
    example: Example, kind: str, layer: int
) -> tuple[MultiHeadAttention, Tensor, Tensor, Mask | None]:
    """The attention module, the states that ask and the states that are looked at."""
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


def render(worked: Worked, word: str | None) -> str:
    """The worked example as a page of text."""
    row, d_k = _row_of(worked, word), worked.q.shape[1]
    queries, keys = worked.queries, worked.keys
    root = f"{math.sqrt(d_k):.3g}"
    parts = [
        f"Attention(Q, K, V) = softmax(QKᵀ/√d_k) V, equation 1\n{worked.title}, d_k = {d_k}",
        _vectors("1. x, what this layer reads", queries, worked.x),
        _vectors("2. Q = xW^Q + b, a query for every token", queries, worked.q),
        _vectors("3. K = xW^K + b, a key for every token", keys, worked.k),
        _vectors("4. V = xW^V + b, a value for every token", keys, worked.v),
        _matrix(
            f"5. QKᵀ/√d_k = QKᵀ/{root}, how well each query fits each key",
            queries,
            keys,
            worked.scores,
        ),
    ]
    if worked.visible.all():
        parts.append("6. mask: nothing to hide, every token may look at every other")
    else:
        hidden = worked.scores.masked_fill(~worked.visible, -math.inf)
        parts.append(_matrix("6. mask: the future becomes −∞", queries, keys, hidden))
    weights = worked.weights.masked_fill(~worked.visible, math.nan)
    parts += [
        _matrix("7. softmax, in %: each row sums to 100", queries, keys, 100 * weights, 1),
        _vectors("8. softmax(QKᵀ/√d_k) V, this head's output", queries, worked.output),
        _by_hand(worked, row),
        _looks(worked, row),
    ]
    return "\n\n".join(parts)


def _row_of(worked: Worked, word: str | None) -> int:
    if word is None:
        return len(worked.queries) - 1
    if word not in worked.queries:
        raise InputError(f"--from {word}: not one of the tokens {' '.join(worked.queries)}")
    return worked.queries.index(word)


def _by_hand(worked: Worked, i: int) -> str:
    """One row of every step with each product and sum written out."""
    j = int(worked.weights[i].argmax())
    d_k = worked.q.shape[1]
    query, key = worked.queries[i], worked.keys[j]
    dot, score, weight = (float(m[i, j]) for m in (worked.dots, worked.scores, worked.weights))
    seen = worked.visible[i].nonzero().flatten()
    powers = worked.scores[i, seen].exp()
    total = float(powers.sum())
    steps = [
        f"q({query})[1] = x({query}) · W^Q[·,1] + b[1] = "
        f"{_sum_of_products(worked.x[i], worked.w_q[:, 0])} + {_number(float(worked.b_q[0]))}"
        f" = {_number(float(worked.q[i, 0]))}",
        f"q({query}) · k({key}) = {_sum_of_products(worked.q[i], worked.k[j])} = {_number(dot)}",
        f"divided by √{d_k}: {_number(dot)} / {math.sqrt(d_k):.3f} = {_number(score)}",
        f"softmax: exp({_number(score)}) / ({_sum(powers)}) = "
        f"{_number(math.exp(score))} / {_number(total)} = {_number(weight)}",
        f"output({query})[1] = Σ weight × v[1] = "
        f"{_sum_of_products(worked.weights[i, seen], worked.v[seen, 0])}"
        f" = {_number(float(worked.output[i, 0]))}",
    ]
    wrapped = [
        textwrap.fill(step, PAGE, initial_indent="   ", subsequent_indent="        ")
        for step in steps
    ]
    return "\n".join([f'9. By hand: "{query}" looks most at "{key}"', *wrapped])


def _looks(worked: Worked, i: int) -> str:
    """Where one token looks, as bars."""
    weights = worked.weights[i]
    most = weights.argsort(descending=True, stable=True)[:MOST_SEEN].tolist()
    margin = max(len(worked.keys[j]) for j in most) + 5
    lines = [
        f"{worked.keys[j].rjust(margin)} {100 * float(weights[j]):5.1f} % "
        + "█" * round(BAR * float(weights[j]))
        for j in most
    ]
    return "\n".join([f'10. Where "{worked.queries[i]}" looks', *map(str.rstrip, lines)])


def _sum(terms: Float[Tensor, " n"]) -> str:
    shown = [_number(term) for term in terms[:LONGEST_SUM].tolist()]
    return " + ".join(shown) + (" + …" if len(terms) > LONGEST_SUM else "")


def _sum_of_products(a: Float[Tensor, " n"], b: Float[Tensor, " n"]) -> str:
    pairs = zip(a[:LONGEST_SUM].tolist(), b[:LONGEST_SUM].tolist(), strict=True)
    shown = [f"{_number(x)}×{_number(y)}" for x, y in pairs]
    return " + ".join(shown) + (" + …" if len(a) > LONGEST_SUM else "")


def _vectors(title: str, rows: Sequence[str], values: Float[Tensor, "row width"]) -> str:
    """A matrix whose columns have no names; a wide one is cut."""
    width = values.shape[1]
    if width > WIDEST:
        title += f" (the first {WIDEST} of {width} numbers)"
    names = [f"[{i}]" for i in range(1, min(width, WIDEST) + 1)]
    return _matrix(title, rows, names, values[:, :WIDEST])


def _matrix(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Float[Tensor, "row column"],
    digits: int = 3,
) -> str:
    """A matrix as text; one wider than the page continues below."""
    margin = max(len(name) for name in rows) + 2
    cell = max(7, *(len(name) + 1 for name in columns))
    block = max(1, (PAGE - margin) // cell)
    lines = [title]
    for start in range(0, len(columns), block):
        part = slice(start, start + block)
        if start:
            lines.append("")
        lines.append(" " * margin + "".join(name.rjust(cell) for name in columns[part]))
        for name, numbers in zip(rows, values[:, part].tolist(), strict=True):
            lines.append(
                name.rjust(margin) + "".join(_number(x, digits).rjust(cell) for x in numbers)
            )
    return "\n".join(lines)


def _number(x: float, digits: int = 3) -> str:
    if math.isnan(x):
        return "·"
    return "−∞" if x == -math.inf else f"{x:.{digits}f}".replace("-", "−")
