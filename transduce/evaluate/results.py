"""The recorded results as a table in a document: `python -m … FOLDER DOCUMENT`."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transduce import atomic
from transduce.errors import InputError

BEGIN, END = "<!-- results -->", "<!-- /results -->"
NONE = "No result is recorded yet."
UNKNOWN = "–"

Record = Mapping[str, Any]  # as `transduce evaluate --record` writes it


def read_results(folder: Path) -> list[Record]:
    """The records of translations in a folder, by name; other JSON files are skipped."""
    records: list[Record] = []
    for file in sorted(folder.glob("*.json")):
        try:
            content = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"{file} cannot be read: {error}") from None
        if isinstance(content, dict) and "bleu" in content.get("scores", {}):
            records.append(content)
    return records


def render_results(records: Sequence[Record]) -> str:
    """A Markdown table with one row per result."""
    if not records:
        return NONE
    columns = [_cells(record) for record in records]
    headings = list(columns[0])
    rule = ["---" if heading == "result" else "---:" for heading in headings]
    rows = [headings, rule, *(list(cells.values()) for cells in columns)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cells(record: Record) -> dict[str, str]:
    scores, search = record["scores"], record["search"]
    model, training = record["model"], record["training"] or {}
    seconds = training.get("seconds")
    minutes = f"{seconds / 60:.0f}" if seconds is not None else UNKNOWN
    if "started_from" in training:
        minutes += f", from {training['started_from']}"
    found = f"{scores['bleu']:.2f}"
    if search:
        found += f" ({_search(search)})"
    return {
        "result": record["title"].replace("|", "\\|"),
        "parameters": f"{model['parameters']:,}" if model else UNKNOWN,
        "BLEU": found,
        "lowercased": f"{scores['bleu_lowercase']:.2f}",
        "lowercased, tokenised": f"{scores['bleu_tokenised_lowercase']:.2f}",
        "chrF2": f"{scores['chrf']:.2f}",
        "TER": f"{scores['ter']:.2f}",
        "minutes of training": minutes,
        "cores": f"{record['machine']['cores']}",
    }


def _search(search: Mapping[str, Any]) -> str:
    alpha = f"{search['alpha']:g}"
    penalty = {"average": f"score ÷ n^{alpha}", "none": "no penalty"}
    found = f"beam {search['beam']}, {penalty.get(search['penalty'], f'α {alpha}')}"
    return found + (f", --reverse {search['reverse']}" if "reverse" in search else "")


def replace_results(document: str, table: str) -> str:
    """The document with this table between its markers."""
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise InputError(f"the document has no place for results: write {BEGIN} and {END} in it")
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"


def update(folder: Path, document: Path) -> None:
    """Updates the table in a document from a folder of records."""
    text = replace_results(document.read_text("utf-8"), render_results(read_results(folder)))
    with atomic.file(document) as aside:
        aside.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    update(Path(sys.argv[1]), Path(sys.argv[2]))
