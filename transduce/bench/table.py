"""Tables for people."""

from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Literal

from rich import box
from rich.console import Console
from rich.table import Table

Column = tuple[str, Literal["left", "right"]]


def render_table(title: str, columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> str:
    table = Table(box=box.SIMPLE_HEAD, title=title, title_style="bold")
    for heading, justify in columns:
        table.add_column(heading, justify=justify)
    for row in rows:
        table.add_row(*row)
    out = StringIO()
    Console(file=out, width=100).print(table)
    return out.getvalue()
