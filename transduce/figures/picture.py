"""A figure as a file: SVG, PNG or PDF, the same bytes every time."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from matplotlib import rc_context, rcdefaults, rcParams
from matplotlib.figure import Figure

from transduce import atomic
from transduce.errors import UserError
from transduce.figures.page import FAINT, INK

SMALL = 8  # points, of labels

# Text stays text: it can be searched, selected and read aloud. Every line is one plain string
# with room for DejaVu Sans; Verdana is as wide and the other fallbacks are narrower, so that no
# viewer's fonts make labels collide.
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "transduce",
    "pdf.fonttype": 42,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica"],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.labelsize": SMALL,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "legend.labelcolor": INK,
    "lines.linewidth": 1.2,
    "lines.markersize": 3,
    **{
        f"{axis}tick.{key}": value
        for axis in "xy"
        for key, value in {"color": FAINT, "labelcolor": INK, "labelsize": SMALL}.items()
    },
}
UNDATED: dict[str, dict[str, str | None]] = {
    ".svg": {"Date": None, "Creator": None},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


@contextmanager
def any_character() -> Iterator[None]:
    """No warnings about characters that the font does not have, such as emoji."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


def titled(title: str, height: float) -> Figure:
    """An empty figure as wide as a page, its title at the left."""
    drawn = Figure(figsize=(6.3, height), layout="constrained")
    drawn.suptitle(title, x=0.01, ha="left", size=10, weight="bold", color=INK)
    return drawn


def write(draw: Callable[[], Figure], title: str, output: Path) -> None:
    """Writes the figure that `draw` returns in our style, as SVG, PNG or PDF by its suffix."""
    suffix = output.suffix.lower()
    if suffix not in UNDATED:
        raise UserError(f"cannot draw {output.name}: the name must end in .svg, .png or .pdf")
    if not output.parent.is_dir():
        raise UserError(f"no directory {output.parent} for {output.name}: make it first")
    metadata = {**UNDATED[suffix], "Title": title}
    with rc_context():
        rcdefaults()  # not the user's own matplotlibrc
        rcParams.update(STYLE)
        drawn = draw()
        with atomic.file(output) as aside:
            drawn.savefig(aside, format=suffix[1:], metadata=metadata, dpi=200)
