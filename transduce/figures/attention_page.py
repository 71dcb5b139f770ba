"""Attention weights as one HTML file that needs nothing else."""

import json
import re
from html import escape
from pathlib import Path

import numpy as np

from transduce import atomic
from transduce.attend.view import KINDS, Choice, View, kinds_of, view_of
from transduce.translate.attention import Attention, text_of

TEMPLATE = Path(__file__).with_name("attention.html")


def draw_page(
    attention: Attention,
    view: View,
    choice: Choice,
    form: str,
    output: Path,
    *,
    values: bool = False,
) -> None:
    """Writes a page with every kind, layer and head; it opens with what was chosen."""
    with atomic.file(output) as aside:
        aside.write_text(page(attention, view, choice, form, values), "utf-8")


def page(attention: Attention, view: View, choice: Choice, form: str, values: bool = False) -> str:
    """The page as text."""
    word = None if choice.row is None else {"side": "query", "index": choice.row}
    data = {
        "views": {
            kind: {
                "words": _entry(view_of(attention, kind)),
                "pieces": _entry(view_of(attention, kind, pieces=True)),
            }
            for kind in kinds_of(attention)
        },
        "titles": {kind: title[0].upper() + title[1:] for kind, title in KINDS.items()},
        "values": values,
        "start": {
            "kind": view.kind,
            "unit": "pieces" if view.pieces else "words",
            "layer": choice.layer,
            "heads": choice.heads,
            "form": form,
            "word": word,
        },
    }
    sides = attention.source[:-1], attention.target[1:]
    sentence = " → ".join(filter(None, map(text_of, sides)))
    parts = {
        "title": escape(f"Attention: {sentence}"),
        "sentence": escape(sentence),
        # < could end the script
        "data": json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], TEMPLATE.read_text("utf-8"))


def _entry(view: View) -> dict[str, object]:
    """Weights are in thousandths."""
    thousandths = np.rint(1000 * view.weights).astype(int).tolist()
    return {"queries": view.queries, "keys": view.keys, "weights": thousandths}
