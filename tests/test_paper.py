"""Table 3's parameter counts."""

import json
import re

from click.testing import CliRunner

from transduce.cli import main
from transduce.config import TABLE_3
from transduce.paper.parameters import count_table_3


def test_every_printed_count_but_bigs_reproduces_after_rounding() -> None:
    rows = count_table_3()
    assert [row.preset for row in rows] == list(TABLE_3)
    printed = {row.preset: row.agrees for row in rows if row.paper is not None}
    assert printed.pop("big") is False
    assert len(printed) == 10
    assert all(printed.values())


def test_the_parameter_count_of_one_row_needs_attention_biases() -> None:
    """d_ff = 1024: the printed 53 million is 52.515 with attention biases and 52.478 without."""
    by_name = {row.preset: row for row in count_table_3()}
    assert round(by_name["base-ff1024"].at_40960 / 1e3) == 52_515
    assert round(by_name["base"].at_37000 / 1e4) == 6308
    assert round(by_name["big"].at_37000 / 1e4) == 21_425


def test_the_command_prints_the_papers_counts_and_ours() -> None:
    page = CliRunner().invoke(main, ["paper", "params"]).stdout
    for name in TABLE_3:
        assert f" {name} " in page
    rows = json.loads(CliRunner().invoke(main, ["paper", "params", "--json"]).stdout)
    assert rows[0] == {
        "preset": "base",
        "paper": 65,
        "at_40960": 65_110_016,
        "at_37000": 63_082_496,
        "agrees": True,
    }


def test_table_4_has_the_papers_rows_and_recorded_results(tmp_path) -> None:
    ours = {
        "title": "CRAFT, test",
        "scores": {"f1": 80.25, "complete_match": 20.5, "sentences": 30, "seconds": 12.0},
        "search": {"beam": 21},
        "model": {"settings": {"n_layers": 4, "n_decoder_layers": 3, "d_model": 256}},
        "data": {"train": [{"file": "train.mrg.gz", "sha256": None}]},
    }
    (tmp_path / "craft.json").write_text(json.dumps(ours), "utf-8")
    (tmp_path / "other.json").write_text(json.dumps({"scores": {"bleu": 1}}), "utf-8")
    lstm = {**ours, "model": {"settings": {"kind": "recurrent", "d_model": 64, "d_recurrent": 128}}}
    (tmp_path / "a.json").write_text(json.dumps(lstm), "utf-8")
    command = ["paper", "table4", "--results", str(tmp_path)]
    rows = json.loads(CliRunner().invoke(main, [*command, "--json"]).stdout)
    transformers = [row["f1"] for row in rows if row["parser"] == "Transformer (4 layers)"]
    assert transformers == [91.3, 92.7]
    assert len(rows) == 14
    assert rows[-2]["parser"] == "recurrent, 128"
    assert rows[-1]["parser"] == "4+3 layers of 256"
    assert rows[-1]["sentences_per_second"] == 2.5
    printed = CliRunner().invoke(main, command).stdout
    assert "80.2" in printed
    narrow = {**ours, "search": {"beam": 4}, "scores": {**ours["scores"], "f1": 78.5}}
    (tmp_path / "craft-beam-4.json").write_text(json.dumps(narrow), "utf-8")
    printed = CliRunner().invoke(main, command).stdout
    assert re.search(r"4\+3 layers of 256 +78\.5 +80\.2 ", printed)  # one line, by beam size
    assert "CRAFT, test" in " ".join(printed.split())
    assert max(map(len, printed.split("\n"))) <= 100
    done = CliRunner().invoke(main, [*command, "--output", str(tmp_path / "t.svg")])
    assert ">80.2<" in (tmp_path / "t.svg").read_text("utf-8"), done.stderr
