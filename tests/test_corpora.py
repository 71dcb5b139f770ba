"""Training on several corpora: weights, tags and noise."""

import json
import random
from collections import Counter
from pathlib import Path

import digits
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from transduce.batches import Batching, weighted_rows
from transduce.cli import main
from transduce.config import TrainConfig
from transduce.store import CorpusExamples, Store, build_corpora
from transduce.tokenizer import Tokenizer
from transduce.train.inputs import read_inputs
from transduce.train.run import Run

QUICK = [
    *("train.steps=2", "train.checkpoint_steps=1", "train.validate_steps=2", "model.d_model=16"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("text")
    for name, count in (("real", 400), ("synthetic", 200), ("valid", 20)):
        digits.write(place / f"{name}.tsv", digits.pairs(count, seed=count))
    return place


def invoke(*words: str, settings: tuple[str, ...] = ()):
    return CliRunner().invoke(main, [*words, *digits.settings(*digits.SMALL, *QUICK, *settings)])


@given(
    examples=st.integers(1, 60),
    weight=st.floats(0.01, 5),
    epochs=st.integers(1, 12),
    seed=st.integers(0, 2**32),
)
def test_every_example_is_seen_as_often_as_its_weight_says(examples, weight, epochs, seed) -> None:
    rows = [weighted_rows(examples, weight, [seed, 0], epoch) for epoch in range(epochs)]
    seen = Counter(np.concatenate(rows).tolist())
    assert abs(seen.total() - max(weight, 1 / examples) * examples * epochs) < 1
    counts = [seen[row] for row in range(examples)]
    assert max(counts) - min(counts) <= 1
    assert all(len(some) for some in rows)


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    place = tmp_path_factory.mktemp("store")
    lines = digits.pairs(300, seed=1)
    tokenizer = Tokenizer.learn(
        [" ".join(pair) for pair in lines], 300, place / "tokens.model", tags=["<bt>"]
    )
    corpora = [
        CorpusExamples(lines[:100], "real", 2.0),
        CorpusExamples(lines[100:], "synthetic", 0.25, "<bt>"),
    ]
    return build_corpora(corpora, tokenizer, place / "store", 100)


def test_an_epoch_has_each_corpus_by_its_weight_as_a_function_of_the_seed(store) -> None:
    real, synthetic = (part.examples for part in store.parts)
    settings = TrainConfig(tokens_per_batch=500, seed=3)
    for epoch in range(3):
        rows = np.concatenate(Batching(store, settings).epoch(epoch))
        assert (rows < real).sum() == 2 * real
        assert abs((rows >= real).sum() - synthetic / 4) <= 1
        again, other = (
            np.concatenate(Batching(store, settings.replace(seed=seed)).epoch(epoch))
            for seed in (3, 4)
        )
        assert np.array_equal(rows, again)
        assert sorted(rows) != sorted(other)


def test_a_tag_is_one_token_before_each_source_that_no_text_is_encoded_as(store) -> None:
    real, synthetic = (store.part(number) for number in range(2))
    tag = 4  # after the special symbols
    for i in range(len(synthetic)):
        assert synthetic.sides["source"][i][0] == tag
    for part, side in ((real, "source"), (real, "target"), (synthetic, "target")):
        assert all(tag not in part.sides[side][i] for i in range(len(part)))
    whole = np.concatenate([part.sides["source"][0] for part in (real, synthetic)])
    assert len(whole) == real.sides["source"].lengths[0] + synthetic.sides["source"].lengths[0] - 2


def test_text_that_looks_like_a_tag_is_text(tmp_path) -> None:
    lines = ["a <bt> b", "<bt>"]
    tokenizer = Tokenizer.learn(lines * 9, 300, tmp_path / "tokens.model", tags=["<bt>"])
    for line in lines:
        assert tokenizer.decode(tokenizer.encode(line)) == line
        assert tokenizer.symbol_id("<bt>") not in tokenizer.encode(line)


def test_a_pair_that_an_earlier_corpus_has_is_a_duplicate(tmp_path) -> None:
    lines = [(f"{n} a", f"b {n}") for n in range(30)]
    tokenizer = Tokenizer.learn([" ".join(pair) for pair in lines], 300, tmp_path / "tokens.model")
    both = [CorpusExamples(lines[:20], "a"), CorpusExamples(lines[10:], "b")]
    found = build_corpora(both, tokenizer, tmp_path / "store", 100)
    assert [part.dropped.get("duplicate", 0) for part in found.parts] == [0, 10]
    assert found.tally.kept == len(found) == 30


def test_training_and_check_count_each_corpus(folder, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(folder)
    corpora = ["--train", "real.tsv", "--train", "synthetic.tsv:0.5:tag=bt", "--valid", "valid.tsv"]
    noise = ("data.noise_swap_numbers=0.5",)
    done = invoke("train", str(tmp_path / "run"), *corpora, settings=noise)
    assert done.exit_code == 0, done.output
    parts = Store.open(tmp_path / "run" / "data" / "train").parts
    assert [(part.weight, part.tag, part.read) for part in parts] == [
        (1, "", 400),
        (0.5, "<bt>", 200),
    ]
    card = (tmp_path / "run" / "model" / "card.md").read_text("utf-8")
    page = invoke("check", *corpora, "--no-timing", settings=noise).stdout
    for number, part in enumerate(parts, 1):
        added = part.noise["swap_numbers"]
        assert added > 40
        assert f"; noise added: {added:,} swap numbers" in card
        assert f", {part.name}: {part.tally}; noise added: " in done.stderr
        assert f"  training {number}  {part.read} read, {part.tally.kept} kept" in page
        assert f"    {added} added by noise: swap numbers" in page
    assert "- training: synthetic.tsv (weight 0.5, tag <bt>); 200 pairs read" in card
    assert "kept (weight 0.5, tag <bt>)" in page


def test_a_run_continues_with_its_corpora_from_its_directory_alone(folder, tmp_path) -> None:
    run = tmp_path / "run"
    second = f"{folder / 'synthetic.tsv'}:0.5:tag=bt"
    corpora = ["--train", str(folder / "real.tsv"), "--train", second]
    assert invoke("train", str(run), *corpora).exit_code == 0
    first, again = read_inputs(Run(run)).train
    assert (first.weight, first.tag, again.weight, again.tag) == (1, "", 0.5, "bt")
    longer = CliRunner().invoke(main, ["train", str(run)])
    assert longer.exit_code == 0, longer.output
    assert "is finished, at step 2" in longer.stderr
    for changed in (f"{folder / 'synthetic.tsv'}:0.5", f"{folder / 'synthetic.tsv'}:0.6:tag=bt"):
        refused = invoke("train", str(run), *corpora[:3], changed)
        assert refused.exit_code == 2
        assert refused.stderr == (
            f"transduce: {run} was started with other weights or tags of its corpora: continue it "
            "with the same files and settings, or train into another directory\n"
        )


def test_the_inputs_of_an_earlier_run_are_read(tmp_path) -> None:
    content = {"train": {"sources": ["a.en"], "targets": ["a.de"]}, "valid": None, "builtin": False}
    (tmp_path / "inputs.json").write_text(json.dumps(content), "utf-8")
    (corpus,) = read_inputs(Run(tmp_path)).train
    assert (corpus.text.sources, corpus.text.targets) == ((Path("a.en"),), (Path("a.de"),))
    assert (corpus.weight, corpus.tag) == (1, "")


def test_validation_data_is_held_out_from_corpora_without_a_tag(folder, tmp_path) -> None:
    run = tmp_path / "run"
    synthetic = f"{folder / 'synthetic.tsv'}:tag=bt"
    done = invoke("train", str(run), "--train", synthetic, "--train", str(folder / "real.tsv"))
    assert done.exit_code == 0, done.output
    assert "training pairs held out: 7" in done.stderr
    real = dict(digits.pairs(400, seed=400))
    tokenizer, valid = Tokenizer.load(run / "tokens.model"), Store.open(run / "data" / "valid")
    for i in range(len(valid)):
        assert tokenizer.decode(valid.sides["source"][i]) in real


def test_a_file_whose_name_looks_like_options_is_a_file(folder, tmp_path) -> None:
    file = tmp_path / "pairs.tsv:0.5"
    file.write_bytes((folder / "real.tsv").read_bytes())
    run = tmp_path / "run"
    assert invoke("train", str(run), "--train", f"{file}:2").exit_code == 0
    (corpus,) = read_inputs(Run(run)).train
    assert (corpus.text.sources, corpus.weight) == ((file,), 2)


def test_the_built_in_corpus_is_one_among_others_in_either_direction(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("transduce.train.inputs.BUILTIN", {"train": 200, "valid": 50, "test": 50})
    lines = [("a b c", "c b a"), ("b c d", "d c b")] * 3
    pairs = digits.write(tmp_path / "pairs.tsv", lines)
    for name in ("builtin", "builtin-de-en"):
        run = tmp_path / name
        corpora = ["--train", f"{name}:0.5", "--train", str(pairs), "--valid", str(pairs)]
        done = invoke("train", str(run), *corpora, settings=("data.vocab_size=400",))
        assert done.exit_code == 0, done.output
    english, german = (
        (tmp_path / name / "text" / file).read_text("utf-8").split("\n")
        for name, file in (("builtin", "train.tsv"), ("builtin-de-en", "train-de-en.tsv"))
    )
    assert [line.split("\t")[::-1] for line in english] == [line.split("\t") for line in german]


def test_a_vocabulary_is_learned_from_corpora_by_their_weight(tmp_path) -> None:
    """Two corpora of different words: the one of little weight has few tokens."""
    rng = random.Random(1)

    def words(letters: str) -> list[tuple[str, str]]:
        text = ["".join(rng.choices(letters, k=6)) for _ in range(40)]
        return [
            (" ".join(rng.choices(text, k=8)), " ".join(rng.choices(text, k=8))) for _ in "x" * 300
        ]

    files = [
        str(digits.write(tmp_path / f"{letters}.tsv", words(letters))) for letters in ("abc", "xyz")
    ]
    counts = []
    for weights in ((1, 0.01), (0.01, 1)):
        run = tmp_path / f"run {weights[0]}"
        corpora = [
            w
            for f, weight in zip(files, weights, strict=True)
            for w in ("--train", f"{f}:{weight}")
        ]
        done = invoke("train", str(run), *corpora, settings=("data.vocab_size=350",))
        assert done.exit_code == 0, done.output
        pieces = Tokenizer.load(run / "tokens.model").vocabulary[260:]
        counts.append(sum(any(c in "abc" for c in piece) for piece in pieces))
    assert counts[0] > 2 * counts[1]
