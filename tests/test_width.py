"""What is printed for people fits the terminal, 80 columns at least."""

import shlex
from pathlib import Path

import digits
import pytest
from click.testing import CliRunner

from transduce.cli import main
from transduce.evaluate import report
from transduce.evaluate.comparison import Comparison, Difference, Estimate
from transduce.evaluate.metrics import corpus_scores
from transduce.evaluate.output import SystemOutput

SETTINGS = digits.settings(*digits.SMALL, "train.steps=12", "train.checkpoint_steps=4")


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("w")
    train = [*digits.pairs(300, seed=1), ("1 " * 90, "2 " * 90), ("", "3"), ("4", "5 " * 40)]
    digits.write(place / "a-training-corpus-with-a-long-name.tsv", train)
    digits.write(place / "valid.tsv", digits.pairs(30, seed=2) + train[5:9])
    return place


def page(place: Path, *words: str) -> str:
    files = ["--train", "a-training-corpus-with-a-long-name.tsv", "--valid", "valid.tsv"]
    names = {"FILES": [*files, *SETTINGS]}
    done = CliRunner().invoke(main, [part for word in words for part in names.get(word, [word])])
    assert done.exit_code == 0, done.stderr
    return done.stdout


def widest(text: str) -> int:
    return max(map(len, text.split("\n")))


@pytest.mark.parametrize(
    "command",
    [
        "paper params",
        "presets",
        "presets --settings",
        "info",
        "info run",
        "check FILES --no-timing",
        "check FILES --set train.warmup_steps=4000 --set train.tokens_per_batch=40000",
        "explain 'A quick brown fox jumps over the lazy dog.' --seed 1",
        "explain 'Where is the station?' --kind cross",
        "explain 'Where is the station?' --kind decoder --layer 2 --head 2",
        "evaluate s t",
        "evaluate s t --translations u --against u",
    ],
)
def test_every_page_fits_80_columns(command, place, monkeypatch) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setenv("COLUMNS", "80")
    for name, text in (("s", "Hello.\n"), ("t", "Hallo.\n"), ("u", "Hallo!\n")):
        (place / name).write_text(text, "utf-8")
    if "run" in command and not (place / "run").exists():
        page(place, "train", "run", "FILES")
    words = shlex.split(command)
    assert widest(page(place, *words)) <= 80


def test_a_comparison_of_two_systems_fits_80_columns(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    estimate = Estimate(12.34, 12.35, 1.02)
    difference = Difference(estimate, estimate, 0.0123, "nrefs:1|bs:1000|seed:12345")
    compared = Comparison("runs/another-model-with-a-name/model", 1000, "12345", *3 * [difference])
    scores = corpus_scores(["Hallo."], [["Hallo!"]], "de")
    output = SystemOutput(["Hallo."], 1234.5, "ctranslate2", "int8", "cpu", (("repetition", 1),))
    found = report.Evaluation("RUN/model", "RUN/model", output, scores, 4.56, compared)
    text = report.render(found)
    assert widest(text) <= 80
    assert scores.bleu_paper.signature in "".join(text.split())
    monkeypatch.setenv("COLUMNS", "200")
    assert scores.bleu_paper.signature in report.render(found)  # room for a whole one
