"""Tables 1 to 4 as pictures."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from transduce.figures.page import FAINT, INK
from transduce.figures.picture import SMALL, titled, write

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")  # safe for colour blindness
PAPER_COLOR = FAINT

# Where the labels of neighbouring points of Table 2 are, so that they do not overlap.
LABELS = {
    "MoE": ((-6, -3), "right"),
    "ConvS2S, ensemble": ((0, 6), "center"),
    "GNMT + RL, ensemble": ((0, -13), "center"),
}

Panels = Mapping[str, Mapping[str, Mapping[int, float | int]]]  # quantity → layer → n → value
Points = Sequence[tuple[float, float]]


def draw_costs(
    paper: Mapping[str, tuple[float, float]], networks: Mapping[str, Points], output: Path
) -> None:
    """Table 2: BLEU against operations of training; of ours, a point for each validation."""
    title = "Table 2: BLEU against training cost"
    write(lambda: costs(paper, networks, title), title, output)


def costs(
    paper: Mapping[str, tuple[float, float]], networks: Mapping[str, Points], title: str
) -> Figure:
    drawn = titled(title, 3.6)
    left, right = drawn.subplots(1, 2)
    for axes, what in ((left, "the paper: newstest2014, En–De"), (right, "ours: validation data")):
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1,) if axes is left else (1, 2, 5)))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("operations of training")
        axes.set_title(what, size=SMALL, color=INK)
    left.set_ylabel("BLEU")
    for name, (x, y) in paper.items():
        color = COLORS[0] if name.startswith("Transformer") else PAPER_COLOR
        left.plot(x, y, "o", color=color)
        offset, side = LABELS.get(name, ((6, -3), "left"))
        left.annotate(name, (x, y), offset, textcoords="offset points", ha=side, size=SMALL)
    left.margins(x=0.4, y=0.12)
    for (name, points), color in zip(networks.items(), COLORS, strict=False):
        if points:
            right.plot(*zip(*points, strict=True), color=color, marker=".", label=name)
    right.set_ylim(bottom=0)
    if any(networks.values()):
        right.legend(loc="lower right", fontsize=SMALL)
    else:
        right.text(0.5, 0.5, "not trained yet", transform=right.transAxes, ha="center", color=INK)
    return drawn


def draw_parsers(paper: Mapping[str, float], ours: Mapping[str, float], output: Path) -> None:
    """Table 4: F1 of each parser."""
    title = "Table 4: F1 of constituency parsers"
    write(lambda: parsers(paper, ours, title), title, output)


def parsers(paper: Mapping[str, float], ours: Mapping[str, float], title: str) -> Figure:
    rows = {**paper, **ours}
    drawn = titled(title, 1.0 + 0.22 * len(rows))
    axes = drawn.subplots()
    for row, (name, value) in enumerate(rows.items()):
        mine = name in ours
        color = COLORS[1] if mine else COLORS[0] if "Transformer" in name else PAPER_COLOR
        axes.plot(value, row, "o", color=color)
        axes.annotate(f"{value:.1f}", (value, row), (6, -3), textcoords="offset points", size=SMALL)
    axes.set_yticks(range(len(rows)), list(rows), size=SMALL)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.grid(False, axis="y")
    axes.set_xlabel("F1; the paper's rows are of WSJ section 23")
    return drawn


def draw_variations(
    changes: Sequence[tuple[str, float, float | None]], noise: float, base: float, output: Path
) -> None:
    """Table 3: the change of BLEU of each row, ours and the paper's (None if it has none)."""
    title = "Table 3: change of BLEU from the base model"
    write(lambda: variations(changes, noise, base, title), title, output)


def variations(
    changes: Sequence[tuple[str, float, float | None]], noise: float, base: float, title: str
) -> Figure:
    drawn = titled(title, 1.2 + 0.22 * len(changes))
    axes = drawn.subplots()
    rows = range(len(changes))
    axes.axvspan(-noise, noise, color="#ececec", label=f"noise: seeds differ by {noise:.1f}")
    axes.axvline(0, color=INK, lw=0.8)
    axes.barh(rows, [ours for _, ours, _ in changes], 0.55, color=COLORS[0], label="ours")
    paper = [(bleu - base, row) for row, (_, _, bleu) in enumerate(changes) if bleu is not None]
    if paper:
        values, where = zip(*paper, strict=True)
        axes.plot(values, where, "D", color=COLORS[1], markersize=5, label="the paper")
    axes.set_yticks(rows, [name for name, _, _ in changes])
    axes.invert_yaxis()
    axes.grid(True, axis="x")
    axes.grid(False, axis="y")
    axes.set_xlabel("BLEU − BLEU of base")
    axes.legend(loc="best", fontsize=SMALL)
    return drawn


def draw_layers(panels: Panels, output: Path) -> None:
    """Table 1: what was measured of each layer type against the length n."""
    title = "Table 1: four kinds of layers, measured"
    write(lambda: layers(panels, title), title, output)


def layers(panels: Panels, title: str) -> Figure:
    drawn = titled(title, 2.9)
    for axes, (what, lines) in zip(drawn.subplots(1, len(panels)), panels.items(), strict=True):
        for (name, points), color in zip(lines.items(), COLORS, strict=True):
            lengths = list(points)
            axes.plot(lengths, list(points.values()), color=color, marker="o", label=name)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_xticks(lengths, [f"{n}" for n in lengths])
        axes.set_xlabel("length n")
        axes.set_title(what, size=SMALL, color=INK)
    drawn.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=len(COLORS))
    return drawn
