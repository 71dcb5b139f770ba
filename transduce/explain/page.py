"""The worked example as a page of text."""

import math
import textwrap
from collections.abc import Sequence
from itertools import combinations

import torch
from jaxtyping import Float
from torch import Tensor

from transduce.errors import InputError
from transduce.explain.worked import EOS, Worked
from transduce.table import render_table, terminal_width

WIDEST_PAGE = 100  # columns of text, in a wider terminal too
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


def page_width() -> int:
    return min(WIDEST_PAGE, terminal_width())


def render(worked: Worked, word: str | None) -> str:
    """The worked example as a page of text."""
    span, d_k = span_of(worked.queries, word), worked.q.shape[1]
    row = span[-1]
    queries, keys = worked.queries, worked.keys
    formula, name = FORMULAS[worked.attention]
    fit = formula.removeprefix("softmax(").removesuffix(") V")
    if worked.attention == "scaled":
        fit += f" = QKᵀ/{math.sqrt(d_k):.3g}"
    b = "" if worked.b_q is None else " + b"
    y, of = ("m", " of the source") if worked.memory is not None else ("x", "")
    norm = " (after LayerNorm: pre-norm)" if worked.pre_norm else ""
    inputs = f"x, the input of this layer{norm}"
    if worked.memory is not None:
        inputs = f"x, the state of the decoder in this layer{norm}: the queries come from it"
    hidden = worked.scores.masked_fill(~worked.visible, -math.inf)
    weights = worked.weights.masked_fill(~worked.visible, math.nan)
    mask = _why_hidden(worked)
    parts = [
        f"Attention(Q, K, V) = {formula}{name}\n{worked.title}, d_k = {d_k}",
        _vectors(f"1. {inputs}", queries, worked.x),
        *_memory(worked),
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
        _meaning(worked, span),
    ]
    return "\n\n".join(parts)


def _memory(worked: Worked) -> list[str]:
    """What keys and values are computed from, where it is not what the queries are."""
    if worked.memory is None:
        return []
    title = "   m, the output of the encoder: the keys and values come from it"
    return [_vectors(title, worked.keys, worked.memory)]


def _why_hidden(worked: Worked) -> str:
    """Which keys the mask hides; empty if it hides none."""
    if worked.visible.all():
        return ""
    reasons = ["after the query"] if worked.kind == "decoder" else []
    if worked.neighbourhood is not None:
        reach = worked.neighbourhood // 2
        reasons.append(f"more than {reach} position{'' if reach == 1 else 's'} away")
    return " or ".join(reasons)


def span_of(tokens: Sequence[str], word: str | None) -> range:
    """The tokens of a word; without a word, the last token."""
    if word is None:
        return range(len(tokens) - 1, len(tokens))
    if word in tokens:
        return range(tokens.index(word), tokens.index(word) + 1)
    texts = ["" if token == "▁" else token.removeprefix("-") for token in tokens]
    for first, last in combinations(range(len(tokens) + 1), 2):
        if "".join(texts[first:last]) == word and texts[first]:
            return range(first, last)
    raise InputError(f"--from {word}: not one of the tokens {' '.join(tokens)}")


def _meaning(worked: Worked, span: range) -> str:
    """What the weights of the row are used for."""
    row, several = span[-1], ""
    query = short(worked.queries[row])
    if len(span) > 1:
        tokens = " ".join(worked.queries[i] for i in span)
        several = f"The word is {len(span)} tokens, {tokens}; this is the row of the last. "
    if worked.kind == "encoder":
        use = f'The weights are the shares of these tokens\' values in the new vector of "{query}".'
    else:
        following = worked.queries[row + 1] if row + 1 < len(worked.queries) else EOS
        use = (
            f'Having read "{query}", the decoder predicts the next token, "{short(following)}": '
            f'it looks at these tokens to write "{short(following)}", not to write "{query}".'
        )
    return wrapped(several + use, "    ", "    ")


def wrapped(text: str, first: str = "", rest: str = "   ") -> str:
    return textwrap.fill(
        text,
        page_width(),
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _by_hand(worked: Worked, i: int) -> str:
    """One row of every step with each product and sum written out."""
    j = int(worked.weights[i].argmax())
    query, key = short(worked.queries[i]), short(worked.keys[j])
    seen = worked.visible[i].nonzero().flatten()
    name, bias = ("", "") if worked.b_q is None else (" + b[1]", f" + {number(worked.b_q[0])}")
    steps = [
        f"q({query})[1] = x({query}) · W^Q[·,1]{name} = "
        f"{_products(worked.x[i], worked.w_q[:, 0])}{bias} = {number(worked.q[i, 0])}",
        *_score_by_hand(worked, i, j, f"q({query})", f"k({key})"),
        _softmax_by_hand(worked.scores[i, seen], worked.scores[i, j], worked.weights[i, j]),
        f"output({query})[1] = Σ weight × v[1] = "
        f"{_products(worked.weights[i, seen], worked.v[seen, 0])} = {number(worked.output[i, 0])}",
    ]
    title = wrapped(f'9. By hand: the largest weight of "{query}" is that of "{key}"')
    return "\n".join([title, *(wrapped(step, "   ", "        ") for step in steps)])


def _score_by_hand(worked: Worked, i: int, j: int, q: str, k: str) -> list[str]:
    score = number(worked.scores[i, j])
    if worked.w is not None:
        terms = zip(*(v.tolist() for v in (worked.w, worked.q[i], worked.k[j])), strict=True)
        shown = [f"{number(w)}×tanh({number(a)} + {number(b)})" for w, a, b in terms]
        values = worked.w * torch.tanh(worked.q[i] + worked.k[j])
        return [f"w · tanh({q} + {k}) = {_sum(shown, values)} = {score}"]
    assert worked.dots is not None
    dot, d_k = number(worked.dots[i, j]), worked.q.shape[1]
    lines = [f"{q} · {k} = {_products(worked.q[i], worked.k[j])} = {dot}"]
    if worked.attention == "scaled":
        lines.append(f"divided by √d_k = {dot} / √{d_k} = {dot} / {math.sqrt(d_k):.3f} = {score}")
    return lines


def _softmax_by_hand(scores: Float[Tensor, " n"], score: Tensor, weight: Tensor) -> str:
    """exp(score) / Σ exp; the largest score is subtracted where exp would be huge or vanish."""
    largest = float(scores.max())
    plain = PLAIN_EXP[0] <= largest <= PLAIN_EXP[1]
    powers = (scores - (0.0 if plain else largest)).exp()
    name = "softmax" if plain else f"softmax, with the largest score {number(largest)} subtracted"
    power = number(score) if plain else f"{number(score)} − {number(largest)}"
    terms = _sum([number(p) for p in powers.tolist()], powers)
    quotient = f"{number(powers.max())} / {number(powers.sum())}"
    return f"{name} = exp({power}) / ({terms}) = {quotient} = {number(weight)}"


def _bars(worked: Worked, i: int) -> str:
    """The largest weights of one query, as bars."""
    weights = worked.weights[i]
    most = weights.argsort(descending=True, stable=True)[:MOST_BARS].tolist()
    margin = max(len(short(worked.keys[j])) for j in most) + 5
    lines = [
        f"{short(worked.keys[j]).rjust(margin)} {100 * float(weights[j]):5.1f} % "
        + "█" * round(BAR * float(weights[j]))
        for j in most
    ]
    title = f'10. The largest weights of "{short(worked.queries[i])}"'
    return "\n".join([title, *map(str.rstrip, lines)])


def _sum(terms: Sequence[str], values: Float[Tensor, " n"]) -> str:
    """The first terms, and the sum of the others."""
    rest = len(terms) - LONGEST_SUM
    shown = " + ".join(terms[:LONGEST_SUM])
    if rest <= 0:
        return shown
    return f"{shown} + {number(values[LONGEST_SUM:].sum())} ({rest} more terms)"


def _products(a: Float[Tensor, " n"], b: Float[Tensor, " n"]) -> str:
    pairs = zip(a.tolist(), b.tolist(), strict=True)
    return _sum([f"{number(x)}×{number(y)}" for x, y in pairs], a * b)


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
    cells = [[number(x, digits) for x in row] for row in values.tolist()]
    names, headings = [short(row) for row in rows], [short(column) for column in columns]
    widest = max(len(cell) for row in [headings, *cells] for cell in row) + 2
    width = page_width()
    block = max(1, (width - max(map(len, names)) - 2) // widest)
    parts = []
    for start in range(0, len(columns), block):
        part = slice(start, start + block)
        table = [[name, *row[part]] for name, row in zip(names, cells, strict=True)]
        shown = ["", *headings[part]]
        parts.append(render_table("", shown, ">" * len(shown), table, width))
    return f"{wrapped(title)}\n" + "\n\n".join(parts)


def short(token: str) -> str:
    return token if len(token) <= LONGEST_NAME else token[: LONGEST_NAME - 1] + "…"


def number(x: float | Tensor, digits: int = 3) -> str:
    x = float(x)
    if math.isnan(x):
        return "·"
    return "−∞" if x == -math.inf else f"{x:.{digits}f}".replace("-", "−")
