"""The BLEU of two systems over the minutes of their training, as a picture."""

from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from transduce.figures.curve import TRAINING, VALIDATION
from transduce.figures.picture import SMALL, titled, write


@dataclass(frozen=True)
class Timed:
    """A system's BLEU after so many minutes."""

    name: str
    minutes: tuple[float, ...]
    bleu: tuple[float, ...]


def draw_minutes(ours: Timed, peer: Timed, mark: float | None, title: str, output: Path) -> None:
    """Writes the picture; `mark` is the minute at which ours was where the peer ended."""
    write(lambda: figure(ours, peer, mark, title), title, output)


def figure(ours: Timed, peer: Timed, mark: float | None, title: str) -> Figure:
    """Both curves, each named at its end, and a line at the BLEU that the peer ended with."""
    drawn = titled(title, 3.4)
    axes = drawn.subplots()
    axes.set_xlabel("minutes of training")
    axes.set_ylabel("BLEU (validation, greedy)")
    for system, color in ((ours, VALIDATION), (peer, TRAINING)):
        label = f"{system.name}, {system.bleu[-1]:.1f} after {system.minutes[-1]:,.0f} minutes"
        axes.plot(system.minutes, system.bleu, color=color, marker="o", label=label)
    goal, top = peer.bleu[-1], max(*ours.bleu, *peer.bleu, 1.0)
    axes.axhline(goal, color=TRAINING, lw=0.8, ls="--")
    if mark is not None:
        share, late = mark / peer.minutes[-1], mark > max(*ours.minutes, *peer.minutes) / 2
        axes.plot([mark], [goal], "D", color=VALIDATION, markersize=6)
        axes.vlines(mark, 0, goal, color=VALIDATION, lw=0.8, ls="--")
        axes.annotate(
            f"BLEU {goal:.1f} in {mark:,.1f} minutes,\n{100 * share:.0f} % of {peer.name}'s time",
            (mark, goal),
            xytext=(mark, 1.06 * top),
            ha="right" if late else "left",
            va="bottom",
            size=SMALL,
            color=VALIDATION,
        )
    axes.set_xlim(left=0)
    axes.set_ylim(0, 1.25 * top)
    axes.legend(loc="lower right")
    return drawn
