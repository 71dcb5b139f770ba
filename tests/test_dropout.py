"""BPE-dropout: random segmentations."""

from collections import Counter
from pathlib import Path
from random import Random

import digits
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from transduce.cli import main
from transduce.grammar import sentences
from transduce.store import Store
from transduce.tokenizer import Tokenizer
from transduce.tokenizer.dropout import DropoutTokenizer, merge
from transduce.train.prepare import reopen
from transduce.train.run import Run

TEXTS = [text for pair in sentences("train", 300, seed=1) for text in pair]
LONG = 10**6


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory) -> Tokenizer:
    file = tmp_path_factory.mktemp("vocabulary") / "tokens.model"
    return Tokenizer.learn(TEXTS, 600, file, tags=["<bt>"])


def encoded(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
    return [ids.tolist() for ids in tokenizer.encode_arrays(texts)]


@given(st.one_of(st.text(), st.text("The dog▁\x10é .", max_size=40)))
def test_without_dropout_the_segmentation_is_the_ordinary_one(tokenizer, text) -> None:
    plain = DropoutTokenizer(tokenizer, 0.0, "1", LONG)
    assert encoded(plain, [text, *TEXTS[:20]]) == encoded(tokenizer, [text, *TEXTS[:20]])


def test_with_dropout_of_1_every_character_is_a_token(tokenizer) -> None:
    characters = DropoutTokenizer(tokenizer, 1.0, "1", LONG)
    for text, ids in zip(TEXTS, encoded(characters, TEXTS), strict=True):
        rare = [c for c in text.replace(" ", "▁") if c not in tokenizer.vocabulary]  # are bytes
        assert len(ids) == 1 + len(text) - len(rare) + len("".join(rare).encode())
        assert all(len(tokenizer.vocabulary[i]) == 1 or i in tokenizer.byte_ids for i in ids)


@given(st.text(), st.floats(0, 1), st.integers())
def test_every_segmentation_decodes_to_its_text(tokenizer, text, p, seed) -> None:
    (ids,) = DropoutTokenizer(tokenizer, p, str(seed), LONG).encode_arrays([text])
    assert tokenizer.decode(ids) == text


def test_a_segmentation_is_a_function_of_the_seed_and_the_text(tokenizer) -> None:
    def of(seed: str, texts: list[str]) -> list[list[int]]:
        return encoded(DropoutTokenizer(tokenizer, 0.2, seed, LONG), texts)

    whole = of("1", TEXTS)
    assert whole == of("1", TEXTS[::-1])[::-1]
    assert whole[7:9] == of("1", TEXTS[7:9])
    others = of("2", TEXTS)
    assert sum(a != b for a, b in zip(whole, others, strict=True)) > len(TEXTS) / 2


@pytest.mark.parametrize("p", [0.1, 0.5])
def test_each_merge_is_left_out_with_the_probability(p) -> None:
    """In "abc" with merges ab, bc and abc, every outcome has a probability that can be counted.

    With both merges possible, ab is taken with 1 − p, else bc with p (1 − p); then abc follows
    with 1 − p.
    """
    rng, n = Random(1), 20_000
    ranks = {"ab": 0, "bc": 1, "abc": 2}
    found = Counter(" ".join(merge("abc", ranks, p, rng)) for _ in range(n))
    q = 1 - p
    expected = {"ab c": q * p, "a bc": p * q * p, "a b c": p * p, "abc": q * q + p * q * q}
    assert sum(expected.values()) == pytest.approx(1)
    for pieces, probability in expected.items():
        assert found[pieces] / n == pytest.approx(probability, abs=0.015)


def test_words_have_many_segmentations_and_texts_become_longer(tokenizer) -> None:
    dropped = DropoutTokenizer(tokenizer, 0.3, "1", LONG)
    before, after = (sum(map(len, encoded(t, TEXTS))) for t in (tokenizer, dropped))
    assert 1.1 * before < after
    word = next(p for p in tokenizer.vocabulary if p.startswith("▁") and len(p) > 6)[1:]
    ends = (ids[-3:] for ids in encoded(dropped, [f"{n} {word}" for n in range(200)]))
    assert len({tuple(end) for end in ends}) > 3


def test_a_text_that_would_become_too_long_is_not_altered(tokenizer) -> None:
    lengths = [len(ids) for ids in encoded(tokenizer, TEXTS)]
    limit = int(np.median(lengths))
    dropped = encoded(DropoutTokenizer(tokenizer, 0.9, "1", limit), TEXTS)
    for plain, ids in zip(encoded(tokenizer, TEXTS), dropped, strict=True):
        assert len(ids) <= limit or ids == plain


QUICK = ["train.steps=12", "train.checkpoint_steps=6", "train.validate_steps=12"]


def train(run: Path, corpus: str, *settings: str):
    items = digits.settings(*digits.SMALL, *QUICK, *settings)
    return CliRunner().invoke(main, ["train", str(run), "--train", corpus, *items])


def test_every_epoch_sees_another_segmentation_of_the_same_examples(tmp_path, monkeypatch) -> None:
    corpus = str(digits.write(tmp_path / "train.tsv", digits.pairs(200, seed=1)))
    seen: list[int] = []
    from transduce.train import loop

    of = loop.Gradient.of

    def observed(self, store, batch):
        seen.append(int(store.lengths[0].sum()))
        return of(self, store, batch)

    monkeypatch.setattr(loop.Gradient, "of", observed)
    dropout = ("data.bpe_dropout=0.3", "data.bpe_dropout_copies=2")
    done = train(tmp_path / "run", corpus, *dropout)
    assert done.exit_code == 0, done.output
    data = reopen(Run(tmp_path / "run"))
    totals = [int(store.lengths[0].sum()) for store in data.segmentations]
    assert len(set(totals)) == 2
    assert min(totals) > int(data.train.lengths[0].sum())
    assert [len(store) for store in data.segmentations] == [len(data.train)] * 2
    assert set(seen) == set(totals)
    for i in range(len(data.train)):
        texts = {data.tokenizer.decode(store.sides["target"][i]) for store in data.copies}
        assert texts == {data.tokenizer.decode(data.train.sides["target"][i])}
    assert "BPE-dropout 0.3" in (tmp_path / "run" / "model" / "card.md").read_text("utf-8")


def test_copies_with_tags_and_a_short_limit_have_the_same_examples(tmp_path) -> None:
    corpus = str(digits.write(tmp_path / "train.tsv", digits.pairs(300, seed=1)))
    settings = ("data.bpe_dropout=0.5", "data.bpe_dropout_copies=2", "data.max_length=6")
    done = train(tmp_path / "run", f"{corpus}:tag=bt", *settings)
    assert done.exit_code == 0, done.output
    names = ("train", "train-1", "train-2")
    assert len({len(Store.open(tmp_path / "run" / "data" / name)) for name in names}) == 1


def test_dropout_needs_a_vocabulary_of_transduce(tmp_path) -> None:
    from test_start import imported

    start = imported(tmp_path / "marian", separate=False)
    corpus = str(digits.write(tmp_path / "train.tsv", digits.pairs(100, seed=1)))
    words = ["train", str(tmp_path / "run"), "--from", str(start), "--train", corpus]
    done = CliRunner().invoke(main, [*words, "--set", "data.bpe_dropout=0.1"])
    assert done.exit_code == 2
    assert done.stderr.endswith(
        "data.bpe_dropout is for translation with a BPE vocabulary that transduce learned: leave "
        "out the setting\n"
    )
