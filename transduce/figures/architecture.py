"""Figure 1: the architecture of any configuration, drawn from its modules."""

import math
from collections.abc import Iterator
from pathlib import Path

import torch
from matplotlib.figure import Figure

from transduce.config import PRESETS, ModelConfig
from transduce.figures.description import Block, Description, Kind, Layer, Stack, Sublayer, describe
from transduce.figures.page import FAINT, Align, Line, Page, Point, height, width
from transduce.figures.picture import write
from transduce.model import Transformer

FILL: dict[Kind, str] = {
    "embedding": "#fce0e1",
    "attention": "#fce2bb",
    "cross-attention": "#fce2bb",
    "feed-forward": "#c1e8f7",
    "add-norm": "#f2f4c1",
    "norm": "#f2f4c1",
    "linear": "#dcdff0",
    "softmax": "#cce7cf",
    "matmul": "#e3d7ee",
    "scale": "#f2f4c1",
    "mask": "#fce0e1",
    "concat": "#f2f4c1",
    "other": "#ffffff",
}
UNITS = {"T": 10**12, "G": 10**9, "M": 10**6, "k": 10**3}
EDGE, FRAME_FILL, FRAME_EDGE, LINK = "#333333", "#f3f3f4", "#999999", "#b0476a"

TITLE, LABEL, DETAIL = 10.0, 8.5, 7.0  # sizes of text; none is smaller
PAD, ASIDE = 4.0, 6.0  # around the text of a box, between a label and a number beside it
GAP, TAP, FORK, CROSS = 10.0, 6.0, 18.0, 29.0  # below a box, a residual, three arrows, V, K and Q
RESIDUAL, RADIUS = 11.0, 6.5  # how far outside a box its residual runs; the circle of ⊕
INNER, OUTER = 9.0, RESIDUAL + 8  # from a box to the two sides of its frame
WAVE = 36.0  # from the ⊕ of a position to what is added
GUTTER, MARGIN, BUS = 40.0, 10.0, 22.0  # between stacks, around the page, for the link to the top


def draw_figure1(config: ModelConfig, output: Path) -> None:
    """Draws the network of a configuration without spending memory on its weights."""
    with torch.device("meta"):
        model = Transformer(config)
    draw(describe(model), output, preset_name(config))


def draw(description: Description, output: Path, name: str | None = None) -> None:
    """Writes the figure as SVG, PNG or PDF, by the suffix of the file."""
    title = legend_of(description, name)[0].text
    write(lambda: figure(description, name), title, output)


def preset_name(config: ModelConfig) -> str | None:
    """The preset that this network is, whatever its vocabulary."""
    vocabulary = {"vocab_size", "pad_id", "bos_id", "eos_id"}
    settings = config.model_dump(exclude=vocabulary)
    for name in PRESETS:
        if ModelConfig.preset(name).model_dump(exclude=vocabulary) == settings:
            return name
    return None


def figure(description: Description, name: str | None = None) -> Figure:
    """Figure 1, at its natural size."""
    stacks = (description.encoder, description.decoder)
    half = max(box_width(block) for stack in stacks for block in boxes(stack)) / 2
    reach = max(outer_reach(stack, half) for stack in stacks)
    between = MARGIN + reach + half + INNER + GUTTER / 2
    page = Page(2 * between + (BUS if "output" in description.shared else 0))
    source = Column(page, MARGIN + reach, half, -1)
    target = Column(page, 2 * between - source.x, half, +1)

    outputs = [Line("Outputs", LABEL), Line("(shifted right)", DETAIL)]
    floor = MARGIN + height(outputs)
    page.lines((source.x, floor), [Line("Inputs", LABEL)])
    page.lines((target.x, floor), outputs)
    # The text beside ⊕ needs room between the embedding and the frame.
    room = max(GAP + RADIUS, *(height(lines_of(stack.positions)) / 2 + PAD for stack in stacks))
    plus = floor + GAP + max(box_height(stack.embedding) for stack in stacks) + room
    memory = source.stack(description.encoder, floor, plus, plus + room)
    end = target.stack(description.decoder, floor, plus, plus + room)
    probabilities = [Line("Output", LABEL), Line("Probabilities", LABEL)]
    page.wire([(target.x, end), (target.x, end + GAP)])
    page.lines((target.x, end + GAP + height(probabilities)), probabilities)

    for fork, box in target.crossings:
        v, k = target.x - half / 2, target.x
        over = memory + TAP + GAP
        start = [(source.x, memory), (source.x, over), (between, over), (between, fork)]
        page.wire([*start, (v, fork), (v, box)])
        page.wire([(v - 6, fork), (k, fork), (k, box)])
    draw_links(page, description.shared, source, target)
    legend = legend_of(description, name)
    top = max(end + GAP + height(probabilities), memory + TAP + 3 * GAP + height(legend))
    page.lines((source.x - half - OUTER, top), legend, "left")
    return page.finish(top + MARGIN)


def legend_of(description: Description, name: str | None) -> list[Line]:
    """What the whole is."""
    depths = f"{description.encoder.depth} + {description.decoder.depth}"
    rates = " or ".join(f"{rate:g}" for rate in description.p_drop)
    shared = Line("dashed: one matrix, counted once", DETAIL, LINK)
    return [
        Line(f"Transformer {name}" if name else "Transformer", TITLE, bold=True),
        Line(f"{description.parameters:,} parameters", LABEL),
        Line(f"{depths} layers of width {description.d_model:,}", DETAIL, FAINT),
        Line(f"dropout {rates}", DETAIL, FAINT),
        shared if description.shared else Line("no embeddings shared", DETAIL, FAINT),
    ]


class Column:
    """A stack, drawn upwards around x; its outer side is −1 (left) or +1 (right)."""

    def __init__(self, page: Page, x: float, half: float, side: int) -> None:
        self.page, self.x, self.half, self.side = page, x, half, side
        self.middles: dict[Kind, float] = {}  # the heights of boxes, by kind
        self.crossings: list[Point] = []  # where V and K turn up, and the box they turn to

    def out(self, distance: float) -> float:
        return self.x + self.side * distance

    def stack(self, stack: Stack, floor: float, plus: float, framed: float) -> float:
        """Everything from the embedding up; returns where it ends."""
        self.page.wire([(self.x, floor), (self.x, floor + GAP)])
        y = self.box(floor + GAP, stack.embedding)
        self.page.wire([(self.x, y), (self.x, plus - RADIUS)])
        self.positions(stack.positions, plus)
        y = plus + RADIUS
        for layer in stack.layers:
            y = self.layer(layer, y, framed)
            framed = y + TAP + GAP
        for block in stack.top:
            bottom = framed if block is stack.top[0] else y + GAP
            self.page.wire([(self.x, y), (self.x, bottom)])
            y = self.box(bottom, block)
        return y

    def positions(self, block: Block, y: float) -> None:
        """⊕ and what is added there: a wave, or a table."""
        x = self.out(WAVE)
        self.page.wire([(self.out(RADIUS), y), (x, y)], arrow=False)
        self.page.plus((self.x, y), RADIUS)
        self.page.circle((x, y), RADIUS + 1)
        if block.parameters:
            for step in (-4, -4 / 3, 4 / 3, 4):
                self.page.sign([(x - 4, y + step), (x + 4, y + step)])
                self.page.sign([(x + step, y - 4), (x + step, y + 4)])
        else:
            turns = [i / 16 for i in range(-16, 17)]
            self.page.sign([(x + 5.5 * t, y + 4 * math.sin(math.pi * t)) for t in turns])
        self.beside(WAVE + RADIUS + 5, y, lines_of(block))

    def beside(self, distance: float, y: float, lines: list[Line]) -> None:
        """Lines of text on the outer side, centred on y."""
        align: Align = "left" if self.side > 0 else "right"
        self.page.lines((self.out(distance), y + height(lines) / 2), lines, align)

    def layer(self, layer: Layer, y: float, floor: float) -> float:
        """A frame and the sub-layers in it; returns where the last one ends."""
        base = floor + 1
        for sublayer in layer.sublayers:
            y = base = self.sublayer(sublayer, y, base + TAP)
        left = self.x - self.half - (OUTER if self.side < 0 else INNER)
        size = (2 * self.half + INNER + OUTER, y + TAP + 1 - floor)
        self.page.box((left, floor), size, FRAME_FILL, FRAME_EDGE, 9.0, under=True)
        self.beside(self.half + OUTER + 6, floor + size[1] / 2, depth_lines(layer))
        return y

    def sublayer(self, sublayer: Sublayer, y: float, tap: float) -> float:
        """Boxes, and around them the residual connection that leaves at `tap`."""
        base = tap
        for block in sublayer:
            bottom = base + {"attention": FORK, "cross-attention": CROSS}.get(block.kind, GAP)
            self.arrows(block, y, base, bottom)
            y = base = self.box(bottom, block)
            if block.kind in ("add", "add-norm"):
                edge = RADIUS if block.kind == "add" else self.half
                far, middle = self.out(self.half + RESIDUAL), (bottom + y) / 2
                self.page.wire([(self.x, tap), (far, tap), (far, middle), (self.out(edge), middle)])
        return y

    def arrows(self, block: Block, y: float, base: float, bottom: float) -> None:
        """What a box reads: one arrow, or the values, keys and queries of an attention."""
        x, third = self.x, self.half / 2
        if block.kind == "cross-attention":
            turn, fork = base + 7, base + 15
            self.page.wire([(x, y), (x, turn), (x + third, turn), (x + third, bottom)])
            self.crossings.append((fork, bottom))
            for letter, at in zip("VKQ", (x - third, x, x + third), strict=True):
                self.page.text((at + 3.5, bottom - 6), Line(letter, DETAIL, FAINT), "left")
            return
        self.page.wire([(x, y), (x, bottom)])
        if block.kind == "attention":
            for end in (x - third, x + third):
                self.page.wire([(x, base + 8), (end, base + 8), (end, bottom)])

    def box(self, y: float, block: Block) -> float:
        """A block standing at y; returns its top."""
        tall = box_height(block)
        middle = self.middles[block.kind] = y + tall / 2
        if block.kind == "add":
            self.page.plus((self.x, middle), RADIUS)
            return y + tall
        corner, size = (self.x - self.half, y), (2 * self.half, tall)
        self.page.box(corner, size, FILL[block.kind], EDGE, 3.5)
        lines = lines_of(block)
        if in_one_line(block):
            label, number = lines
            start = self.x - (label.width + ASIDE + number.width) / 2
            self.page.text((start + label.width / 2, middle), label)
            self.page.text((start + label.width + ASIDE + number.width / 2, middle), number)
        else:
            self.page.lines((self.x, y + tall - PAD), lines)
        return y + tall


def draw_links(page: Page, shared: tuple[str, ...], source: Column, target: Column) -> None:
    """Dashed lines between the users of one matrix."""
    note = Line("one matrix", DETAIL, LINK)
    left, right = source.x + source.half, target.x - target.half
    low, high = target.middles["embedding"], target.middles["linear"]
    if "source_embedding" in shared and "target_embedding" in shared:
        page.dashes([(left, source.middles["embedding"]), (right, low)], LINK)
        page.text(((left + right) / 2, low + 7), note)
    if "target_embedding" in shared and "output" in shared:
        start, edge = target.x + target.half, page.width - MARGIN - 11
        page.dashes([(start, low), (edge, low), (edge, high), (start, high)], LINK)
        page.text((edge + 7, (low + high) / 2), note, upright=False)
    elif "output" in shared:
        low, turn = source.middles["embedding"], right - INNER - 6
        page.dashes([(left, low), (turn, low), (turn, high), (right, high)], LINK)


def boxes(stack: Stack) -> Iterator[Block]:
    yield stack.embedding
    for layer in stack.layers:
        for sublayer in layer.sublayers:
            yield from sublayer
    yield from stack.top


def lines_of(block: Block) -> list[Line]:
    """The text of a block: its label, its sizes and its number of parameters."""
    number = [short(block.parameters)] if block.parameters else []
    small = [Line(text, DETAIL, FAINT) for text in [*block.details, *number]]
    return [Line(text, LABEL) for text in block.label] + small


def in_one_line(block: Block) -> bool:
    return block.kind in ("add-norm", "norm") and block.parameters > 0


def box_width(block: Block) -> float:
    lines = lines_of(block)
    if in_one_line(block):
        return sum(line.width for line in lines) + ASIDE + 4 * PAD
    return width(lines) + 4 * PAD


def box_height(block: Block) -> float:
    if block.kind == "add":
        return 2 * RADIUS
    lines = lines_of(block)
    return 2 * PAD + height(lines[:1] if in_one_line(block) else lines)


def depth_lines(layer: Layer) -> list[Line]:
    each = [Line("each", DETAIL, FAINT)] if layer.repeats > 1 else []
    number = Line(short(layer.parameters), DETAIL, FAINT)
    return [Line(f"{layer.repeats}×", 12.0), number, *each]


def outer_reach(stack: Stack, half: float) -> float:
    """How far a stack goes from its middle to its outer side."""
    depth = max(width(depth_lines(layer)) for layer in stack.layers)
    return max(half + OUTER + 6 + depth, WAVE + RADIUS + 5 + width(lines_of(stack.positions)))


def short(count: int) -> str:
    """A number of parameters in three digits.

    >>> short(1_050_624), short(66_048), short(1_024)
    ('1.05 M', '66.0 k', '1,024')
    """
    if count < 10_000:
        return f"{count:,}"
    count = round(count, 3 - len(str(count)))
    unit, size = next(item for item in UNITS.items() if count >= item[1])
    return f"{count / size:.{3 - len(str(count // size))}f} {unit}"
