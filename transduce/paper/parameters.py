"""Table 3, last column: millions of parameters."""

import json
from dataclasses import asdict, dataclass

import torch

from transduce.config import TABLE_3, ModelConfig
from transduce.model import Transformer, count_parameters
from transduce.table import paragraph, render_table

PAPER_VOCABULARY = 37_000  # §5.1, "about 37000 tokens"
CODE_VOCABULARY = 40_960  # what the paper's code padded it to

# What the paper prints, in millions; the rows it leaves blank are not here.
PRINTED = {
    "base": 65,
    "base-dk16": 58,
    "base-dk32": 60,
    "base-n2": 36,
    "base-n4": 50,
    "base-n8": 80,
    "base-d256": 28,
    "base-d1024": 168,
    "base-ff1024": 53,
    "base-ff4096": 90,
    "big": 213,
}


@dataclass(frozen=True)
class Row:
    """One row of Table 3 with the paper's count, in millions, and ours."""

    preset: str
    paper: int | None
    at_40960: int
    at_37000: int

    @property
    def agrees(self) -> bool | None:
        """Whether our count rounds to the printed one; None where the paper prints none."""
        return None if self.paper is None else round(self.at_40960 / 1e6) == self.paper


def count_table_3() -> list[Row]:
    """Counts every row's network, built on the meta device: shapes without memory."""
    return [
        Row(name, PRINTED.get(name), _count(name, CODE_VOCABULARY), _count(name, PAPER_VOCABULARY))
        for name in TABLE_3
    ]


def _count(preset: str, vocab_size: int) -> int:
    with torch.device("meta"):
        return count_parameters(Transformer(ModelConfig.preset(preset, vocab_size=vocab_size)))


def to_json(rows: list[Row]) -> str:
    return json.dumps([{**asdict(row), "agrees": row.agrees} for row in rows], indent=2)


def render(rows: list[Row]) -> str:
    """The paper's counts beside ours, and what explains the difference."""
    headings = ("row", "difference from base", "paper", "ours, V = 40,960", "ours, V = 37,000", "")
    cells = [
        (
            row.preset,
            ", ".join(
                f"{key} {value}"
                for section in TABLE_3[row.preset].values()
                for key, value in section.items()
            ),
            "" if row.paper is None else str(row.paper),
            f"{row.at_40960 / 1e6:.2f}",
            f"{row.at_37000 / 1e6:.2f}",
            {True: "✓", False: "✗", None: ""}[row.agrees],
        )
        for row in rows
    ]
    printed = [row for row in rows if row.paper is not None]
    agreeing = sum(row.agrees is True for row in printed)
    table = render_table("Table 3: parameters × 10⁶", headings, "<<>>><", cells)
    note = (
        f"{agreeing} of the paper's {len(printed)} printed counts reproduce at V = 40,960, the "
        "vocabulary its code padded to. The exception is big: 213 needs a vocabulary of about "
        "35,900, which nothing in paper or code explains."
    )
    return f"{table}\n\n{paragraph(note)}"
