"""Preflight: it warns of unusual text and hopeless runs, and chooses a preset."""

import json
import random
import re
from dataclasses import replace
from pathlib import Path

import digits
import pytest
from checking import TINY, check, invoke, write_corpus

from transduce.check import preflight
from transduce.check.advice import warnings_of
from transduce.check.preflight import Preflight
from transduce.check.report import render
from transduce.check.text_checks import kinds_of
from transduce.check.timing import Timing
from transduce.cli.options import resolve_training
from transduce.config import ModelConfig, TrainConfig, resolve
from transduce.tasks import TRANSLATION
from transduce.train import inputs
from transduce.train.prepare import unseen
from transduce.train.run import Run, read_config


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> list[str]:
    return write_corpus(tmp_path_factory.mktemp("text"))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("A dog , and a cat .", "tokenised"),
        ("A d@@ og", "subwords"),
        ("Tom &amp; Jerry", "entities"),
        ("SchÃ¶n", "misread"),
        ("Sch\ufffdn", "lost"),
        ("A\x92s", "controls"),
        ("A\u2028B", "separators"),
        ("5\xa0Km", "no-break"),
        ("A\u200bB", "invisible"),
        ("Scho\u0308n", "decomposed"),
        ("A\ue000", "private"),
        ("all small", "lowercase"),
    ],
)
def test_what_is_unusual_about_a_line_is_named(text, kind) -> None:
    assert kinds_of(text) == [kind]


def test_an_ordinary_line_is_not_unusual() -> None:
    for text in ("A dog, and a cat.", "Grüße aus Köln – «schön»!", "10 % & Co", "你好，世界。"):
        assert kinds_of(text) == []


def test_text_that_looks_tokenised_is_warned_of(tmp_path) -> None:
    lines = [(f"A {n} , B .", f"B {n}, A.") for n in range(100)]
    facts = check("--train", str(digits.write(tmp_path / "train.tsv", lines)))
    assert facts["warnings"] == [
        'training data: 98 of 98 source lines have a space before "." or ",": the text looks '
        "tokenised; give raw text, since the vocabulary needs no tokeniser"
    ]
    assert facts["corpora"]["training"]["held_out"] == 2


def test_a_learning_rate_that_only_rises_is_warned_of(corpus) -> None:
    warning = (
        "the learning rate still rises when training ends: train.warmup_steps = 4,000, "
        "train.steps = 4"
    )
    assert warning in check(*corpus, "--set", "train.warmup_steps=4000")["warnings"]
    assert warning not in check(*corpus)["warnings"]


def test_r_drop_without_dropout_is_warned_of(corpus) -> None:
    r_drop = ["--set", "train.consistency=5"]
    warning = (
        "train.consistency takes twice the time for nothing without dropout, as both predictions "
        "of a sentence are the same: set model.p_drop"
    )
    assert warning in check(*corpus, *r_drop, "--set", "model.p_drop=0.0")["warnings"]
    assert warning not in check(*corpus, *r_drop, "--set", "model.p_drop=0.1")["warnings"]


def test_a_vocabulary_that_is_hardly_seen_is_warned_of(tmp_path) -> None:
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefgh", k=8)) for _ in range(400)]
    lines = [(f"A {word}", f"{word[::-1]} B") for word in words]
    train = str(digits.write(tmp_path / "train.tsv", lines))
    advice = "a smaller data.vocab_size suits so little text better"
    large, small = (
        check("--train", train, "--set", f"data.vocab_size={size}") for size in (1500, 290)
    )
    assert any(warning.endswith(advice) for warning in large["warnings"])
    assert not any(warning.endswith(advice) for warning in small["warnings"])
    assert large["vocabulary"]["rare"] > small["vocabulary"]["rare"]


def test_a_new_run_begins_with_the_warnings_of_check_and_a_resumed_one_does_not(
    tmp_path, corpus
) -> None:
    settings = [*TINY, *corpus, *digits.settings("train.warmup_steps=4000")]
    warnings = list(check(*corpus, *digits.settings("train.warmup_steps=4000"))["warnings"])
    assert len(warnings) >= 2
    first = invoke("train", str(tmp_path / "run"), *settings)
    assert [f"warning: {warning}" for warning in warnings] == [
        line for line in first.stderr.split("\n") if line.startswith("warning: ")
    ]
    steps = digits.settings("train.steps=6")
    again = invoke("train", str(tmp_path / "run"), *settings, *steps)
    assert again.exit_code == 0, again.stderr
    assert "warning: " not in again.stderr


@pytest.fixture
def measured(corpus, tmp_path) -> Preflight:
    """The preflight of a small run, not timed."""
    run = Run(tmp_path)
    (files, valid) = (Path(corpus[1]),), (Path(corpus[3]),)
    given = inputs.given_inputs(run, TRANSLATION, [files], valid)
    config = resolve("base", None, [word for word in TINY if word != "--set"])
    return preflight.check(run, config, given, None, False, unseen)


def timed(hours: float) -> Timing:
    return Timing("cpu", 2, False, 1, 1.0, 1.0, 1.0, hours, 1e9, None)


def test_a_run_that_takes_years_is_said_to_be_hopeless_with_a_preset_that_is_not(measured) -> None:
    big = measured.settings.replace(train=TrainConfig(), model=ModelConfig())
    slow = replace(measured, settings=big, timing=timed(24_336.0))
    (warning,) = [w for w in warnings_of(slow) if "hopeless" in w]
    assert warning.startswith(
        "this run is hopeless: it would take about 1,014.0 days on this machine"
    )
    assert re.search(r"; take --preset tiny, roughly \d+ (h|min|s)", warning)
    assert "That is hopeless" in render(slow)
    quick = replace(measured, settings=big, timing=timed(20.0))
    assert not [w for w in warnings_of(quick) if "hopeless" in w]
    assert "hopeless" not in render(quick)


def test_without_timing_the_least_time_is_what_is_said(measured) -> None:
    operations = replace(measured.operations, least_hours=24_336.0)
    big = measured.settings.replace(train=TrainConfig(), model=ModelConfig())
    (warning,) = [
        w
        for w in warnings_of(replace(measured, settings=big, operations=operations))
        if "hopeless" in w
    ]
    assert "it would take at least 1,014.0 days" in warning


def test_a_run_that_sees_its_text_thousands_of_times_is_hopeless(measured) -> None:
    batching = replace(measured.batching, epochs=50_000.0)
    (warning,) = [w for w in warnings_of(replace(measured, batching=batching)) if "hopeless" in w]
    assert "it would see the training data 50,000 times" in warning
    assert "on this machine" not in warning
    assert warning.endswith("lower train.steps or make the network smaller")  # tiny is larger


def chosen_by(result) -> str:
    (line,) = [line for line in result.stderr.split("\n") if "--preset" in line]
    return line


def test_without_a_preset_the_size_of_the_data_chooses_one_and_it_is_said(
    tmp_path, corpus, monkeypatch
) -> None:
    small = [word for word in TINY if not word.startswith("model.")]
    settings = [*digits.settings(*(w for w in small if "." in w)), *corpus]
    sentence = "no --preset given: tiny, which suits 200 pairs (`transduce presets`)"
    result = invoke("check", *settings, "--no-timing", "--json")
    assert chosen_by(result) == sentence
    assert json.loads(result.stdout)["settings"]["model.d_model"] == 128
    result = invoke("train", str(tmp_path / "run"), *settings)
    assert chosen_by(result) == sentence
    monkeypatch.setattr("transduce.config.presets.LARGEST_CORPUS", {"tiny": 10})
    assert "--preset" not in invoke("train", str(tmp_path / "run"), *settings).stderr
    assert read_config(Run(tmp_path / "run")).model.d_model == 128  # the run keeps its settings
    steps = digits.settings("train.steps=5")
    again = invoke("train", str(tmp_path / "run"), *settings, *steps)
    assert again.exit_code == 0, again.stderr
    assert read_config(Run(tmp_path / "run")).model.d_model == 128


def test_the_built_in_corpus_has_a_preset_of_its_own(tmp_path) -> None:
    settings, _, note = resolve_training(Run(tmp_path), (), (), None, None, None, None, ())
    assert settings == resolve("builtin")
    assert note == ""
