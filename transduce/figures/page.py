"""The marks of a diagram. All lengths are points, so that 8-point text is 8 high."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Circle, FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path
from matplotlib.textpath import text_to_path

INK, FAINT = "#222222", "#555555"
CORNER, HEAD = 4.0, 4.5  # the radius of a bend in a wire, the length of an arrow's head
STROKE = 0.8

Point = tuple[float, float]
Align = Literal["left", "center", "right"]


@dataclass(frozen=True)
class Line:
    """A line of text."""

    text: str
    size: float
    color: str = INK
    bold: bool = False

    @property
    def height(self) -> float:
        return 1.28 * self.size

    @property
    def width(self) -> float:
        return _width(self.text, self.size, "bold" if self.bold else "normal")


def height(lines: Iterable[Line]) -> float:
    return sum(line.height for line in lines)


def width(lines: Iterable[Line]) -> float:
    return max((line.width for line in lines), default=0.0)


@cache
def _width(text: str, size: float, weight: str) -> float:
    """In DejaVu Sans, which comes with matplotlib."""
    font = FontProperties(family="DejaVu Sans", weight=weight, size=size)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])


class Page:
    """A sheet with its origin at the lower left."""

    def __init__(self, width: float) -> None:
        self.width = width
        self.figure = Figure()
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_axis_off()

    def finish(self, height: float) -> Figure:
        self.axes.set(xlim=(0, self.width), ylim=(0, height))
        self.figure.set_size_inches(self.width / 72, height / 72)
        return self.figure

    def text(
        self, middle: Point, line: Line, align: Align = "center", upright: bool = True
    ) -> None:
        """A line whose capitals, 0.73 of its size high, have their middle at this height."""
        (x, y), drop = middle, 0.365 * line.size
        self.axes.text(
            x if upright else x + drop,
            y - drop if upright else y,
            line.text,
            size=line.size,
            color=line.color,
            weight="bold" if line.bold else "normal",
            ha=align,
            va="baseline",
            rotation=0 if upright else 90,
            rotation_mode="anchor",
            parse_math=False,
            zorder=5,
        )

    def lines(self, top: Point, lines: Iterable[Line], align: Align = "center") -> None:
        """Lines of text from here downwards."""
        x, y = top
        for line in lines:
            self.text((x, y - line.height / 2), line, align)
            y -= line.height

    def box(
        self, corner: Point, size: Point, fill: str, edge: str, radius: float, under: bool = False
    ) -> None:
        """A rounded rectangle, drawn over wires or under all else."""
        style, zorder = f"round,pad=0,rounding_size={radius}", 1 if under else 3
        self.axes.add_patch(
            FancyBboxPatch(
                corner, *size, boxstyle=style, fc=fill, ec=edge, lw=STROKE, zorder=zorder
            )
        )

    def wire(self, points: Sequence[Point], arrow: bool = True) -> None:
        """A line with rounded bends and an arrow's head at its end."""
        if arrow:
            back = _towards(points[-1], points[-2], HEAD)
            dx, dy = points[-1][0] - back[0], points[-1][1] - back[1]
            wings = [(back[0] - s * dy, back[1] + s * dx) for s in (-0.42, 0.42)]
            self.axes.add_patch(Polygon([*wings, points[-1]], fc=INK, ec="none", zorder=4))
            points = [*points[:-1], back]
        self._stroke(rounded(points), INK)

    def dashes(self, points: Sequence[Point], color: str) -> None:
        self._stroke(rounded(points), color, "--")

    def sign(self, points: Sequence[Point]) -> None:
        """A plain line, on top of circles."""
        self._stroke(Path(points), INK, zorder=4)

    def circle(self, center: Point, radius: float) -> None:
        self.axes.add_patch(Circle(center, radius, fc="white", ec=INK, lw=STROKE, zorder=3))

    def plus(self, center: Point, radius: float) -> None:
        """⊕: an addition."""
        (x, y), arm = center, radius * 0.62
        self.circle(center, radius)
        self.sign([(x - arm, y), (x + arm, y)])
        self.sign([(x, y - arm), (x, y + arm)])

    def _stroke(self, path: Path, color: str, style: str = "-", zorder: int = 2) -> None:
        self.axes.add_patch(
            PathPatch(path, fc="none", ec=color, lw=STROKE, ls=style, zorder=zorder)
        )


def rounded(points: Sequence[Point]) -> Path:
    """The polyline through the points, its bends rounded as far as the segments are long."""
    vertices, codes = [points[0]], [Path.MOVETO]
    for before, bend, after in zip(points, points[1:], points[2:], strict=False):
        radius = min(CORNER, math.dist(before, bend) / 2, math.dist(bend, after) / 2)
        vertices += [_towards(bend, before, radius), bend, _towards(bend, after, radius)]
        codes += [Path.LINETO, Path.CURVE3, Path.CURVE3]
    return Path([*vertices, points[-1]], [*codes, Path.LINETO])


def _towards(start: Point, end: Point, distance: float) -> Point:
    share = distance / (math.dist(start, end) or 1)
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])
