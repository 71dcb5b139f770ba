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

from transduce.config import ModelConfig
from transduce.directory import ModelDirectory
from transduce.engines.torch_engine import TorchEngine
from transduce.errors import InputError
from transduce.model import Transformer, require_transformer
from transduce.model.attention import Mask, MultiHeadAttention, causal_mask, local_mask
from transduce.table import render_table

BOS, EOS = "<s>", "</s>"
PAGE = 100  # columns of text
MOST_TOKENS = 256  # of a sentence
LONGEST_NAME = 20  # letters of a token that are printed
WIDEST = 8  # numbers shown of a vector
LONGEST_SUM = 16  # terms written out
MOST_BARS = 6
BAR = 40  # columns of a bar of 100 %
PLAIN_EXP = (-2.0, 10.0)  # outside it the largest score is subtracted before exp

FORMULAS = {
    "scaled": ("softmax(QKᵀ/√d_k) V", ", equation 1"),
    "unscaled": ("softmax(QKᵀ) V", ", equation 1 without its scale"),
    "additive": ("softmax(w · tanh(q + k)) V", ", additive attention, §3.2.1"),
}


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
    attention: str  # scaled, unscaled or additive
    neighbourhood: int | None  # of restricted self-attention
    pre_norm: bool
    kind: str  # encoder, decoder or cross
    queries: list[str]
    keys: list[str]
    x: Float[Tensor, "query d_model"]  # what the queries are computed from
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
    )


def of_model(directory: Path, text: str, target: str | None) -> Example:
    """A trained model reading a sentence and a translation: its own, if none is given."""
    opened = ModelDirectory.open(directory)
    model, tokenizer = require_transformer(opened.network(), "explain"), opened.tokenizer
    source = tokenizer.encode(text)
    _check_size(len(source))
    if target is None:
        ((best, *_),) = TorchEngine(model).search([source])
        written = list(best.tokens)
    else:
        (written,) = tokenizer.encode_targets([target])
    _check_size(len(source), len(written))
    config = model.config
    return Example(
        model,
        [*_pieces(tokenizer.vocabulary, source), EOS],
        [BOS, *_pieces(tokenizer.target_vocabulary, written)],
        torch.tensor([[*source, config.eos_id]]),
        torch.tensor([[config.bos_id, *written]]),
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


def render(worked: Worked, word: str | None) -> str:
    """The worked example as a page of text."""
    row, d_k = _row_of(worked, word), worked.q.shape[1]
    queries, keys = worked.queries, worked.keys
    formula, name = FORMULAS[worked.attention]
    fit = formula.removeprefix("softmax(").removesuffix(") V")
    if worked.attention == "scaled":
        fit += f" = QKᵀ/{math.sqrt(d_k):.3g}"
    b = "" if worked.b_q is None else " + b"
    y, of = ("m", " of m, the encoder's output") if worked.kind == "cross" else ("x", "")
    norm = " (after LayerNorm: pre-norm)" if worked.pre_norm else ""
    hidden = worked.scores.masked_fill(~worked.visible, -math.inf)
    weights = worked.weights.masked_fill(~worked.visible, math.nan)
    mask = _why_hidden(worked)
    parts = [
        f"Attention(Q, K, V) = {formula}{name}\n{worked.title}, d_k = {d_k}",
        _vectors(f"1. x, the input of this layer{norm}", queries, worked.x),
        _vectors(f"2. Q = xW^Q{b}, a query for every token", queries, worked.q),
        _vectors(f"3. K = {y}W^K{b}, a key for every token{of}", keys, worked.k),
        _vectors(f"4. V = {y}W^V{b}, a value for every token{of}", keys, worked.v),
        _matrix(f"5. {fit}, the score of each query and key", queries, keys, worked.scores),
        _matrix(f"6. mask: −∞ for keys {mask}", queries, keys, hidden)
        if mask
        else "6. mask: none, every query sees every key",
        _matrix("7. softmax, in %: each row sums to 100", queries, keys, 100 * weights, 1),
        _vectors(f"8. {formula}, this head's output", queries, worked.output),
        _by_hand(worked, row),
        _bars(worked, row),
    ]
    return "\n\n".join(parts)


def _why_hidden(worked: Worked) -> str:
    """Which keys the mask hides; empty if it hides none."""
    near = "" if worked.neighbourhood is None else _positions(worked.neighbourhood // 2)
    causal = "after the query" if worked.kind == "decoder" else ""
    return " or ".join(filter(None, (causal, near))) if not worked.visible.all() else ""


def _positions(count: int) -> str:
    return f"more than {count} position{'' if count == 1 else 's'} away"


def _row_of(worked: Worked, word: str | None) -> int:
    if word is None:
        return len(worked.queries) - 1
    if word not in worked.queries:
        raise InputError(f"--from {word}: not one of the tokens {' '.join(worked.queries)}")
    return worked.queries.index(word)


def _by_hand(worked: Worked, i: int) -> str:
    """One row of every step with each product and sum written out."""
    j = int(worked.weights[i].argmax())
    query, key = _name(worked.queries[i]), _name(worked.keys[j])
    seen = worked.visible[i].nonzero().flatten()
    name, bias = ("", "") if worked.b_q is None else (" + b[1]", f" + {_number(worked.b_q[0])}")
    steps = [
        f"q({query})[1] = x({query}) · W^Q[·,1]{name} = "
        f"{_products(worked.x[i], worked.w_q[:, 0])}{bias} = {_number(worked.q[i, 0])}",
        *_score_by_hand(worked, i, j, f"q({query})", f"k({key})"),
        _softmax_by_hand(worked.scores[i, seen], worked.scores[i, j], worked.weights[i, j]),
        f"output({query})[1] = Σ weight × v[1] = "
        f"{_products(worked.weights[i, seen], worked.v[seen, 0])} = {_number(worked.output[i, 0])}",
    ]
    wrapped = [
        textwrap.fill(step, PAGE, initial_indent="   ", subsequent_indent="        ")
        for step in steps
    ]
    return "\n".join([f'9. By hand: the largest weight of "{query}" is that of "{key}"', *wrapped])


def _score_by_hand(worked: Worked, i: int, j: int, q: str, k: str) -> list[str]:
    score = _number(worked.scores[i, j])
    if worked.w is not None:
        terms = zip(*(v.tolist() for v in (worked.w, worked.q[i], worked.k[j])), strict=True)
        shown = [f"{_number(w)}×tanh({_number(a)} + {_number(b)})" for w, a, b in terms]
        values = worked.w * torch.tanh(worked.q[i] + worked.k[j])
        return [f"w · tanh({q} + {k}) = {_sum(shown, values)} = {score}"]
    assert worked.dots is not None
    dot, d_k = _number(worked.dots[i, j]), worked.q.shape[1]
    lines = [f"{q} · {k} = {_products(worked.q[i], worked.k[j])} = {dot}"]
    if worked.attention == "scaled":
        lines.append(f"divided by √d_k = {dot} / √{d_k} = {dot} / {math.sqrt(d_k):.3f} = {score}")
    return lines


def _softmax_by_hand(scores: Float[Tensor, " n"], score: Tensor, weight: Tensor) -> str:
    """exp(score) / Σ exp; the largest score is subtracted where exp would be huge or vanish."""
    largest = float(scores.max())
    plain = PLAIN_EXP[0] <= largest <= PLAIN_EXP[1]
    powers = (scores - (0.0 if plain else largest)).exp()
    name = "softmax" if plain else f"softmax, with the largest score {_number(largest)} subtracted"
    power = _number(score) if plain else f"{_number(score)} − {_number(largest)}"
    terms = _sum([_number(p) for p in powers.tolist()], powers)
    quotient = f"{_number(powers.max())} / {_number(powers.sum())}"
    return f"{name} = exp({power}) / ({terms}) = {quotient} = {_number(weight)}"


def _bars(worked: Worked, i: int) -> str:
    """The largest weights of one query, as bars."""
    weights = worked.weights[i]
    most = weights.argsort(descending=True, stable=True)[:MOST_BARS].tolist()
    margin = max(len(_name(worked.keys[j])) for j in most) + 5
    lines = [
        f"{_name(worked.keys[j]).rjust(margin)} {100 * float(weights[j]):5.1f} % "
        + "█" * round(BAR * float(weights[j]))
        for j in most
    ]
    title = f'10. The largest weights of "{_name(worked.queries[i])}"'
    return "\n".join([title, *map(str.rstrip, lines)])


def _sum(terms: Sequence[str], values: Float[Tensor, " n"]) -> str:
    """The first terms, and the sum of the others."""
    rest = len(terms) - LONGEST_SUM
    shown = " + ".join(terms[:LONGEST_SUM])
    if rest <= 0:
        return shown
    return f"{shown} + {_number(values[LONGEST_SUM:].sum())} ({rest} more terms)"


def _products(a: Float[Tensor, " n"], b: Float[Tensor, " n"]) -> str:
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    return _sum([f"{_number(x)}×{_number(y)}" for x, y in pairs], a * b)


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
    cells = [[_number(x, digits) for x in row] for row in values.tolist()]
    names, headings = [_name(row) for row in rows], [_name(column) for column in columns]
    widest = max(len(cell) for row in [headings, *cells] for cell in row) + 2
    block = max(1, (PAGE - max(map(len, names)) - 2) // widest)
    parts = []
    for start in range(0, len(columns), block):
        part = slice(start, start + block)
        table = [[name, *row[part]] for name, row in zip(names, cells, strict=True)]
        shown = ["", *headings[part]]
        parts.append(render_table("", shown, ">" * len(shown), table, PAGE))
    return f"{title}\n" + "\n\n".join(parts)


def _name(token: str) -> str:
    return token if len(token) <= LONGEST_NAME else token[: LONGEST_NAME - 1] + "…"


def _number(x: float | Tensor, digits: int = 3) -> str:
    x = float(x)
    if math.isnan(x):
        return "·"
    return "−∞" if x == -math.inf else f"{x:.{digits}f}".replace("-", "−")
