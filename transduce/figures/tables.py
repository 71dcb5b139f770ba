"""Tables 1, 2 and 3 as pictures."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from transduce.figures.page import FAINT, INK
from transduce.figures.picture import SMALL, titled, write

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")  # safe for colour blindness
PAPER_COLOR = FAINT

Panels = Mapping[str, Mapping[str, Mapping[int, float | int]]]  # quantity → layer → n → value
Points = Sequence[tuple[float, float]]


def draw_costs(networks: Mapping[str, Points], output: Path) -> None:
    """Table 2: validation BLEU against operations of training; a point for each validation."""
    title = "Table 2: BLEU against training cost"
    write(lambda: costs(networks, title), title, output)


def costs(networks: Mapping[str, Points], title: str) -> Figure:
    drawn = titled(title, 3.6)
    axes = drawn.subplots()
    axes.set_xscale("log")
    axes.set_xlabel("operations of training, counted in matrix products")
    axes.set_ylabel("BLEU (validation, greedy)")
    kinds = list(dict.fromkeys(name.partition(",")[0] for name in networks))
    for name, points in networks.items():
        if points:
            color = COLORS[kinds.index(name.partition(",")[0]) % len(COLORS)]
            style = "--" if "," in name else "-"
            axes.plot(*zip(*points, strict=True), style, color=color, marker="o", label=name)
    axes.set_ylim(bottom=0)
    if any(networks.values()):
        axes.legend(loc="lower right")
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
    axes.barh(rows, [ours for _, ours, _ in changes], 0.55, color=COLORS[0], label="ours, Multi30k")
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
