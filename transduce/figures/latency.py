"""The latency of servers against their load, as a picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from transduce.figures.curve import RATE, TRAINING, VALIDATION
from transduce.figures.picture import titled, write

# By system, ours first: clients, sentences per second, p50 and p99 in ms.
Curves = Mapping[str, Sequence[tuple[int, float, float, float]]]


def draw_latency(curves: Curves, title: str, output: Path) -> None:
    write(lambda: figure(curves, title), title, output)


def figure(curves: Curves, title: str) -> Figure:
    """p50 and p99 over throughput; each point of p50 has its number of clients."""
    drawn = titled(title, 3.4)
    axes = drawn.subplots()
    axes.set_xlabel("sentences per second (one sentence a request; numbers: clients)")
    axes.set_ylabel("latency, ms")
    axes.set_yscale("log")
    for (name, points), color in zip(curves.items(), (VALIDATION, TRAINING, RATE), strict=False):
        clients, rates, medians, worst = zip(*points, strict=True)
        axes.plot(rates, medians, color=color, marker="o", label=f"{name}, p50")
        axes.plot(rates, worst, color=color, marker="o", ls="--", label=f"{name}, p99")
        for count, rate, median in zip(clients, rates, medians, strict=True):
            axes.annotate(
                f"{count}",
                (rate, median),
                (5, -11),
                textcoords="offset points",
                color=color,
                size=8,
            )
    axes.set_xlim(left=0)
    axes.margins(y=0.1)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.yaxis.set_minor_formatter(lambda value, _: "")
    axes.legend(loc="best")
    return drawn
