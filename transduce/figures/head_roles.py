"""What every head of a model does, as one picture."""

from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from transduce.attend.heads import HeadFacts, HeadReport
from transduce.attend.report import signed
from transduce.attend.view import KINDS
from transduce.figures.attention_marks import MARGIN, NOTE, TEXT, TITLE, wrapped_notes, write_notes
from transduce.figures.page import FAINT, INK, Line, Page
from transduce.figures.picture import write

# tints of colours that are safe for colour blindness
COLORS = {
    "previous": "#9cc7e3",
    "same": "#f3c6a5",
    "next": "#a3d9c8",
    "end": "#d9d9d9",
    "start": "#d9d9d9",
    "punctuation": "#f5e6a3",
    "distant": "#c9b6e4",
    "content": "#ebb5d0",
    "broad": "#f4f4f4",
}
WIDE, HIGH, GAP = 76.0, 50.0, 4.0
NOTES = (
    "Colour and name: the role of a head, the share of its weight that most exceeds that of equal "
    "weights. Below: its entropy in bits, and what the loss per token grows by, in thousandths of "
    "a nat, when the head is switched off; the bar is as long as that is large."
)


def draw_heads(report: HeadReport, output: Path) -> None:
    """Writes the picture, as SVG, PNG or PDF."""
    write(lambda: heads(report), "What every head does", output)


def heads(report: HeadReport) -> Figure:
    """A tile for each head: rows are layers."""
    kinds = [kind for kind in KINDS if kind in report.measures]
    of = {kind: [head for head in report.heads if head.kind == kind] for kind in kinds}
    across = max(head.head for head in report.heads)
    names = Line("layer 10", TEXT).width + 8
    wide = max(names + across * (WIDE + GAP) - GAP, 420.0)
    notes = wrapped_notes(f"{NOTES} Measured on {report.sentences:,} sentences.", wide)
    rows = {kind: max(head.layer for head in of[kind]) for kind in kinds}
    height = 2 * MARGIN + TITLE + 22 + 11 * len(notes) + 12
    height += sum(44 + rows[kind] * (HIGH + GAP) for kind in kinds)
    largest = max((head.loss or 0.0 for head in report.heads), default=0.0)
    page = Page(wide + 2 * MARGIN)
    top = height - MARGIN
    page.text((MARGIN, top - TITLE / 2), Line("What every head does", TITLE, INK, True), "left")
    top -= TITLE + 22
    for kind in kinds:
        title = KINDS[kind]
        page.text((MARGIN, top), Line(title[0].upper() + title[1:], TEXT, INK, True), "left")
        for number in range(max(head.head for head in of[kind])):
            x = MARGIN + names + number * (WIDE + GAP) + WIDE / 2
            page.text((x, top - 18), Line(f"head {number + 1}", NOTE, FAINT))
        top -= 28
        for layer in range(rows[kind]):
            y = top - (layer + 0.5) * (HIGH + GAP)
            page.text((MARGIN, y), Line(f"layer {layer + 1}", TEXT), "left")
        for head in of[kind]:
            x = MARGIN + names + (head.head - 1) * (WIDE + GAP)
            _tile(page, head, (x, top - head.layer * (HIGH + GAP) + GAP), largest)
        top -= rows[kind] * (HIGH + GAP) + 16
    write_notes(page, notes)
    return page.finish(height)


def _tile(page: Page, head: HeadFacts, corner: tuple[float, float], largest: float) -> None:
    x, y = corner
    color = COLORS[head.role]
    page.axes.add_patch(Rectangle(corner, WIDE, HIGH, fc=color, ec="white", lw=0.5, zorder=1))
    page.text((x + 6, y + HIGH - 12), Line(head.role, TEXT - 0.5, INK, True), "left")
    page.text((x + 6, y + HIGH - 26), Line(f"{head.entropy:.1f} bits", NOTE, INK), "left")
    if head.loss is None:
        return
    loss = Line(signed(1000 * head.loss, 0), NOTE, INK)
    page.text((x + WIDE - 6, y + HIGH - 26), loss, "right")
    if head.loss > 0 and largest > 0:
        long = (WIDE - 12) * head.loss / largest
        page.axes.add_patch(Rectangle((x + 6, y + 6), long, 4, fc=INK, ec="none", zorder=3))
