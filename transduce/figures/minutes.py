"""The BLEU of two systems over the minutes of their training, as a picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from transduce.figures.curve import TRAINING, VALIDATION
from transduce.figures.picture import SMALL, titled, write

Systems = Mapping[str, Sequence[tuple[float, float]]]  # minutes and BLEU by name: ours, the peer's


def draw_minutes(systems: Systems, mark: float | None, title: str, output: Path) -> None:
    """Writes the picture; `mark` is the minute at which ours was where the peer ended."""
    write(lambda: figure(systems, mark, title), title, output)


def figure(systems: Systems, mark: float | None, title: str) -> Figure:
    """Both curves, each named at its end, and a line at the BLEU that the peer ended with."""
    drawn = titled(title, 3.4)
    axes = drawn.subplots()
    axes.set_xlabel("minutes of training")
    axes.set_ylabel("BLEU (validation, greedy)")
    for (name, points), color in zip(systems.items(), (VALIDATION, TRAINING), strict=True):
        label = f"{name}, {points[-1][1]:.1f} after {points[-1][0]:,.0f} minutes"
        axes.plot(*zip(*points, strict=True), color=color, marker="o", label=label)
    peer, (*_, (minutes, goal)) = list(systems.items())[-1]
    last = max(points[-1][0] for points in systems.values())
    top = max(1.0, *(bleu for points in systems.values() for _, bleu in points))
    axes.axhline(goal, color=TRAINING, lw=0.8, ls="--")
    if mark is not None:
        share = 100 * mark / minutes
        axes.plot([mark], [goal], "D", color=VALIDATION, markersize=6)
        axes.vlines(mark, 0, goal, color=VALIDATION, lw=0.8, ls="--")
        axes.annotate(
            f"BLEU {goal:.1f} in {mark:,.1f} minutes,\n{share:.0f} % of {peer}'s time",
            (mark, goal),
            xytext=(mark, 1.06 * top),
            ha="right" if mark > last / 2 else "left",
            va="bottom",
            size=SMALL,
            color=VALIDATION,
        )
    axes.set_xlim(left=0)
    axes.set_ylim(0, 1.25 * top)
    axes.legend(loc="lower right")
    return drawn
