"""Table 3's parameter counts."""

import json

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
