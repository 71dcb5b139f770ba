"""Attention weights as pictures: lines between words, heat maps, and all heads on one page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from transduce.attend.examples import PaperFigure
from transduce.attend.view import Choice, View, choose
from transduce.errors import InputError
from transduce.figures.attention_marks import (
    MARGIN,
    NOTE,
    TEXT,
    TITLE,
    color_of,
    draw_cell,
    draw_heat,
    draw_legend,
    draw_numbers,
    draw_scale,
    legend_rows,
    short,
    word_width,
    wrapped_notes,
    write_notes,
)
from transduce.figures.page import FAINT, INK, Line, Page
from transduce.figures.picture import any_character, write

PALE = "#b5b5b5"
ROW, PAD = 17.0, 7.0
LEAST = 0.01  # the smallest weight that is drawn as a line
CELL, NUMBERED = 14.0, 21.0  # of a heat map, without and with numbers
THUMBNAIL, BETWEEN = 66.0, 10.0
WIDEST_ROW = 1100.0  # of heat maps side by side
LARGEST = 22_000.0  # points; matplotlib draws no PNG of more than 2¹⁶ pixels
SUMMED = "Weights of word pieces are summed over keys and averaged over queries."


def draw(
    form: str,
    view: View,
    choice: Choice,
    output: Path,
    note: str = "",
    *,
    values: bool = False,
    layers: Sequence[int] = (),
) -> None:
    """Writes a picture in a form: lines, matrix or grid, as SVG, PNG or PDF."""
    with any_character():
        figure = {
            "lines": lambda: lines(view, choice, note),
            "matrix": lambda: matrix(view, choice, note, values),
            "grid": lambda: grid(view, note, layers),
        }[form]
        write(lambda: _fitting(figure(), output), f"Attention: {view.title}", output)


def draw_paper_figure(figure: PaperFigure, output: Path) -> None:
    """Writes Figure 3, 4 or 5 with the paper's claim and what is seen, as SVG, PNG or PDF."""
    view, layer = figure.view, figure.panels[0][1].layer
    title = f"Figure {figure.number}: {figure.title}; layer {layer} of {view.n_layers}"
    panels = [Panel(name, view, choice) for name, choice in figure.panels]
    note = f"The paper: {figure.claim}\nThis model: {figure.found}\n{_lines_note(view)}"
    with any_character():
        write(lambda: line_panels(title, panels, note), f"Figure {figure.number}", output)


def _fitting(figure: Figure, output: Path) -> Figure:
    if output.suffix.lower() == ".png" and max(figure.get_size_inches()) * 72 > LARGEST:
        raise InputError(
            f"the picture is too large for {output.name}: draw it as .svg, .pdf or .html"
        )
    return figure


def lines(view: View, choice: Choice | None = None, note: str = "") -> Figure:
    """The paper's form: two columns of words; colour is the head, opacity the weight."""
    choice = choice or choose(view)
    title = f"{_capital(view.title)}, layer {choice.layer} of {view.n_layers}"
    if choice.row is not None:
        title += f", from “{short(view.queries[choice.row])}”"
    return line_panels(title, [Panel("", view, choice)], note)


@dataclass(frozen=True)
class Panel:
    """Lines between two columns of words, under a title of its own."""

    title: str
    view: View
    choice: Choice

    @property
    def rows(self) -> int:
        return max(len(self.view.queries), len(self.view.keys))

    @property
    def columns(self) -> tuple[float, float, float, float]:
        """The widths of the queries, the lines, the keys, and the weights beside the keys."""
        between = min(max(170.0, 7.0 * self.rows), 380.0)
        cells = 8.0 * len(self.choice.heads) + PAD if self.choice.row is not None else 0.0
        words = (max(map(word_width, side)) for side in (self.view.queries, self.view.keys))
        return next(words), between, next(words), cells

    @property
    def width(self) -> float:
        return max(sum(self.columns), Line(self.title, TEXT, INK, bold=True).width)


def line_panels(title: str, panels: Sequence[Panel], note: str = "") -> Figure:
    """One or more pictures of lines side by side, with one legend."""
    heads = sorted({head for panel in panels for head in panel.choice.heads})
    inner = sum(panel.width for panel in panels) + 44.0 * (len(panels) - 1)
    wide = max(inner, 280.0, Line(title, TITLE, INK, True).width)
    page = Page(wide + 2 * MARGIN)
    notes = wrapped_notes(note or _lines_note(panels[0].view), wide)
    legend = legend_rows(heads, wide)
    named = 20.0 if any(panel.title for panel in panels) else 0.0
    rows = max(panel.rows for panel in panels)
    height = 2 * MARGIN + TITLE + 40 + 15 * len(legend) + named + ROW * rows + 11 * len(notes)
    top = height - MARGIN
    page.text((MARGIN, top - TITLE / 2), Line(title, TITLE, INK, bold=True), "left")
    top -= TITLE + 14
    for row in legend:
        draw_legend(page, row, top)
        top -= 15
    top -= 12
    x = MARGIN + (wide - inner) / 2
    for panel in panels:
        if panel.title:
            at = x + panel.width / 2, top - named / 2 + 4
            page.text(at, Line(panel.title, TEXT, INK, bold=True))
        _lines(page, panel, (x + (panel.width - sum(panel.columns)) / 2, top - named))
        x += panel.width + 44.0
    write_notes(page, notes)
    return page.finish(height)


def _lines(page: Page, panel: Panel, corner: tuple[float, float]) -> None:
    """The words and lines below and to the right of a corner."""
    view, choice = panel.view, panel.choice
    left, between, right, _ = panel.columns
    x1, x2 = corner[0] + left, corner[0] + left + between
    ys = [corner[1] - ROW * (i + 0.5) for i in range(panel.rows)]
    chosen = choice.row is not None
    if view.kind == "cross":
        page.text((x1, ys[0] + ROW), Line("target", NOTE, FAINT), "right")
        page.text((x2, ys[0] + ROW), Line("source", NOTE, FAINT), "left")
    for i, word in enumerate(view.queries):
        ink = INK if choice.row in (None, i) else PALE
        page.text((x1, ys[i]), Line(short(word), TEXT, ink, bold=i == choice.row), "right")
    for j, word in enumerate(view.keys):
        page.text((x2, ys[j]), Line(short(word), TEXT), "left")
    for number, head in enumerate(choice.heads):
        weights = view.of(choice.layer, head)
        spread = (number - (len(choice.heads) - 1) / 2) * min(1.5, 8 / len(choice.heads))
        drawn = [
            (i, j, float(weights[i, j]))
            for i in choice.rows(view)
            for j in range(len(view.keys))
            if weights[i, j] >= LEAST
        ]
        ends = [
            [(x1 + PAD, ys[i] - spread * (not chosen)), (x2 - PAD, ys[j] - spread)]
            for i, j, _ in drawn
        ]
        colors = [to_rgba(color_of(head), min(w, 1.0)) for _, _, w in drawn]
        page.axes.add_collection(
            LineCollection(ends, colors=colors, linewidths=1.6, capstyle="round", zorder=2)
        )
        if choice.row is not None:
            x = x2 + right + PAD + 8.0 * number
            for j, weight in enumerate(weights[choice.row]):
                draw_cell(page, (x, ys[j] - 5), (7.0, 10.0), to_rgba(color_of(head), float(weight)))


def matrix(
    view: View, choice: Choice | None = None, note: str = "", values: bool = False
) -> Figure:
    """Heat maps of the heads of a layer; of a single query, one row for each head."""
    choice = choice or choose(view)
    title = f"{_capital(view.title)}, layer {choice.layer} of {view.n_layers}"
    if choice.row is None:
        panels = [(f"head {head}", view.of(choice.layer, head)) for head in choice.heads]
        rows: Sequence[str] = view.queries
    else:
        title += f", from “{short(view.queries[choice.row])}”"
        heads = [view.of(choice.layer, head)[choice.row] for head in choice.heads]
        panels = [("", np.stack(heads))]
        rows = [f"head {head}" for head in choice.heads]
    cell = NUMBERED if values else CELL
    names, above = max(map(word_width, rows)), max(map(word_width, view.keys))
    heading = 16 if choice.row is None else 0
    least = Line(panels[-1][0], TEXT, bold=True).width + 16
    panel = (
        max(names + PAD + cell * len(view.keys), least),
        above + PAD + cell * len(rows) + heading,
    )
    across = max(1, min(len(panels), int(WIDEST_ROW // (panel[0] + 24))))
    down = -(-len(panels) // across)
    wide = max(across * (panel[0] + 24) - 24, Line(title, TITLE, INK, True).width, 260.0)
    notes = wrapped_notes(note or _matrix_note(view), wide)
    height = 2 * MARGIN + TITLE + 36 + down * (panel[1] + 20) + 11 * len(notes)
    page = Page(wide + 2 * MARGIN)
    top = height - MARGIN
    page.text((MARGIN, top - TITLE / 2), Line(title, TITLE, INK, bold=True), "left")
    draw_scale(page, top - TITLE - 16)
    top -= TITLE + 36
    for number, (name, weights) in enumerate(panels):
        x = MARGIN + (number % across) * (panel[0] + 24) + names + PAD
        y = top - (number // across) * (panel[1] + 20)
        if name:
            head = choice.heads[number]
            draw_cell(page, (x - names - PAD, y - 11), (8.0, 8.0), to_rgba(color_of(head)))
            page.text((x - names - PAD + 12, y - 7), Line(name, TEXT, INK, bold=True), "left")
        y -= heading + above + PAD
        for j, key in enumerate(view.keys):
            at = x + cell * (j + 0.5), y + PAD / 2
            page.text(at, Line(short(key), TEXT), "left", upright=False)
        for i, row in enumerate(rows):
            page.text((x - PAD / 2, y - cell * (i + 0.5)), Line(short(row), TEXT), "right")
        draw_heat(page, weights, (x, y), (cell * len(view.keys), cell * len(rows)))
        if values:
            draw_numbers(page, weights, (x, y), cell)
    write_notes(page, notes)
    return page.finish(height)


def grid(view: View, note: str = "", layers: Sequence[int] = ()) -> Figure:
    """Every head of every layer (or of the given ones) as a thumbnail."""
    shown = list(layers) or list(range(1, view.n_layers + 1))
    title = f"{_capital(view.title)}: every head"
    names = Line("layer 10", TEXT).width + PAD
    step = THUMBNAIL + BETWEEN
    wide = max(names + step * view.n_heads - BETWEEN, 300.0)
    queries, keys = " ".join(view.queries), " ".join(view.keys)
    said = f"Rows: {queries}\n" + (
        f"Columns: {keys}\n" if keys != queries else "Columns: the same.\n"
    )
    notes = wrapped_notes(said + (note or _matrix_note(view)), wide)
    height = 2 * MARGIN + TITLE + 52 + step * len(shown) + 11 * len(notes)
    page = Page(wide + 2 * MARGIN)
    top = height - MARGIN
    page.text((MARGIN, top - TITLE / 2), Line(title, TITLE, INK, bold=True), "left")
    draw_scale(page, top - TITLE - 16)
    top -= TITLE + 46
    for number, layer in enumerate(shown):
        y = top - step * number
        page.text((MARGIN, y - THUMBNAIL / 2), Line(f"layer {layer}", TEXT), "left")
        for head in range(1, view.n_heads + 1):
            x = MARGIN + names + step * (head - 1)
            if number == 0:
                page.text((x + THUMBNAIL / 2, y + 9), Line(f"head {head}", TEXT))
            draw_heat(page, view.of(layer, head), (x, y), (THUMBNAIL, THUMBNAIL))
    write_notes(page, notes)
    return page.finish(height)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _lines_note(view: View) -> str:
    return (
        f"Colour is the head, opacity the weight; weights under {100 * LEAST:.0f} % are not drawn. "
        f"{_reading(view)}"
    )


def _matrix_note(view: View) -> str:
    return f"Each row sums to 1. {_reading(view)}"


def _reading(view: View) -> str:
    written = "A word of the target looks at the source when it is written. "
    return (written if view.kind == "cross" else "") + ("" if view.pieces else SUMMED)
