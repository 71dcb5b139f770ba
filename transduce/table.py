"""Plain-text tables that fit the terminal."""

import re
import shutil
import textwrap
from collections.abc import Mapping, Sequence

GAP = "  "
NARROWEST = 80  # columns, even if the terminal has fewer
NO_TERMINAL = 100  # columns in a pipe or a file


def terminal_width() -> int:
    return max(NARROWEST, shutil.get_terminal_size((NO_TERMINAL, 0)).columns)


def render_table(
    title: str,
    headings: Sequence[str],
    sides: str,
    rows: Sequence[Sequence[str]],
    width: int | None = None,
) -> str:
    """A title, headings over a rule, and rows; `sides` aligns each column left (<) or right (>).

    An empty title, or headings that are all empty, are left out.

    Left-aligned cells and headings wrap between words, and after the | of a signature, if the table
    is wider than `width`, the terminal's by default. Other words are never broken and right-aligned
    cells never wrap, so a table with long words may be wider than `width`.

    >>> print(render_table("Scores", ("metric", "score"), "<>", [("BLEU", "44.01")]))
    Scores
      metric  score
      ─────────────
      BLEU    44.01
    """
    columns = list(zip(headings, *rows, strict=True))
    available = (width or terminal_width()) - len(GAP) * len(columns)
    widths = _widths(columns, sides, available)
    lines = [title] if title else []
    for number, row in enumerate([headings, *rows]):
        wrapped = [_wrap(cell, cell_width) for cell, cell_width in zip(row, widths, strict=True)]
        for i in range(max(map(len, wrapped))):
            cells = [part[i] if i < len(part) else "" for part in wrapped]
            aligned = zip(cells, sides, widths, strict=True)
            line = "".join(f"{GAP}{cell:{side}{w}}" for cell, side, w in aligned)
            lines.append(line.rstrip())
        if number == 0 and any(headings):
            lines.append(GAP + "─" * (sum(widths) + len(GAP) * (len(widths) - 1)))
    return "\n".join(lines)


def paragraph(text: str, indent: str = "", rest: str | None = None) -> str:
    """Text wrapped between words to fit the terminal; `rest` indents all lines but the first."""
    start = indent if rest is None else rest
    return "\n".join(_wrap(text, terminal_width(), initial_indent=indent, subsequent_indent=start))


def render_list(title: str, items: Mapping[str, Sequence[str]], width: int | None = None) -> str:
    """A list of named items with one or more lines each; the name is printed once."""
    rows = [
        ("" if number else name, line)
        for name, lines in items.items()
        for number, line in enumerate(lines)
    ]
    return render_table(title, ("", ""), "<<", rows, width)


def _widths(columns: Sequence[Sequence[str]], sides: str, available: int) -> list[int]:
    """As wide as the longest cell; if that is too wide, the widest columns shrink first."""
    widths = [max(map(len, column)) for column in columns]
    least = [
        max(
            _longest_word(heading),
            max(map(len if side == ">" else _longest_word, cells), default=0),
        )
        for (heading, *cells), side in zip(columns, sides, strict=True)
    ]
    while sum(widths) > available:
        shrinkable = [i for i in range(len(widths)) if widths[i] > least[i]]
        if not shrinkable:
            break
        widths[max(shrinkable, key=lambda i: widths[i])] -= 1
    return widths


class _Wrapper(textwrap.TextWrapper):
    wordsep_simple_re = re.compile(r"([\t\n\r ]+|(?<=\|)(?=\S))")


# A number and its unit stay on one line.
_UNIT = re.compile(r"(?<=\d) (?=(?:%|[KMGT]?i?B|GFLOP/s|h|min|s|days?|epochs|parameters)(?!\w))")


def _longest_word(text: str) -> int:
    return max(map(len, _Wrapper.wordsep_simple_re.split(_UNIT.sub("\xa0", text))), default=0)


def _wrap(text: str, width: int, **indents: str) -> list[str]:
    wrapper = _Wrapper(max(1, width), break_long_words=False, break_on_hyphens=False, **indents)  # type: ignore[arg-type]
    return [line.replace("\xa0", " ") for line in wrapper.wrap(_UNIT.sub("\xa0", text))]
