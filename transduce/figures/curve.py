"""The learning curve of a run as a picture."""

import math
from collections.abc import Callable
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from transduce.figures.picture import SMALL, titled, write
from transduce.figures.series import Curves, Series

TRAINING, VALIDATION, RATE = "#0072b2", "#d55e00", "#555555"  # safe for colour blindness
PANEL, MARGIN = 1.45, 0.75  # inches: of a panel, for title and steps
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
ROUND = [1, 2, 2.5, 5, 10]  # first digits of the steps of an axis


def draw_curves(curves: Curves, title: str, output: Path) -> None:
    write(lambda: figure(curves, title), title, output)


def figure(curves: Curves, title: str) -> Figure:
    """A panel for each thing that was measured, over the same steps."""
    panels: list[tuple[Series, Callable[[Axes, Curves], None]]] = [
        (curves.loss, _loss),
        (curves.training_perplexity or curves.validation_perplexity, _perplexity),
        (curves.bleu, _bleu),
        (curves.learning_rate, _rate),
    ]
    shown = [draw for series, draw in panels if series]
    drawn = titled(title, PANEL * len(shown) + MARGIN)
    rows = drawn.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
    for axes, draw in zip(rows, shown, strict=True):
        axes.yaxis.set_major_locator(MaxNLocator(4, steps=ROUND))
        draw(axes, curves)
    rows[-1].set_xlabel("step")
    rows[-1].set_xlim(0, 1.01 * max(curves.last_step, 1))
    rows[-1].xaxis.set_major_formatter(FuncFormatter(lambda step, _: f"{step:,.0f}"))
    rows[-1].xaxis.set_major_locator(MaxNLocator(7, integer=True, steps=ROUND))
    drawn.align_ylabels(rows)
    return drawn


def _loss(axes: Axes, curves: Curves) -> None:
    axes.set_ylabel("training loss\n(smoothed)")
    _line(axes, curves.loss, TRAINING)


def _perplexity(axes: Axes, curves: Curves) -> None:
    axes.set_ylabel("perplexity\n(per token)")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.12g}"))
    axes.yaxis.set_minor_locator(NullLocator())
    _line(axes, curves.training_perplexity, TRAINING, "training, with dropout")
    found = curves.validation_perplexity
    _line(axes, found, VALIDATION, "validation", marked=True)
    if found:
        _point_out(axes, found, min(found.values), "{:.2f}")
    axes.legend(loc="upper right")


def _bleu(axes: Axes, curves: Curves) -> None:
    axes.set_ylabel("BLEU\n(validation)")
    _line(axes, curves.bleu, VALIDATION, marked=True)
    axes.set_ylim(0, 1.15 * max(*curves.bleu.values, 1.0))
    _point_out(axes, curves.bleu, max(curves.bleu.values), "{:.1f}")


def _rate(axes: Axes, curves: Curves) -> None:
    power = math.floor(math.log10(max(curves.learning_rate.values)))
    axes.set_ylabel(f"learning rate\n(× 10{str(power).translate(SUPERSCRIPTS)})")
    _line(axes, curves.learning_rate, RATE)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{rate / 10**power:.2g}"))


def _line(
    axes: Axes, series: Series, color: str, label: str | None = None, marked: bool = False
) -> None:
    marker = "o" if marked or len(series.steps) == 1 else ""
    axes.plot(series.steps, series.values, color=color, label=label, marker=marker)


def _point_out(axes: Axes, series: Series, best: float, form: str) -> None:
    """The best value, in figures beside its point."""
    step = series.steps[series.values.index(best)]
    late = step > 0.85 * series.steps[-1]
    axes.annotate(
        form.format(best),
        (step, best),
        xytext=(-4 if late else 4, 5),
        textcoords="offset points",
        ha="right" if late else "left",
        size=SMALL,
        color=VALIDATION,
    )
