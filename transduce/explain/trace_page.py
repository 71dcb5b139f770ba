"""The way of a token through the network as a page of text."""

from collections.abc import Iterator, Sequence

from jaxtyping import Float
from torch import Tensor

from transduce.explain.page import number, page_width, short, wrapped
from transduce.explain.trace import Half, Norm, Product, Step, Trace
from transduce.table import render_table

SHOWN = 6  # numbers of a vector
TERMS = 4  # of a sum, the largest
BAR = 40  # columns of a bar of 100 %
NO_BREAK = "\N{NO-BREAK SPACE}"
ACTIVATION = {"relu": "max(0, {})", "gelu": "GELU({})", "silu": "SiLU({})"}

Rows = Sequence[tuple[str, Float[Tensor, " _"]]]


def render_trace(traced: Trace) -> str:
    """The whole way, a part for each sub-layer."""
    source, target = traced.encoder, traced.decoder
    width = len(source.x)
    opening = (
        f'The way of "{short(source.token)}" through the encoder, and then of '
        f'"{short(target.token)}" through the decoder, to the next token. Of each vector of '
        f"{width} numbers the first {min(width, SHOWN)} are shown; of a long sum, the {TERMS} "
        "largest terms. `--layer` and `--head` instead of `--all` show one head in full."
    )
    parts = [opening, *_half(source), *_half(target), *_softmax(traced)]
    numbered = [f"{i}. {part}" for i, part in enumerate(parts[1:], 1)]
    return "\n\n".join([wrapped(opening, rest=""), *numbered])


def _half(half: Half) -> Iterator[str]:
    reads = "source" if half.stack == "encoder" else "target"
    title = f'Embedding of the {reads} token "{short(half.token)}" at position {half.position}'
    scale = number(half.scale)
    yield _columns(
        title,
        [
            ("E", half.embedding),
            (f"× √d_model = {scale}" if half.scale != 1 else "× 1: not scaled", None),
            (f"+ PE({half.position})", half.encoding),
            ("= x", half.x),
        ],
    )
    for step in half.steps:
        yield _step(step)
    if half.norm:
        rows = [("x", half.norm.x), *_norm_rows("x", half.norm), ("= x", half.norm.output)]
        title = f"The final LayerNorm of the {half.stack} (pre-norm)"
        yield _columns(title, rows) + "\n" + _moments("x", half.norm)


def _step(step: Step) -> str:
    if step.pre_norm:
        name = "LayerNorm(x)"
        before = [("x", step.x), *_norm_rows("x", step.norm), (f"= {name}", step.norm.output)]
        after = [("x", step.x), ("+ output", step.output), ("= x", step.result)]
        tables = [_columns(step.title, before), _moments("x", step.norm)]
        return "\n".join([*tables, *_sublayer(step), _columns("", after)])
    rows = [
        ("x", step.x),
        ("+ output", step.output),
        ("= s", step.norm.x),
        *_norm_rows("s", step.norm),
        ("= x", step.result),
    ]
    return "\n".join([step.title, *_sublayer(step), _columns("", rows), _moments("s", step.norm)])


def _norm_rows(name: str, norm: Norm) -> Rows:
    return [
        (f"({name} − μ)/√(σ² + ε)", norm.normalised),
        ("× γ", norm.gamma),
        ("+ β", norm.beta),
    ]


def _moments(name: str, norm: Norm) -> str:
    eps = f"{norm.eps:.9f}".rstrip("0")
    text = f"μ = {number(norm.mean)}, σ² = {number(norm.variance)}: mean and variance of {name}'s"
    return wrapped(f"{text} {len(norm.x)} numbers; ε = {eps}", "   ", "   ")


def _sublayer(step: Step) -> Iterator[str]:
    """What the sub-layer computes."""
    if step.attended:
        heads = [
            NO_BREAK.join((f"{i}", short(key), f"{100 * weight:.0f}", "%"))
            for i, (key, weight) in enumerate(step.attended, 1)
        ]
        text = wrapped(f"each head's largest weight: {', '.join(heads)}", "   ", "        ")
        yield text.replace(NO_BREAK, " ")
    yield from (_sum(product) for product in step.products)


def _sum(product: Product, token: str = "") -> str:
    """A sum of products, written out; the token takes the place of a dot."""
    form = ACTIVATION.get(product.function, "{}")
    left, right = (text.replace("(·)", f"({token})") for text in (product.name, product.formula))
    sides = [left, form.format(right), form.format(terms(product))]
    return wrapped(" = ".join([*sides, number(product.value)]), "   ", "        ")


def terms(product: Product) -> str:
    """The largest terms of a sum of products, the sum of the others, and the bias."""
    values = product.a * product.b
    largest = sorted(values.abs().topk(min(TERMS, len(values))).indices.tolist())
    shown = [f"{number(product.a[i])}×{number(product.b[i])}" for i in largest]
    others = len(values) - len(largest)
    if others:
        rest = values.sum() - values[largest].sum()
        shown.append(f"{number(rest)} ({others} more term{'s' if others > 1 else ''})")
    if product.bias is not None:
        shown.append(number(product.bias))
    return " + ".join(shown)


def _softmax(traced: Trace) -> Iterator[str]:
    lines = [_sum(one.logit, short(one.token)) for one in traced.likeliest]
    yield "\n".join(
        [f"Logits of the {len(lines)} likeliest of {traced.vocabulary:,} tokens", *lines]
    )
    largest, total = number(traced.largest), number(traced.total)
    sums = [
        f"P({short(one.token)}) = exp({number(one.logit.value)} − {largest}) / {total} = "
        f"{number(one.probability)}"
        for one in traced.likeliest
    ]
    title = f"Softmax: exp(logit − {largest}), divided by its sum over the vocabulary, {total}"
    yield "\n".join([wrapped(title), *(wrapped(line, "   ", "        ") for line in sums)])
    margin = max(len(short(one.token)) for one in traced.likeliest) + 5
    bars = [
        f"{short(one.token).rjust(margin)} {100 * one.probability:5.1f} % "
        + "█" * round(BAR * one.probability)
        for one in traced.likeliest
    ]
    title = f'The likeliest tokens after "{short(traced.decoder.token)}"'
    yield "\n".join([title, *map(str.rstrip, bars)])


def _columns(title: str, rows: Sequence[tuple[str, Float[Tensor, " _"] | None]]) -> str:
    """Arithmetic in columns: each column is a number of the vector."""
    shown = min(SHOWN, max(len(values) for _, values in rows if values is not None))
    cells = [
        [label, *([""] * shown if values is None else map(number, values[:shown].tolist()))]
        for label, values in rows
    ]
    headings = ["", *(f"[{i}]" for i in range(1, shown + 1))]
    table = render_table("", headings, "<" + ">" * shown, cells, page_width())
    return f"{wrapped(title)}\n{table}" if title else table
