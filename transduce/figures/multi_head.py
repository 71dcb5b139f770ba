"""Figure 2: attention and multi-head attention with the shapes of a configuration."""

from dataclasses import dataclass
from pathlib import Path

import torch
from matplotlib.figure import Figure

from transduce.config import ModelConfig
from transduce.figures.architecture import (
    DETAIL,
    EDGE,
    FILL,
    LABEL,
    MARGIN,
    TITLE,
    box_height,
    box_width,
    lines_of,
    preset_name,
)
from transduce.figures.description import Block
from transduce.figures.page import FAINT, Line, Page, height, width
from transduce.figures.picture import write
from transduce.model import count_parameters
from transduce.model.attention import MultiHeadAttention

STEP = 18.0  # from a box to the next, with room for a shape beside the arrow
BETWEEN, BESIDE = 46.0, 9.0  # between the two diagrams, between boxes side by side
COPY = 4.0  # how far each copy of a box is moved
COPIES = 3  # boxes shown for many heads


@dataclass(frozen=True)
class Diagrams:
    """The boxes of both diagrams, from bottom to top, and the shape that leaves each."""

    title: str
    scores: tuple[tuple[Block, str], ...]  # from queries and keys to weights
    values: tuple[Block, str]  # weights times values
    heads: int
    d_k: int
    d_v: int
    d_model: int
    projections: tuple[Block, ...]  # of V, K and Q
    attention: Block
    ends: tuple[tuple[Block, str], ...]  # concatenation, Wᴼ
    parameters: int


def draw_figure2(config: ModelConfig, output: Path) -> None:
    """Writes the figure as SVG, PNG or PDF, by the suffix of the file."""
    with torch.device("meta"):
        module = MultiHeadAttention(config, config.neighbourhood)
    name = preset_name(config)
    title = f"Attention in the Transformer {name}" if name else "Attention in the Transformer"
    write(lambda: figure(describe_attention(module), title), title, output)


def describe_attention(module: MultiHeadAttention) -> Diagrams:
    """Both diagrams, from the module."""
    d_model, heads = module.qkv.in_features, module.n_heads
    d_k, d_v = module.d_k, module.d_v
    product = Block("matmul", ("MatMul",), ("QKᵀ",)), "n × m"
    if module.kind == "additive":
        product = Block("matmul", ("Add, tanh",), ("tanh(q + k)",)), f"n × m × {d_k:,}"
    steps = [product]
    if module.kind == "additive":
        steps.append((Block("matmul", ("MatMul",), (f"w, {d_k:,} → 1",)), "n × m"))
    elif module.kind == "scaled":
        steps.append((Block("scale", ("Scale",), (f"1/√{d_k:,} = {d_k**-0.5:.4g}",)), "n × m"))
    hidden = ["padding, later tokens"]
    if module.neighbourhood is not None:
        hidden.append(f"more than {module.neighbourhood // 2} away")
    steps.append((Block("mask", ("Mask (opt.)",), tuple(hidden)), "n × m"))
    rate = (f"dropout {module.dropout.p:g}",) if module.dropout.p else ()
    steps.append((Block("softmax", ("SoftMax",), ("each row sums to 1", *rate)), "n × m"))
    names = {"scaled": "Scaled Dot-Product", "unscaled": "Dot-Product", "additive": "Additive"}
    each = dict(zip("QKV", module.qkv.widths, strict=True))
    bias = 0 if module.qkv.bias is None else 1
    of_output = count_parameters(module.output)
    return Diagrams(
        title=f"{names[module.kind]} Attention",
        scores=tuple(steps),
        values=(Block("matmul", ("MatMul",), ("weights × V",)), f"n × {d_v:,}"),
        heads=heads,
        d_k=d_k,
        d_v=d_v,
        d_model=d_model,
        projections=tuple(
            Block(
                "linear",
                ("Linear",),
                (f"{d_model:,} → {heads} × {each[letter] // heads:,}",),
                each[letter] * (d_model + bias),
            )
            for letter in "VKQ"
        ),
        attention=Block("attention", (f"{names[module.kind]} Attention",), tuple(_own(module))),
        ends=(
            (Block("concat", ("Concat",), (f"{heads} × {d_v:,}",)), f"n × {heads * d_v:,}"),
            (
                Block("linear", ("Linear",), (f"{heads * d_v:,} → {d_model:,}",), of_output),
                f"n × {d_model:,}",
            ),
        ),
        parameters=count_parameters(module),
    )


def _own(module: MultiHeadAttention) -> list[str]:
    """Parameters of the scores, which only additive attention has."""
    return [f"w: {module.w.numel():,}"] if module.kind == "additive" else []


def figure(drawn: Diagrams, title: str) -> Figure:
    """Figure 2, at its natural size."""
    heads = f"{drawn.heads} head{'s' if drawn.heads > 1 else ''}"
    legend = [
        Line(title, TITLE, bold=True),
        Line(f"{drawn.parameters:,} parameters in a block of {heads}", LABEL),
        Line("n queries, m keys and values; in self-attention m = n", DETAIL, FAINT),
    ]
    half = max(box_width(block) for block, _ in [*drawn.scores, drawn.values]) / 2
    one = max(box_width(block) for block in drawn.projections)
    extra = COPY * (min(drawn.heads, COPIES) - 1)
    whole = 3 * one + 2 * (BESIDE + extra)
    shape = Line(f"n × m × {drawn.d_k:,}", DETAIL).width + 6
    left = MARGIN + half
    at_values = left + half + max(shape, 34.0)
    first = at_values + 20 + BETWEEN
    aside = width(_sign(drawn.heads)) + 8
    page = Page(max(first + whole + extra + aside, MARGIN + width(legend)) + MARGIN)
    floor = MARGIN + height(_named("Q", ""))
    top = max(
        _scores(page, drawn, left, half, at_values, floor),
        _multi_head(page, drawn, first, one, extra, floor),
    )
    for text, x in (
        (drawn.title, (left - half + at_values + 20) / 2),
        ("Multi-Head Attention", first + whole / 2),
    ):
        page.text((x, top + 14), Line(text, LABEL, bold=True))
    top += 34 + height(legend)
    page.lines((MARGIN, top), legend, "left")
    return page.finish(top + MARGIN)


def _sign(heads: int) -> list[Line]:
    return [Line(f"{heads}×", 12.0), Line("heads" if heads > 1 else "head", DETAIL, FAINT)]


def _named(name: str, shape: str) -> list[Line]:
    return [Line(name, LABEL), Line(shape, DETAIL, FAINT)]


def _scores(
    page: Page, drawn: Diagrams, x: float, half: float, at_values: float, floor: float
) -> float:
    """The left diagram, up from its queries, keys and values; returns its height."""
    inputs = {"Q": (x - half / 2, f"n × {drawn.d_k:,}"), "K": (x + half / 2, f"m × {drawn.d_k:,}")}
    for name, (at, shape) in inputs.items():
        page.lines((at, floor), _named(name, shape))
        page.wire([(at, floor), (at, floor + STEP)])
    page.lines((at_values, floor), _named("V", f"m × {drawn.d_v:,}"))
    y = floor + STEP
    for block, shape in drawn.scores:
        y = _box(page, x - half, y, 2 * half, block)
        y = _leave(page, x, y, shape)
    page.wire([(at_values, floor), (at_values, y)])
    block, shape = drawn.values
    right = at_values + 20
    y = _box(page, x - half, y, right - x + half, block)
    return _leave(page, (x - half + right) / 2, y, shape)


def _multi_head(
    page: Page, drawn: Diagrams, left: float, one: float, extra: float, floor: float
) -> float:
    """The right diagram; boxes that each head has are drawn as copies behind each other."""
    whole = 3 * one + 2 * (BESIDE + extra)
    middle = left + whole / 2
    y = floor + STEP
    tall = max(box_height(block) for block in drawn.projections)
    above = y + tall + extra + STEP
    for i, (letter, block) in enumerate(zip("VKQ", drawn.projections, strict=True)):
        corner = left + i * (one + BESIDE + extra)
        x = corner + one / 2
        rows, d = ("n", drawn.d_k) if letter == "Q" else ("m", drawn.d_k)
        d = drawn.d_v if letter == "V" else d
        page.lines((x, floor), _named(letter, f"{rows} × {drawn.d_model:,}"))
        page.wire([(x, floor), (x, y)])
        page.wire([(x, y + tall), (x, above)])
        page.text((x + 5, above - STEP / 2), Line(f"{rows} × {d:,}", DETAIL, FAINT), "left")
        _box(page, corner, y, one, block, extra)
    y = _box(page, left, above, whole, drawn.attention, extra, tall=30.0)
    sign = _sign(drawn.heads)
    page.lines((left + whole + extra + 6, (above + y + height(sign)) / 2), sign, "left")
    page.wire([(middle, y), (middle, y + extra + STEP)])
    shape = Line(f"n × {drawn.d_v:,}", DETAIL, FAINT)
    page.text((middle + 5, y + extra + STEP / 2), shape, "left")
    y += extra + STEP
    half = max(box_width(block) for block, _ in drawn.ends) / 2
    for block, text in drawn.ends:
        y = _box(page, middle - half, y, 2 * half, block)
        y = _leave(page, middle, y, text)
    return y


def _leave(page: Page, x: float, y: float, shape: str) -> float:
    """An arrow up with the shape of what it carries; returns its end."""
    page.wire([(x, y), (x, y + STEP)])
    page.text((x + 5, y + STEP / 2), Line(shape, DETAIL, FAINT), "left")
    return y + STEP


def _box(
    page: Page,
    x: float,
    y: float,
    wide: float,
    block: Block,
    extra: float = 0.0,
    tall: float = 0.0,
) -> float:
    """A box and its copies behind it; returns its top, without the copies."""
    tall = max(tall, box_height(block))
    for shift in range(round(extra / COPY), -1, -1):
        corner = (x + COPY * shift, y + COPY * shift)
        page.box(corner, (wide, tall), FILL[block.kind], EDGE, 3.5)
    lines = lines_of(block)
    page.lines((x + wide / 2, y + (tall + height(lines)) / 2), lines)
    return y + tall
