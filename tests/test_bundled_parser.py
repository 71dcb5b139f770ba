"""The bundled parser: complete, small, licensed, and as good as its records say."""

import gzip
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from transduce.cli import main
from transduce.directory import ModelDirectory
from transduce.model_names import bundled_parser

RESULTS = Path(__file__).parents[1] / "results"


@pytest.fixture(scope="module")
def directory() -> ModelDirectory:
    return ModelDirectory.open(bundled_parser())


def test_it_is_a_parser_of_at_most_10_mb_with_the_attribution_that_its_licence_asks_for(
    directory,
) -> None:
    assert directory.description.task == "parsing"
    assert sum(file.stat().st_size for file in directory.path.rglob("*") if file.is_file()) < 10e6
    card = (directory.path / "card.md").read_text("utf-8")
    assert "CC BY 3.0" in card
    assert "CRAFT" in card


def test_records_of_craft_are_of_this_model(directory) -> None:
    records = [json.loads(file.read_text("utf-8")) for file in RESULTS.glob("craft-dev*.json")]
    assert records
    for record in records:
        assert record["model"]["sha256"] == directory.checksums["model.safetensors"]
        assert record["scores"]["sentences"] == 2780


@pytest.mark.slow
def test_it_parses_unseen_articles(data, tmp_path) -> None:
    """The first 60 sentences of the test set, which vary: the whole is some points better."""
    with gzip.open(data / "treebank" / "craft" / "test.mrg.gz", "rt", encoding="utf-8") as stream:
        trees = [next(stream) for _ in range(60)]
    gold = tmp_path / "gold.mrg"
    gold.write_text("".join(trees), "utf-8")
    record = tmp_path / "record.json"
    words = ["parse", "--trees", str(gold), "--beam", "4", "--record", str(record)]
    done = CliRunner().invoke(main, [*words, "--output", str(tmp_path / "parsed.mrg")])
    assert done.exit_code == 0, done.stderr
    scores = json.loads(record.read_text("utf-8"))["scores"]
    assert scores["errors"] == 0
    assert scores["f1"] > 65
