"""A figure as a file: SVG, PNG or PDF, the same bytes every time."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from matplotlib import rc_context, rcdefaults, rcParams
from matplotlib.figure import Figure

from transduce import atomic
from transduce.errors import UserError

# Text stays text: it can be searched, selected and read aloud. Every line is one plain string
# with room for DejaVu Sans; Verdana is as wide and the other fallbacks are narrower, so that no
# viewer's fonts make labels collide.
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "transduce",
    "pdf.fonttype": 42,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica"],
}
UNDATED: dict[str, dict[str, str | None]] = {
    ".svg": {"Date": None, "Creator": None},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def write(
    draw: Callable[[], Figure], title: str, output: Path, style: dict[Any, Any] | None = None
) -> None:
    """Writes what `draw` draws, in our style, by the suffix of the file."""
    suffix = output.suffix.lower()
    if suffix not in UNDATED:
        raise UserError(f"cannot draw {output.name}: the name must end in .svg, .png or .pdf")
    if not output.parent.is_dir():
        raise UserError(f"no directory {output.parent} for {output.name}: make it first")
    metadata = {**UNDATED[suffix], "Title": title}
    with rc_context():
        rcdefaults()  # not the user's own matplotlibrc
        rcParams.update({**STYLE, **(style or {})})
        drawn = draw()
        try:
            with atomic.file(output) as aside:
                drawn.savefig(aside, format=suffix[1:], metadata=metadata, dpi=200)
        except OSError as error:
            raise UserError(f"cannot write {output}: {error.strerror}") from None
