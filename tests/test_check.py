"""Preflight: what it counts, measures and refuses is what training does."""

import json
import random
import tempfile
from itertools import islice
from pathlib import Path

import digits
import numpy as np
import pytest
import torch
from checking import TINY, check, invoke, write_corpus
from hypothesis import given
from hypothesis import strategies as st

from transduce.check.overlap import RUN, runs_of
from transduce.check.sizes import plan_of
from transduce.check.text import Places
from transduce.config import TrainConfig
from transduce.corpus.text import Text
from transduce.store import Store
from transduce.tasks import TRANSLATION
from transduce.train import inputs
from transduce.train.loop import Trainer
from transduce.train.prepare import reopen
from transduce.train.processes import Processes
from transduce.train.progress import Display
from transduce.train.run import Run, numbered, read_config
from transduce.train.state import read_state


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> list[str]:
    return write_corpus(tmp_path_factory.mktemp("text"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory, corpus) -> Run:
    run = tmp_path_factory.mktemp("runs") / "run"
    result = invoke("train", str(run), *TINY, *corpus)
    assert result.exit_code == 0, result.stderr
    return Run(run)


@pytest.fixture(scope="module")
def facts(corpus) -> dict:
    return check(*corpus)


def test_what_check_counts_is_what_training_keeps_and_drops(trained, facts) -> None:
    for name, store in (("train", "training"), ("valid", "validation")):
        tally = Store.open(trained.data / name).tally
        found_tally = facts["corpora"][store]
        assert (found_tally["read"], found_tally["kept"]) == (tally.read, tally.kept)
        assert found_tally["dropped"] == dict(tally.dropped)
    assert set(facts["corpora"]["training"]["dropped"]) == {
        "empty",
        "identical",
        "length ratio",
        "duplicate",
        "too long",
    }


def test_the_model_that_check_counts_is_the_one_that_is_trained(trained, facts) -> None:
    config = read_config(trained)
    model = json.loads(invoke("info", str(trained.model), "--json").stdout)
    assert facts["network"]["parameters"] == model["parameters"]
    assert facts["vocabulary"]["size"] == config.model.vocab_size
    assert facts["settings"]["model.d_model"] == config.model.d_model
    disk = sum(f.stat().st_size for f in (trained.checkpoints / "step-00000004").iterdir())
    assert facts["network"]["memory"]["checkpoint"] == pytest.approx(disk, rel=0.3)


@pytest.mark.parametrize("accumulate", [1, 3])
def test_the_batches_that_check_counts_are_those_that_training_reads(
    trained, tmp_path, accumulate
) -> None:
    changes = {"train": TrainConfig(tokens_per_batch=128, accumulate=accumulate, steps=10_000)}
    config, data = read_config(trained).replace(**changes), reopen(trained)
    trainer = Trainer(Run(tmp_path), config, data, Processes(0, 1, torch.device("cpu")), Display())
    try:
        plan = plan_of(data.train, config.train)
        read = list(islice(trainer._batches(), len(plan.batches)))
    finally:
        trainer.close()
    assert all(np.array_equal(a, b) for a, (b, _) in zip(plan.batches, read, strict=True))
    assert plan.parts == trainer.batching[0].micro_batches
    assert [ends for _, ends in read] == [False] * (len(read) - 1) + [True]
    assert np.array_equal(np.sort(np.concatenate(plan.micro_batches)), np.arange(len(data.train)))


def test_every_dropped_pair_is_shown_with_the_line_that_it_stands_on(facts, corpus) -> None:
    lines = Path(corpus[1]).read_text("utf-8").split("\n")
    examples = facts["corpora"]["training"]["examples"]
    for shown in examples.values():
        for example in shown:
            file, number = example["where"].split(", line ")
            assert file == "train.tsv"
            assert lines[int(number) - 1] == f"{example['source']}\t{example['target']}"
    assert examples["empty"][0]["where"] == "train.tsv, line 11"
    assert examples["duplicate"][0]["where"] == "train.tsv, line 51"
    assert examples["too long"][0]["tokens"] > 100


def test_a_pair_is_found_in_its_file_whatever_the_format(tmp_path) -> None:
    blank = tmp_path / "a.jsonl"
    blank.write_text(
        '{"source": "a", "target": "b"}\n\n \n{"source": "c", "target": "d"}\n', "utf-8"
    )
    tabbed = tmp_path / "b.tsv"
    tabbed.write_text("e\tf\n\t\ng\th\n", "utf-8")
    text = Text((blank, tabbed))
    places = Places(text)
    assert [places(n) for n in range(1, 6)] == [
        "a.jsonl, line 1",
        "a.jsonl, line 4",
        "b.tsv, line 1",
        "b.tsv, line 2",
        "b.tsv, line 3",
    ]
    assert len(list(TRANSLATION.read(text))) == 5
    sides = Places(Text((blank,), (tabbed,)))
    assert sides(2, "target") == "b.tsv, line 2"


def sentence(rng: random.Random, words: int) -> str:
    return " ".join(str(rng.randrange(10**6)) for _ in range(words))


def plant(tmp_path: Path) -> tuple[list[str], dict[str, int]]:
    """Test data some of which is in the training data, in four ways."""
    rng = random.Random()
    fresh = [(sentence(rng, 16), sentence(rng, 16)) for _ in range(60)]
    train = [(sentence(rng, 16), sentence(rng, 16)) for _ in range(120)]
    test = list(fresh)
    for i in range(3):  # whole pairs, but for case and spaces
        train[i] = (f"A{i} {test[i][0]}", test[i][1])
        test[i] = (f"  a{i}  {test[i][0]} ", test[i][1])
    for i in range(3, 8):
        train[i] = (test[i][0], train[i][1])
    for i in range(8, 10):
        train[i] = (train[i][0], test[i][1])
    for i in range(10, 14):  # so many words in a row, punctuation added
        words = test[i][0].split()
        train[i] = (f"x {', '.join(words[2 : 2 + RUN])}. y", train[i][1])
    words = test[14][0].split()
    train[14] = (" ".join(words[: RUN - 1]), train[14][1])  # one word too few
    files = [
        str(digits.write(tmp_path / name, lines))
        for name, lines in (("train.tsv", train), ("valid.tsv", fresh[40:]), ("test.tsv", test))
    ]
    args = ["--train", files[0], "--valid", files[1], "--test", files[2]]
    return args, {"sentences": 60, "seen": 10, "source": 8, "target": 5, "pair": 3, "near": 4}


def test_exactly_the_test_sentences_that_are_in_the_training_data_are_found(tmp_path) -> None:
    args, expected = plant(tmp_path)
    facts = check(*args, "--set", "data.max_ratio=99.0")
    found = facts["overlaps"]["test"]
    assert {key: found[key] for key in expected} == expected
    assert found["long_enough"] == 60
    first = found["examples"][0]
    assert (first["where"], first["training"]) == ("test.tsv, line 1", "train.tsv, line 1")
    assert facts["overlaps"]["validation"]["seen"] == 0
    assert facts["warnings"][:2] == [
        "10 of 60 test sentences are in the training data: 8 by source, 5 by target, 3 whole",
        "4 other test sentences share 13 words in a row with the training data",
    ]


@given(st.lists(st.lists(st.integers(0, 3), max_size=40), min_size=2, max_size=2))
def test_two_texts_share_a_number_exactly_if_they_share_so_many_words_in_a_row(texts) -> None:
    def windows(words: list[int]) -> set[tuple[int, ...]]:
        return {tuple(words[i : i + RUN]) for i in range(len(words) - RUN + 1)}

    runs, rows = runs_of([" ".join(map(str, words)) for words in texts])
    ours = [set(runs[rows == row].tolist()) for row in (0, 1)]
    assert bool(ours[0] & ours[1]) == bool(windows(texts[0]) & windows(texts[1]))
    assert [len(found) for found in ours] == [len(windows(words)) for words in texts]


def test_twice_the_batch_needs_about_twice_the_activations(corpus) -> None:
    half, whole = (
        check(*corpus, "--set", f"train.tokens_per_batch={size}")["network"]["memory"]
        for size in (400, 800)
    )
    assert half["activations"] * 1.5 < whole["activations"] < half["activations"] * 2.5
    assert half["moments"] == whole["moments"]


def bad_inputs(folder: Path) -> dict[str, list[str]]:
    """Arguments that training refuses, by what is wrong with them."""
    good = digits.write(folder / "good.tsv", digits.pairs(100, seed=1))
    (folder / "a.en").write_text("One.\nTwo.\n", "utf-8")
    (folder / "a.de").write_text("Eins.\n", "utf-8")
    (folder / "empty.tsv").write_text("", "utf-8")
    (folder / "latin.tsv").write_bytes(b"sch\xf6n\tnice\n")
    same = digits.write(folder / "same.tsv", [(f"{n}", f"{n}") for n in range(99)])
    few = digits.write(folder / "few.tsv", digits.pairs(9, seed=1))
    names = [(f"A {n} the", f"B {n} der") for n in range(99)]
    words = digits.write(folder / "words.tsv", names)
    swapped = digits.write(folder / "swapped.tsv", [(b, a) for a, b in names])
    return {
        "unequal": ["--train", str(folder / "a.en"), str(folder / "a.de")],
        "missing": ["--train", str(folder / "none.tsv")],
        "empty": ["--train", str(folder / "empty.tsv")],
        "latin1": ["--train", str(folder / "latin.tsv")],
        "identical": ["--train", str(same)],
        "too few": ["--train", str(few)],
        "three files": ["--train", str(good), str(good), str(good)],
        "swapped": ["--train", str(words), "--valid", str(swapped)],
        "no train": ["--valid", str(good)],
        "setting": ["--train", str(good), "--set", "model.n_head=4"],
        "vocabulary": ["--train", str(good), "--set", "data.vocab_size=100"],
        "preset": ["--train", str(good), "--preset", "smol"],
    }


def test_what_training_refuses_is_refused_with_the_same_sentence(tmp_path) -> None:
    for what, args in bad_inputs(tmp_path).items():
        training = invoke("train", str(tmp_path / "run" / what), *TINY, *args)
        checking = invoke("check", *TINY, *args)
        assert (training.exit_code, checking.exit_code) == (2, 2), what
        assert checking.stdout == ""
        assert checking.stderr == training.stderr.splitlines(keepends=True)[-1], what


def test_sentences_too_long_for_learned_positions_are_found_before_training(tmp_path) -> None:
    train = digits.write(tmp_path / "train.tsv", digits.pairs(100, seed=1))
    settings = digits.settings("model.positions=learned", "model.max_positions=5")
    result = invoke("check", *TINY, "--train", str(train), *settings, "--no-timing")
    assert result.exit_code == 2
    assert "is longer than this model's 5 learned positions" in result.stderr


def test_nothing_is_left_on_disk(corpus, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for args, code in ((corpus, 0), ([*corpus, "--set", "data.vocab_size=100"], 2)):
        assert invoke("check", *TINY, *args, "--no-timing").exit_code == code
        assert list(tmp_path.iterdir()) == []


def test_time_and_operations_follow_from_the_measured_steps(corpus) -> None:
    result = invoke("check", *TINY, *corpus, "--json")
    assert result.exit_code == 0, result.stderr
    facts = json.loads(result.stdout)
    timing, batching = facts["timing"], facts["batching"]
    assert timing["steps_timed"] >= 1
    assert timing["seconds_per_step"] > 0
    assert timing["hours"] == pytest.approx(4 * timing["seconds_per_step"] / 3600)
    assert timing["tokens_per_second"] * timing["seconds_per_step"] == pytest.approx(
        batching["target_tokens"]
    )
    operations = facts["operations"]
    assert operations["counted"] == pytest.approx(4 * batching["operations"])
    assert operations["by_time"] == pytest.approx(3600 * timing["hours"] * timing["machine_flops"])
    assert batching["epochs"] == pytest.approx(4 / batching["batches"])


def test_operations_are_those_that_training_counts(corpus, facts, tmp_path) -> None:
    epoch = facts["batching"]["batches"]
    steps = digits.settings(f"train.steps={epoch}", "train.bleu_sentences=0")
    result = invoke("train", str(tmp_path / "run"), *TINY, *steps, *corpus)
    assert result.exit_code == 0, result.stderr
    (*_, last) = numbered(tmp_path / "run" / "checkpoints")
    counted = epoch * facts["batching"]["operations"]
    assert read_state(last)[0].operations == pytest.approx(counted)


def test_the_page_says_what_the_json_says(corpus, facts) -> None:
    page = invoke("check", *TINY, *corpus, "--no-timing").stdout
    for heading in ("Text", "Length", "Pairs", "Overlap with the training data", "Training"):
        assert f"\n{heading}" in f"\n{page}"
    training = facts["corpora"]["training"]
    assert f"{training['read']:,} read, {training['kept']:,} kept" in page
    for reason, count in training["dropped"].items():
        assert f"{count} dropped: {reason}" in page
    assert f"{facts['network']['parameters']:,} parameters" in page
    assert page.endswith("This would train: 4 steps.\n")
    assert all(len(line) <= 110 for line in page.splitlines())


def test_the_built_in_corpus_shares_no_sentence_between_its_parts(monkeypatch) -> None:
    monkeypatch.setattr(inputs, "BUILTIN", {"train": 200, "valid": 5, "test": 5})
    facts = check("--set", "data.vocab_size=600")
    for name in ("validation", "test"):
        assert facts["overlaps"][name]["sentences"] == 5
        assert facts["overlaps"][name]["source"] == 0
