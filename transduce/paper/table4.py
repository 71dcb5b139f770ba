"""Table 4: English constituency parsing, the paper's rows beside recorded results."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from transduce.errors import InputError
from transduce.table import paragraph, render_table

WSJ, SEMI = "WSJ only", "semi-supervised"
SIDES = ("encoder", "decoder")


@dataclass(frozen=True)
class Row:
    """A parser, what it was trained on and its F1 on a test set; the rest of recorded results."""

    parser: str
    training: str
    test: str
    f1: float
    complete_match: float | None = None
    beam: int | None = None
    sentences_per_second: float | None = None


PAPER = [
    Row(parser, training, "WSJ 23", f1)
    for parser, training, f1 in (
        ("Vinyals & Kaiser et al. (2014)", f"{WSJ}, discriminative", 88.3),
        ("Petrov et al. (2006)", f"{WSJ}, discriminative", 90.4),
        ("Zhu et al. (2013)", f"{WSJ}, discriminative", 90.4),
        ("Dyer et al. (2016)", f"{WSJ}, discriminative", 91.7),
        ("Transformer (4 layers)", f"{WSJ}, discriminative", 91.3),
        ("Zhu et al. (2013)", SEMI, 91.3),
        ("Huang & Harper (2009)", SEMI, 91.3),
        ("McClosky et al. (2006)", SEMI, 92.1),
        ("Vinyals & Kaiser et al. (2014)", SEMI, 92.1),
        ("Transformer (4 layers)", SEMI, 92.7),
        ("Luong et al. (2015)", "multi-task", 93.0),
        ("Dyer et al. (2016)", "generative", 93.3),
    )
]


def read_rows(folder: Path) -> list[Row]:
    """The results of parsers that `transduce parse --record` wrote into a folder."""
    rows = []
    for file in sorted(folder.glob("*.json")):
        try:
            content = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"{file} cannot be read: {error}") from None
        scores = content.get("scores", {}) if isinstance(content, dict) else {}
        if "f1" not in scores:
            continue
        settings, trained = content["model"]["settings"], content["data"].get("train", [])
        kind = settings.get("kind", "transformer")
        if kind == "transformer":
            layers = [settings.get(f"n_{side}_layers", settings["n_layers"]) for side in SIDES]
            name = f"{layers[0]}+{layers[1]} layers of {settings['d_model']}"
        else:
            width = settings["d_recurrent" if kind == "recurrent" else "d_model"]
            name = f"{kind}, {width}"
        seconds = scores.get("seconds")
        rows.append(
            Row(
                name,
                " + ".join(item["file"] for item in trained),
                content["title"],
                scores["f1"],
                scores["complete_match"],
                (content.get("search") or {}).get("beam"),
                scores["sentences"] / seconds if seconds else None,
            )
        )
    return rows


def to_json(rows: list[Row]) -> str:
    return json.dumps([asdict(row) for row in rows], indent=2)


def render(ours: list[Row]) -> str:
    paper = [(row.parser, row.training, f"{row.f1:.1f}") for row in PAPER]
    page = render_table("Table 4", ("the paper, WSJ section 23", "training", "F1"), "<<>", paper)
    if not ours:
        return f"{page}\n\nNo result of our own is recorded here: recipes/craft.sh makes one."
    beams = sorted({row.beam for row in ours if row.beam is not None})
    headings = ("ours", "network", *(f"F1, {beam}" for beam in beams), "exact", "sent./s")
    cells = []
    for group in grouped(ours):
        f1, widest = {row.beam: f"{row.f1:.1f}" for row in group}, group[-1]
        numbers = map(_number, (widest.complete_match, widest.sentences_per_second))
        cells.append((widest.test, widest.parser, *(f1.get(beam, "") for beam in beams), *numbers))
    note = (
        "network: layers of encoder and decoder, and d_model; F1 by beam size; exact: the "
        "percentage of sentences whose brackets are all correct, and sentences per second by the "
        "clock, with the largest beam. EVALB's rules with COLLINS.prm and gold tags."
    )
    columns = f"<<{'>' * (len(beams) + 2)}"
    return f"{page}\n\n{render_table('', headings, columns, cells)}\n{paragraph(note)}"


def grouped(rows: list[Row]) -> list[list[Row]]:
    """The results of a parser on a set, by beam size; its dev and test sets stand together."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in sorted(rows, key=lambda row: row.beam or 0):
        name, _, split = row.test.rpartition(", ")
        groups.setdefault((name, split, row.parser), []).append(row)
    return [groups[key] for key in sorted(groups)]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"
