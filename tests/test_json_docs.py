"""docs/json.md has exactly the fields that are printed; `score` names its columns."""

import json
import re
from pathlib import Path

import digits
import pytest
from click.testing import CliRunner

from transduce.cli import main

PAGE = (Path(__file__).parents[1] / "docs" / "json.md").read_text("utf-8")


def documented(title: str) -> set[str]:
    (section,) = re.findall(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    return set(re.findall(r"^\| `(\w+)` \|", section, re.M))


def succeed(*words: str):
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("json")
    (place / "s").write_text("Hello.\nGood morning.\n", "utf-8")
    (place / "t").write_text("Hallo.\nGuten Morgen.\n", "utf-8")
    train = digits.write(place / "train.tsv", digits.pairs(120, seed=1))
    settings = digits.settings(*digits.SMALL, "train.steps=2")
    succeed("train", str(place / "run"), "--train", str(train), *settings)
    return place


def test_the_fields_of_score_are_documented(place) -> None:
    lines = succeed("score", str(place / "s"), str(place / "t"), "--json").stdout.splitlines()
    for line in map(json.loads, lines):
        assert line.keys() == documented("`score --json`")
        assert len(line["token_scores"]) == len(line["tokens"]) + 1
        assert "".join(line["tokens"]).replace("▁", " ").strip() == line["translation"]


def test_the_fields_of_evaluate_are_documented(place) -> None:
    files = [str(place / "s"), str(place / "t")]
    printed = succeed("evaluate", *files, "--json").stdout
    assert json.loads(printed).keys() | {"against"} == documented("`evaluate --json`")


def test_the_fields_of_attend_are_documented(place) -> None:
    model = ["--model", str(place / "run")]
    printed = succeed("attend", "Hello.", "--json", *model).stdout
    assert json.loads(printed).keys() == documented("`attend --json`")
    heads = succeed("attend", "--heads", "--input", str(place / "s"), "--json", *model).stdout
    found = json.loads(heads)
    fields = found.keys() | found["heads"][0].keys()
    assert fields == documented("`attend --heads --json`")


def test_the_fields_of_check_are_documented(place) -> None:
    files = ["--train", str(place / "train.tsv"), *digits.settings(*digits.SMALL)]
    printed = succeed("check", *files, "--no-timing", "--json").stdout
    assert json.loads(printed).keys() == documented("`check --json`")


def test_the_fields_of_info_are_documented(place) -> None:
    run = json.loads(succeed("info", str(place / "run"), "--json").stdout)
    assert run.keys() == documented("`info --json` of a run")
    model = json.loads(succeed("info", str(place / "run" / "model"), "--json").stdout)
    described = json.loads((place / "run" / "model" / "config.json").read_text("utf-8"))
    assert documented("`info --json` of a model") >= model.keys() - described.keys()
    assert documented("`info --json` of a model") <= model.keys()


def test_score_names_its_columns_on_request_and_not_in_a_pipe(place) -> None:
    files = [str(place / "s"), str(place / "t")]
    plain = succeed("score", *files).stdout.splitlines()
    named = succeed("score", *files, "--header").stdout.splitlines()
    assert named == ["log_prob\tper_token\tperplexity\tscore", *plain]
    entries = [json.loads(x) for x in succeed("score", *files, "--json").stdout.splitlines()]
    for line, entry in zip(plain, entries, strict=True):
        values = dict(zip(named[0].split("\t"), map(float, line.split("\t")), strict=True))
        assert values == pytest.approx({name: entry[name] for name in values}, abs=1e-6)


def test_help_of_score_explains_its_columns_and_token_scores() -> None:
    text = " ".join(CliRunner().invoke(main, ["score", "--help"]).stdout.split())
    for name in ("log_prob", "per_token", "perplexity", "score", "token_scores", "length"):
        assert name in text
