"""Charts as a picture, side by side."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from transduce.charts import Bars, Chart, Heat, Lines, Number
from transduce.figures.page import FAINT, INK
from transduce.figures.picture import SMALL, write
from transduce.figures.tables import COLORS

PANEL_WIDTH, PANEL_HEIGHT, TOP = 3.3, 2.6, 0.45  # inches
PLAIN = FuncFormatter(lambda value, _: f"{value:,.6g}")  # 1,000 and not 10³, which is no text
MOST_INSIDE = 3  # lines whose names find room between them
LONG = 20  # letters of a name: two of these find room
COLUMNS = 2  # panels side by side; three are put in one row


def draw_charts(title: str, charts: Sequence[Chart], output: Path) -> None:
    write(lambda: figure(title, charts), title, output)


def figure(title: str, charts: Sequence[Chart]) -> Figure:
    columns = 3 if len(charts) in (3, 5, 6) else min(COLUMNS, len(charts))
    rows = -(-len(charts) // columns)
    size = max(PANEL_WIDTH * columns, 6.3), PANEL_HEIGHT * rows + TOP
    layout = ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08, wspace=0.03, hspace=0.05)
    drawn = Figure(figsize=size, layout=layout)
    drawn.suptitle(title, x=0.01, ha="left", size=10, weight="bold", color=INK)
    panels = drawn.subplots(rows, columns, squeeze=False).flat
    for axes, chart in zip(panels, charts, strict=False):
        axes.set_title(chart.title, size=SMALL + 0.5, color=INK, loc="left")
        match chart:
            case Lines():
                _lines(axes, chart)
            case Bars():
                _bars(axes, chart)
            case Heat():
                _heat(drawn, axes, chart)
    for axes in list(panels)[len(charts) :]:
        axes.set_axis_off()
    return drawn


def _lines(axes: Axes, chart: Lines) -> None:
    for line in chart.lines:
        axes.plot(
            line.x,
            line.y,
            "--" if line.dashed else "-",
            color=COLORS[line.color % len(COLORS)],
            marker="o" if chart.points else "",
            label=line.label,
        )
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)
    if chart.log_x:
        axes.set_xscale("log", base=2)
        ticks = sorted({x for line in chart.lines for x in line.x})
        axes.set_xticks(ticks[:: -(-len(ticks) // 6)])
        axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(PLAIN)
    if chart.log_y:
        _log_y(axes, [y for line in chart.lines for y in line.y])
    if chart.limits:
        axes.set_ylim(*chart.limits)
    if chart.equal:
        axes.set_aspect("equal")
    if chart.mark:
        x, text = chart.mark
        axes.axvline(x, color=FAINT, lw=0.8, ls=":")
        place = axes.get_xaxis_transform()
        axes.text(x, 0.02, f" {text}", size=SMALL - 1, color=FAINT, transform=place)
    labels = [line.label for line in chart.lines if line.label]
    if len(labels) > MOST_INSIDE:
        _legend_below(axes, -0.2, 2)
    elif len(labels) == MOST_INSIDE and max(map(len, labels)) > LONG:
        _legend_below(axes, -0.2, 1)
    elif labels:
        axes.legend(loc="best", handlelength=1.6)


def _log_y(axes: Axes, values: Sequence[Number]) -> None:
    """A logarithmic axis; with few powers of ten, 2 and 5 have labels too."""
    axes.set_yscale("log")
    few = max(values) < 100 * min(values)
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
    axes.yaxis.set_major_formatter(PLAIN)
    axes.yaxis.set_minor_formatter(NullFormatter())


def _bars(axes: Axes, chart: Bars) -> None:
    width = 0.8 / len(chart.series)
    groups = np.arange(len(chart.groups))
    for number, (name, values) in enumerate(chart.series.items()):
        middle = groups + (number - (len(chart.series) - 1) / 2) * width
        bars = axes.bar(middle, values, 0.9 * width, color=COLORS[number], label=name)
        axes.bar_label(bars, fmt=f"{{:,.{chart.digits}f}}", size=SMALL - 1, color=INK, padding=1)
    axes.set_xticks(groups, chart.groups)
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel(chart.y_label)
    axes.set_xlabel(chart.x_label)
    axes.margins(y=0.1)
    if len(chart.series) > 1:
        _legend_below(axes, -0.12, min(3, len(chart.series)))


def _legend_below(axes: Axes, y: float, columns: int) -> None:
    place = (0.5, y)
    axes.legend(
        loc="upper center", bbox_to_anchor=place, ncols=columns, handlelength=1.4, columnspacing=1.2
    )


def _heat(drawn: Figure, axes: Axes, chart: Heat) -> None:
    largest = float(np.abs(chart.values).max()) or 1.0
    shown = axes.imshow(
        chart.values,
        cmap="RdBu_r" if chart.signed else "Blues",
        vmin=-largest if chart.signed else 0,
        vmax=largest,
        aspect="auto",
        interpolation="nearest",
    )
    axes.grid(False)
    axes.set_xlabel(chart.x_label)
    axes.set_ylabel(chart.y_label)
    if chart.columns:
        axes.set_xticks(range(len(chart.columns)), chart.columns)
    if chart.rows:
        axes.set_yticks(range(len(chart.rows)), chart.rows)
    bar = drawn.colorbar(shown, ax=axes, shrink=0.9, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=SMALL - 1, length=2)
