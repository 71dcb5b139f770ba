"""What a chart shows, without drawing it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

Number = float | int


@dataclass(frozen=True)
class Line:
    """Points that are joined; lines of the same colour belong together."""

    label: str
    x: Sequence[Number]
    y: Sequence[Number]
    color: int = 0
    dashed: bool = False


@dataclass(frozen=True)
class Lines:
    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    log_x: bool = False
    log_y: bool = False
    points: bool = False  # mark each point
    limits: tuple[Number, Number] | None = None  # of y
    mark: tuple[Number, str] | None = None  # an x, and what is there
    equal: bool = False  # x and y have the same scale


@dataclass(frozen=True)
class Bars:
    """Groups of bars side by side: a value of each series in each group."""

    title: str
    y_label: str
    groups: Sequence[str]
    series: Mapping[str, Sequence[Number]]
    digits: int = 1  # of the numbers on the bars
    x_label: str = ""


@dataclass(frozen=True)
class Heat:
    """A matrix as colours; rows from top to bottom."""

    title: str
    x_label: str
    y_label: str
    values: Float[np.ndarray, "row column"]
    rows: Sequence[str] = ()  # names; none: numbers
    columns: Sequence[str] = ()
    signed: bool = False  # values below 0 in another colour


Chart = Lines | Bars | Heat
