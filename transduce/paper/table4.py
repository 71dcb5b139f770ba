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
    headings = ("ours", "network", "trained on", "beam", "F1", "exact", "sent./s")
    cells = [
        (
            row.test,
            row.parser,
            row.training,
            "" if row.beam is None else f"{row.beam}",
            f"{row.f1:.1f}",
            "" if row.complete_match is None else f"{row.complete_match:.1f}",
            "" if row.sentences_per_second is None else f"{row.sentences_per_second:.1f}",
        )
        for row in ours
    ]
    note = (
        "network: layers of encoder and decoder, and d_model; F1, and the percentage of sentences "
        "whose brackets are all correct, by EVALB's rules with COLLINS.prm and gold tags; "
        "sentences per second by the clock"
    )
    return f"{page}\n\n{render_table('', headings, '<<<>>>>', cells)}\n{paragraph(note)}"
