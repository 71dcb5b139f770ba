"""What pictures of attention are made of: colours, legends, notes, heat maps."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.patches import Rectangle

from transduce.figures.page import FAINT, INK, Line, Page

# safe for colour blindness; the ninth head has the colour of the first
HEADS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#332288",
    "#882255",
)
HEAT = LinearSegmentedColormap.from_list("heat", ["#ffffff", "#9ecae1", "#0072b2", "#08306b"])
RULE = "#d9d9d9"
TITLE, TEXT, NOTE = 11.0, 9.5, 7.5
MARGIN = 20.0
LONGEST = 26  # letters of a word that are shown
KEY = 30.0  # of the legend


def color_of(head: int) -> str:
    return HEADS[(head - 1) % len(HEADS)]


def short(word: str) -> str:
    """A word as it is shown: a long one is cut."""
    return word if len(word) <= LONGEST else word[: LONGEST - 1] + "…"


def word_width(word: str) -> float:
    return Line(short(word), TEXT, bold=True).width


def wrapped_notes(text: str, wide: float) -> list[Line]:
    """Small text wrapped to a width in points."""
    notes: list[Line] = []
    for part in text.split("\n"):
        line = ""
        for word in map(short, part.split()):
            longer = f"{line} {word}".strip()
            if line and Line(longer, NOTE).width > wide:
                notes.append(Line(line, NOTE, FAINT))
                longer = word
            line = longer
        notes += [Line(line, NOTE, FAINT)] if line else []
    return notes


def write_notes(page: Page, notes: list[Line]) -> None:
    for number, line in enumerate(reversed(notes)):
        page.text((MARGIN, MARGIN + 11 * number), line, "left")


def legend_rows(heads: Sequence[int], wide: float) -> list[list[int]]:
    across = max(1, int((wide - Line("heads", TEXT).width - KEY) // KEY) + 1)
    return [list(heads[i : i + across]) for i in range(0, len(heads), across)]


def draw_legend(page: Page, heads: Sequence[int], y: float) -> None:
    page.text((MARGIN, y), Line("heads", TEXT), "left")
    x = MARGIN + Line("heads", TEXT).width + 10
    for number, head in enumerate(heads):
        draw_cell(page, (x + KEY * number, y - 4), (8.0, 8.0), to_rgba(color_of(head)))
        page.text((x + KEY * number + 12, y), Line(str(head), TEXT), "left")


def draw_scale(page: Page, y: float) -> None:
    """The colours of weights from 0 to 1."""
    steps = 40
    page.text((MARGIN, y), Line("weight 0", NOTE, FAINT), "left")
    x = MARGIN + Line("weight 0", NOTE).width + 5
    for i in range(steps):
        page.axes.add_patch(
            Rectangle((x + 2 * i, y - 4), 2.1, 8, fc=HEAT(i / (steps - 1)), ec="none", zorder=2)
        )
    page.axes.add_patch(Rectangle((x, y - 4), 2 * steps, 8, fc="none", ec=RULE, lw=0.5, zorder=3))
    page.text((x + 2 * steps + 5, y), Line("1", NOTE, FAINT), "left")


def draw_cell(
    page: Page,
    corner: tuple[float, float],
    size: tuple[float, float],
    color: tuple[float, float, float, float],
) -> None:
    page.axes.add_patch(Rectangle(corner, *size, fc=color, ec=RULE, lw=0.3, zorder=3))


def draw_heat(
    page: Page,
    weights: Float[np.ndarray, "query key"],
    corner: tuple[float, float],
    size: tuple[float, float],
) -> None:
    """A heat map below and to the right of its upper left corner."""
    (x, y), (wide, high) = corner, size
    extent = (x, x + wide, y - high, y)
    page.axes.imshow(
        weights, cmap=HEAT, vmin=0, vmax=1, extent=extent, aspect="auto", interpolation="nearest"
    )
    page.axes.add_patch(Rectangle((x, y - high), wide, high, fc="none", ec=RULE, lw=0.6, zorder=3))


def draw_numbers(
    page: Page, weights: Float[np.ndarray, "query key"], corner: tuple[float, float], cell: float
) -> None:
    """The weights in percent, in their cells."""
    for (i, j), weight in np.ndenumerate(weights):
        if weight >= 0.005:
            at = corner[0] + cell * (j + 0.5), corner[1] - cell * (i + 0.5)
            page.text(at, Line(f"{100 * weight:.0f}", NOTE, "white" if weight > 0.5 else INK))
