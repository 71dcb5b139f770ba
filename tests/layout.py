"""What a figure looks like: its texts, and whether they can be read."""

import itertools
import xml.etree.ElementTree as ET
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Affine2D

from transduce.figures.architecture import MARGIN


def svg_texts(file: Path) -> list[str]:
    texts = ET.parse(file).getroot().iter("{http://www.w3.org/2000/svg}text")
    return [text.text or "" for text in texts]


def check_layout(drawn: Figure) -> None:
    """No text is small or touches another or a box or the edge of the page."""
    drawn.set_dpi(72 * 4)  # enough for hinting not to widen text
    points, renderer = Affine2D().scale(1 / 4), FigureCanvasAgg(drawn).get_renderer()
    (axes,), page = drawn.axes, drawn.bbox.transformed(points)
    texts = {text: text.get_window_extent(renderer).transformed(points) for text in axes.texts}
    rounded = [patch for patch in axes.patches if type(patch).__name__ == "FancyBboxPatch"]
    rounded.sort(key=lambda patch: patch.get_zorder())
    areas = [patch.get_window_extent(renderer).transformed(points) for patch in rounded]
    assert min(text.get_fontsize() for text in texts) >= 7
    for (one, at), (two, there) in itertools.combinations(texts.items(), 2):
        assert not at.padded(-1).overlaps(there.padded(-1)), (one.get_text(), two.get_text())
    for text, at in texts.items():
        assert MARGIN - 2 < at.x0 < at.x1 < page.width - MARGIN + 2, text.get_text()
        assert MARGIN - 2 < at.y0 < at.y1 < page.height - MARGIN + 2, text.get_text()
        corners = at.padded(-1).corners()
        inside = [sum(area.contains(x, y) for x, y in corners) for area in areas]
        front = max((i for i, count in enumerate(inside) if count == 4), default=0)
        assert set(inside[front:]) <= {0, 4}, text.get_text()  # boxes behind it are not seen
