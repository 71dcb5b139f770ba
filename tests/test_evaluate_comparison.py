"""Comparisons of two systems: the scores of both, and whether they differ significantly."""

import re
import subprocess
import sys

import pytest
from evaluating import (
    OTHERS,
    REFERENCES,
    TRANSLATIONS,
    Fixed,
    facts_of,
    invoke,
    load_fixed,
    write,
    write_files,
)
from sacrebleu.metrics import BLEU, CHRF, TER

from transduce.evaluate.comparison import compare

SENTENCES = [f"Das ist der Satz Nummer {n} von allen diesen Sätzen hier." for n in range(60)]


@pytest.fixture
def files(tmp_path) -> tuple[str, str]:
    return write_files(tmp_path)


@pytest.fixture
def system(monkeypatch) -> Fixed:
    return load_fixed(monkeypatch)


def test_both_systems_of_a_comparison_have_their_own_scores(system, files, tmp_path) -> None:
    other = write(tmp_path / "other.de", OTHERS)
    facts = facts_of(*files, "--against", other)
    against = facts["against"]
    for key, metric in {"bleu": BLEU(), "chrf": CHRF(), "ter": TER()}.items():
        both = against[key]
        assert both["ours"]["score"] == facts[key]
        assert both["other"]["score"] == metric.corpus_score(OTHERS, [REFERENCES]).score
        assert both["signature"].replace("bs:1000|seed:12345|", "") == facts[f"{key}_signature"]
        assert 0 < both["p_value"] <= 1
        assert both["ours"]["ci"] > 0
    assert against["name"] == other
    assert (against["samples"], against["seed"]) == (1000, "12345")
    assert facts_of(*files, "--against", other)["against"] == against


def test_a_comparison_is_that_of_the_sacrebleu_command(system, files, tmp_path) -> None:
    other, ours = write(tmp_path / "other", OTHERS), write(tmp_path / "ours", TRANSLATIONS)
    command = [sys.executable, "-m", "sacrebleu", files[1], "-i", other, ours, "--paired-bs"]
    command += ["-m", "bleu", "chrf", "ter", "-w", "6", "-f", "text", "--no-color"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    against = facts_of(*files, "--against", other)["against"]
    for both in (against["bleu"], against["chrf"], against["ter"]):
        for found in (both["ours"], both["other"]):
            assert "{score:.6f} ({mean:.6f} ± {ci:.6f})".format(**found) in done.stdout
        assert f"(p = {both['p_value']:.4f})" in done.stdout


def test_a_model_directory_is_translated_and_compared(system, files, tmp_path) -> None:
    (tmp_path / "rival").mkdir()
    other = write(tmp_path / "other.de", OTHERS)
    translated = facts_of(*files, "--against", tmp_path / "rival")["against"]
    read = facts_of(*files, "--against", other)["against"]
    assert translated | {"name": other} == read


def test_a_clear_difference_is_significant_and_none_is_not() -> None:
    worse = [sentence.replace("von allen", "aus") for sentence in SENTENCES]
    clear = compare(SENTENCES, worse, [SENTENCES], "worse", samples=200)
    for difference in (clear.bleu, clear.chrf, clear.ter):
        assert difference.p_value < 0.05
    same = compare(worse, worse, [SENTENCES], "same", samples=200)
    for difference in (same.bleu, same.chrf, same.ter):
        assert difference.p_value == 1
        assert difference.ours == difference.other


def test_a_comparison_is_the_same_from_either_side() -> None:
    one, two = SENTENCES[::-1], [s.replace("Satz", "Teil") for s in SENTENCES]
    forth = compare(one, two, [SENTENCES], "two", samples=100)
    back = compare(two, one, [SENTENCES], "one", samples=100)
    assert forth.bleu.p_value == back.bleu.p_value
    assert (forth.ter.ours, forth.ter.other) == (back.ter.other, back.ter.ours)


def test_the_page_names_every_metric_with_its_score_and_signature(
    system, files, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    other = write(tmp_path / "other.de", OTHERS)
    facts = facts_of(*files, "--against", other)
    page = invoke(*files, "--against", other).stdout
    for key, name in {"bleu": "BLEU", "chrf": "chrF2", "ter": r"TER \(less is better\)"}.items():
        signature = re.escape(facts[f"{key}_signature"])
        assert re.search(rf"^ *{name} +{facts[key]:.2f} +{signature}$", page, re.MULTILINE), page
    assert f"{facts['bleu_paper_signature']}\n" in page
    assert "perplexity" in page
    assert "flagged: empty" in page
    assert "paired bootstrap, 1,000 resamples, seed 12345" in page
    assert f"{facts['against']['bleu']['p_value']:.4f}" in page
