"""Curves in a terminal: eight dots to a character, in Braille."""

import math
from itertools import pairwise

from transduce.figures.series import Curves, Series

WIDTH, HEIGHT = 78, 9  # characters of a plot, its labels included, and lines
LABEL = 8  # characters to the left of the axis

DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))  # of a character, by row and column
BLANK = 0x2800


def plots(curves: Curves, width: int = WIDTH, height: int = HEIGHT) -> str:
    """The training loss and, where there is any, the validation perplexity, over the same steps."""
    panels = [
        ("training loss (with label smoothing)", curves.loss, False),
        ("validation perplexity (logarithmic)", curves.validation_perplexity, True),
    ]
    drawn = [
        plot(title, series, curves.last_step, logarithmic, width, height)
        for title, series, logarithmic in panels
        if series
    ]
    return "\n\n".join(drawn)


def plot(
    title: str,
    series: Series,
    last_step: int,
    logarithmic: bool = False,
    width: int = WIDTH,
    height: int = HEIGHT,
) -> str:
    """One curve with its axes, from step 0 on."""
    scale, unscale = (math.log, math.exp) if logarithmic else (float, float)
    bounds = min(series.values), max(series.values)
    low, high = map(scale, bounds)
    flat = high == low
    if flat:
        low, high = low - 0.5, high + 0.5
    columns, rows = width - LABEL - 2, height
    canvas = Canvas(columns, rows)
    points = [
        (
            step / max(last_step, 1) * (2 * columns - 1),
            (high - scale(value)) / (high - low) * (4 * rows - 1),
        )
        for step, value in zip(series.steps, series.values, strict=True)
    ]
    canvas.trace(points)
    least, most = (unscale(low), unscale(high)) if flat else bounds
    ticks = {0: most, rows - 1: least}
    if rows % 2:
        ticks[rows // 2] = unscale((high + low) / 2)
    lines = [f"{'':{LABEL}} {title}"]
    for row, dots in enumerate(canvas.lines()):
        value = ticks.get(row)
        label = "" if value is None else figures(value)
        lines.append(f"{label:>{LABEL}} {'┤' if label else '│'}{dots}".rstrip())
    lines.append(f"{'':{LABEL}} └{'─' * columns}")
    middle, end = f"{last_step // 2:,}", f"step {last_step:,}"
    left = columns // 2 - 1 + len(middle) // 2
    lines.append(f"{'':{LABEL}}  0{middle:>{left}}{end:>{columns - left - 1}}")
    return "\n".join(lines)


def figures(value: float) -> str:
    """Three figures, as many as a curve can be read to.

    >>> figures(4.12345), figures(12345.6)
    ('4.12', '12,346')
    """
    if value == 0 or not 1e-3 <= abs(value) < 999_999:
        return f"{value:.2g}"
    return f"{value:,.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


class Canvas:
    """Dots, two a column and four a row of characters."""

    def __init__(self, columns: int, rows: int) -> None:
        self.cells = [[0] * columns for _ in range(rows)]

    def dot(self, x: float, y: float) -> None:
        column, row = round(x), round(y)
        self.cells[row // 4][column // 2] |= DOTS[row % 4][column % 2]

    def trace(self, points: list[tuple[float, float]]) -> None:
        """A line through all points."""
        for x, y in points:
            self.dot(x, y)
        for (x0, y0), (x1, y1) in pairwise(points):
            dots = math.ceil(max(abs(x1 - x0), abs(y1 - y0)))
            for i in range(1, dots):
                share = i / dots
                self.dot(x0 + share * (x1 - x0), y0 + share * (y1 - y0))

    def lines(self) -> list[str]:
        return ["".join(chr(BLANK + dots) if dots else " " for dots in row) for row in self.cells]
