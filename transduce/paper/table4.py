"""Table 4: English constituency parsing, the paper's rows beside recorded results."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from transduce.errors import InputError
from transduce.table import render_table

WSJ, SEMI = "WSJ only", "semi-supervised"
SIDES = ("encoder", "decoder")


@dataclass(frozen=True)
class Row:
    """A parser, what it was trained on and its F1 on a test set."""

    parser: str
    training: str
    test: str
    f1: float
    complete_match: float | None = None


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
        layers = [settings.get(f"n_{side}_layers", settings["n_layers"]) for side in SIDES]
        name = f"transduce ({layers[0]} + {layers[1]} layers, d_model {settings['d_model']})"
        files = ", ".join(item["file"] for item in trained)
        rows.append(Row(name, files, content["title"], scores["f1"], scores["complete_match"]))
    return rows


def to_json(rows: list[Row]) -> str:
    return json.dumps([asdict(row) for row in rows], indent=2)


def render(ours: list[Row]) -> str:
    headings = ("parser", "training", "test", "F1", "complete match")
    cells = [
        (
            row.parser,
            row.training,
            row.test,
            f"{row.f1:.1f}",
            "" if row.complete_match is None else f"{row.complete_match:.1f}",
        )
        for row in [*PAPER, *ours]
    ]
    note = "" if ours else "\n\nNo result of our own is recorded here: recipes/craft.sh makes one."
    return render_table("Table 4: constituency parsing", headings, "<<<>>", cells) + note
