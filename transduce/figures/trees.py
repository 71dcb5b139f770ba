"""Constituency trees as pictures: SVG, PNG or PDF, and HTML pages."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from matplotlib.figure import Figure

from transduce import atomic
from transduce.errors import UserError
from transduce.figures.page import FAINT, INK, Line, Page, Point
from transduce.figures.picture import STYLE, any_character, write
from transduce.parsing.tree import Leaf, Tree, to_brackets

WORD_INK, EDGE = "#1f4e79", "#999999"
LABEL_SIZE, WORD_SIZE = 8.5, 9.5
STEP, UNDER = 26.0, 13.0  # from a constituent down to its children, from a tag down to its word
GAP, MARGIN, BETWEEN = 9.0, 12.0, 24.0  # between words, around the page, between trees
CLEAR = 7.0  # from the middle of a label to the end of a line
WIDEST = 22_000.0  # points; matplotlib draws no PNG of more than 2¹⁶ pixels


@dataclass
class Drawing:
    """The marks of a tree, in points from its upper left corner; y grows downwards."""

    width: float = 0.0
    height: float = 0.0
    texts: list[tuple[Point, Line]] = field(default_factory=list)
    edges: list[list[Point]] = field(default_factory=list)


def draw_trees(trees: Sequence[Tree], output: Path) -> None:
    """Writes trees one below the other, in the format of the file's suffix."""
    drawings = [drawing_of(tree) for tree in trees]
    widest = max(drawing.width for drawing in drawings)
    if output.suffix.lower() == ".html":
        with atomic.file(output) as aside:
            aside.write_text(_page(trees, drawings), "utf-8")
        return
    if output.suffix.lower() == ".png" and widest > WIDEST:
        raise UserError(f"the tree is too wide for {output.name}: draw it as .svg, .pdf or .html")
    with any_character():
        write(lambda: _figure(drawings), "Parse trees", output)


def drawing_of(tree: Tree) -> Drawing:
    """Words stand in a row at the bottom, constituents above the middle of their children."""
    drawing, bottom = Drawing(), _depth(tree) * STEP
    with any_character():
        drawing.width = _width(tree)
        _put(tree, 0.0, drawing.width, 0.0, bottom, drawing)
    drawing.height = bottom + UNDER
    return drawing


def _label(tree: Tree) -> Line:
    if isinstance(tree, Leaf):
        return Line(tree.tag, LABEL_SIZE, FAINT)
    return Line(tree.label, LABEL_SIZE, INK, bold=True)


def _width(tree: Tree) -> float:
    label = _label(tree).width + GAP
    if isinstance(tree, Leaf):
        return max(label, Line(tree.word, WORD_SIZE).width + GAP)
    return max(label, sum(map(_width, tree.children)))


def _depth(tree: Tree) -> int:
    return 0 if isinstance(tree, Leaf) else 1 + max(map(_depth, tree.children))


def _put(tree: Tree, left: float, width: float, y: float, bottom: float, drawing: Drawing) -> Point:
    """Adds the marks of a tree to a drawing; the place of its label."""
    if isinstance(tree, Leaf):
        place = left + width / 2, bottom
        drawing.texts.append(((place[0], bottom + UNDER), Line(tree.word, WORD_SIZE, WORD_INK)))
    else:
        widths = [_width(child) for child in tree.children]
        left += (width - sum(widths)) / 2
        below = []
        for child, room in zip(tree.children, widths, strict=True):
            below.append(_put(child, left, room, y + STEP, bottom, drawing))
            left += room
        place = (below[0][0] + below[-1][0]) / 2, y
        # in right angles, so that no line crosses a label
        x, bar = place[0], y + STEP / 2
        for under in below:
            end = under[0], under[1] - CLEAR
            drawing.edges.append([(x, y + CLEAR), (x, bar), (end[0], bar), end])
    drawing.texts.append((place, _label(tree)))
    return place


def _figure(drawings: Sequence[Drawing]) -> Figure:
    page = Page(max(drawing.width for drawing in drawings) + 2 * MARGIN)
    height = sum(drawing.height + BETWEEN for drawing in drawings) - BETWEEN + 2 * MARGIN
    top = height - MARGIN
    for drawing in drawings:
        for edge in drawing.edges:
            xs, ys = [MARGIN + x for x, _ in edge], [top - y for _, y in edge]
            page.axes.plot(xs, ys, color=EDGE, linewidth=0.7, solid_joinstyle="round")
        for (x, y), line in drawing.texts:
            page.text((MARGIN + x, top - y), line)
        top -= drawing.height + BETWEEN
    return page.finish(height)


def _page(trees: Sequence[Tree], drawings: Sequence[Drawing]) -> str:
    fonts = ", ".join(STYLE["font.sans-serif"])
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8"><title>Parse trees</title>',
        f"<style>body {{ font-family: {fonts}, sans-serif; margin: 2em; color: {INK} }}",
        "figure { margin: 0 0 2em; overflow-x: auto } pre { white-space: pre-wrap }</style>",
        "</head><body>",
    ]
    for tree, drawing in zip(trees, drawings, strict=True):
        brackets = escape(to_brackets(tree))
        parts.append(f"<figure>{_svg(drawing)}<figcaption><pre>{brackets}</pre></figcaption>")
        parts.append("</figure>")
    return "\n".join([*parts, "</body></html>"]) + "\n"


def _svg(drawing: Drawing) -> str:
    width, height = drawing.width + 2 * MARGIN, drawing.height + 2 * MARGIN
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}pt" ']
    parts.append(f'height="{height:.0f}pt" viewBox="{-MARGIN} {-MARGIN} {width:.1f} {height:.1f}">')
    for edge in drawing.edges:
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in edge)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{EDGE}"/>')
    for (x, y), line in drawing.texts:
        weight = ' font-weight="bold"' if line.bold else ""
        place = f'x="{x:.1f}" y="{y + 0.365 * line.size:.1f}" text-anchor="middle"'
        style = f'font-size="{line.size}" fill="{line.color}"{weight}'
        parts.append(f"<text {place} {style}>{escape(line.text)}</text>")
    return "".join([*parts, "</svg>"])
