"""Token-budget micro-batches."""

import time

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from transduce.batches import (
    Batch,
    collate,
    micro_batches_for,
    padding,
    plan_epoch,
    split,
    target_tokens,
)
from transduce.corpus.filters import Rules
from transduce.corpus.pair import Pair
from transduce.corpus.reading import read_pairs
from transduce.store import Store, build_store
from transduce.tokenizer import BOS, EOS, PAD, Tokenizer

SIZES = st.integers(1, 200)
LENGTHS = SIZES.flatmap(
    lambda n: st.tuples(*[arrays.arrays(np.int32, n, elements=st.integers(2, 61))] * 2)
)
RULES = Rules(max_ratio=None, drop_identical=False, drop_duplicates=False)


def like_real(pairs: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Lengths as in Europarl: log-normal, the two sides correlated."""
    rng = np.random.default_rng(seed)
    source = rng.lognormal(2.9, 0.4, pairs)
    target = source * rng.lognormal(0.05, 0.18, pairs)
    return source.astype(np.int32) + 2, target.astype(np.int32) + 2


def cells(batch: np.ndarray, lengths: np.ndarray) -> int:
    return len(batch) * int(lengths[batch].max())


@given(
    lengths=LENGTHS,
    budget=st.integers(1, 500),
    seed=st.integers(0, 2**63),
    micro_batches=st.integers(1, 4),
)
def test_an_epoch_has_every_sentence_once(lengths, budget, seed, micro_batches) -> None:
    batches = plan_epoch(lengths, budget, seed, 3, micro_batches)
    assert sorted(np.concatenate(batches)) == list(range(len(lengths[0])))
    assert all(len(batch) for batch in batches)


@given(lengths=LENGTHS, budget=st.integers(1, 500), epoch=st.integers(0, 99))
def test_a_batch_has_at_most_its_tokens_on_each_side_unless_it_is_one_sentence(
    lengths, budget, epoch
) -> None:
    for batch in plan_epoch(lengths, budget, 1, epoch):
        for side in lengths:
            assert cells(batch, side) <= budget or len(batch) == 1


@given(lengths=LENGTHS, budget=st.integers(100, 500), micro_batches=st.integers(1, 5))
def test_splitting_finds_micro_batches_within_the_budget(lengths, budget, micro_batches) -> None:
    for batch in plan_epoch(lengths, budget, 1, 0, micro_batches):
        for part in split(batch, micro_batches, lengths):
            for side in lengths:
                if len(part) > 1:
                    assert cells(part, side) <= max(budget // micro_batches, 61)


@given(lengths=LENGTHS, parts=st.integers(1, 9), seed=st.integers(0, 99))
def test_parts_of_a_batch_are_the_batch(lengths, parts, seed) -> None:
    for batch in plan_epoch(lengths, 300, seed, 0):
        shared = split(batch, parts, lengths)
        assert len(shared) == parts
        assert np.array_equal(np.concatenate(shared), batch)
        assert sum(len(part) > 0 for part in shared) == min(parts, len(batch))


@given(seed=st.integers(0, 2**32), parts=st.integers(2, 8))
def test_parts_have_about_the_same_size(seed, parts) -> None:
    lengths = like_real(3000, seed)
    longest = np.maximum(*lengths)
    for batch in plan_epoch(lengths, 8000, seed, 0)[:5]:
        if len(batch) >= 20 * parts:
            sizes = [cells(part, longest) for part in split(batch, parts, lengths)]
            assert max(sizes) <= 1.15 * sum(sizes) / parts


@given(seed=st.integers(0, 2**32), epoch=st.integers(0, 2**20))
def test_order_is_a_function_of_seed_and_epoch(seed, epoch) -> None:
    lengths = like_real(2000)

    def order(seed, epoch) -> list[list[int]]:
        return [batch.tolist() for batch in plan_epoch(lengths, 2000, seed, epoch)]

    assert order(seed, epoch) == order(seed, epoch)
    assert order(seed, epoch) != order(seed, epoch + 1)
    assert order(seed, epoch) != order(seed + 1, epoch)


def mates(first: list[np.ndarray], second: list[np.ndarray]) -> float:
    """The probability that two sentences of a batch are in the same batch again."""
    pairs = len(np.concatenate(first))
    place = np.empty((2, pairs), int)
    for row, batches in zip(place, (first, second), strict=True):
        for number, batch in enumerate(batches):
            row[batch] = number
    _, again = np.unique(place, axis=1, return_counts=True)
    _, together = np.unique(place[0], return_counts=True)
    return float((again * (again - 1)).sum() / (together * (together - 1)).sum())


def test_batches_of_the_next_epoch_are_different() -> None:
    lengths = like_real(100_000)
    assert mates(*(plan_epoch(lengths, 4096, 1, epoch) for epoch in (0, 1))) < 0.15
    small = like_real(5000)
    assert mates(*(plan_epoch(small, 4096, 1, epoch) for epoch in (0, 1))) < 0.75
    assert mates(*(plan_epoch(small, 4096, 1, epoch, 4) for epoch in (0, 1))) < 0.4


def test_batches_are_not_ordered_by_length() -> None:
    lengths = like_real(50_000)
    means = [lengths[0][batch].mean() for batch in plan_epoch(lengths, 4096, 1, 0)]
    neighbours = np.corrcoef(means[1:], means[:-1])[0, 1]
    assert abs(neighbours) < 5 / len(means) ** 0.5


def test_ten_times_the_corpus_takes_about_ten_times_the_time_to_plan() -> None:
    spent = []
    for count in (68_403, 684_032):
        lengths = like_real(count)
        start = time.process_time()
        batches = plan_epoch(lengths, 25_000, 0, 0)
        spent.append(time.process_time() - start)
    assert spent[1] < 50 * spent[0]  # in proportion to n²: 100 times
    assert padding(batches, lengths) < 0.05


@pytest.mark.parametrize("budget", [25_000, 4096])
@pytest.mark.parametrize("pairs", [29_000, 150_000])
def test_less_than_five_percent_is_padding(pairs, budget) -> None:
    lengths = like_real(pairs)
    micro_batches = micro_batches_for(lengths, budget)
    batches = plan_epoch(lengths, budget, 0, 0, micro_batches)
    parts = [part for batch in batches for part in split(batch, micro_batches, lengths)]
    assert padding(parts, lengths) < 0.05


@pytest.mark.parametrize("budget", [25_000, 4096])
def test_less_than_five_percent_of_multi30k_is_padding(data, tmp_path, budget) -> None:
    folder = data / "multi30k"
    pairs = list(read_pairs([folder / "train.en.gz"], [folder / "train.de.gz"]))
    texts = [[p.source for p in pairs], [p.target for p in pairs]]
    tokenizer = Tokenizer.learn(texts[0][:5000] + texts[1][:5000], 8000, tmp_path / "x")
    lengths = [np.array([len(ids) + 1 for ids in tokenizer.encode_arrays(side)]) for side in texts]
    micro_batches = micro_batches_for(lengths, budget)
    batches = plan_epoch(lengths, budget, 0, 0, micro_batches)
    parts = [part for batch in batches for part in split(batch, micro_batches, lengths)]
    assert padding(parts, lengths) < 0.05


def test_only_small_corpora_need_more_than_one_micro_batch() -> None:
    assert micro_batches_for(like_real(684_032), 25_000) == 1
    assert 2 <= micro_batches_for(like_real(29_000), 25_000) <= 12
    assert micro_batches_for(like_real(29_000), 4096) == 1
    assert micro_batches_for(like_real(1), 1) == 1


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Store:
    folder = tmp_path_factory.mktemp("batches")
    pairs = [Pair("a dog " * (i % 7 + 1), "ein Hund " * (i % 5 + 1)) for i in range(50)]
    tokenizer = Tokenizer.learn(["a dog runs", "ein Hund rennt"], 300, folder / "tokens.model")
    return build_store(pairs, tokenizer, folder / "corpus", 100, rules=RULES)


@given(rows=st.lists(st.integers(0, 49), min_size=1))
def test_a_batch_has_its_sentences_with_eos_and_padding(store, rows) -> None:
    batch = collate(store, np.array(rows))
    for tensor in (batch.source, batch.target_in, batch.target_out):
        assert tensor.dtype == torch.int64
    assert batch.source.shape[1] == store.lengths[0][rows].max()
    assert batch.target_in.shape[1] == store.lengths[1][rows].max()
    for row, index in enumerate(rows):
        source, target = (side[index].tolist() for side in store.sides.values())

        def padded(ids: list[int], like: torch.Tensor) -> list[int]:
            return ids + [PAD] * (like.shape[1] - len(ids))

        assert batch.source[row].tolist() == padded([*source, EOS], batch.source)
        assert batch.target_in[row].tolist() == padded([BOS, *target], batch.target_in)
        assert batch.target_out[row].tolist() == padded([*target, EOS], batch.target_out)
    assert (batch.target_out != PAD).sum() == target_tokens(store, np.array(rows))


def test_an_empty_part_is_a_batch_of_no_rows(store) -> None:
    part = split(np.array([3]), 2, store.lengths)[1]
    batch = collate(store, part)
    assert batch.source.shape == batch.target_in.shape == batch.target_out.shape == (0, 1)
    assert (batch.target_out != PAD).sum() == 0


def test_a_task_with_one_side_has_batches_without_a_source(tmp_path) -> None:
    tokenizer = Tokenizer.learn(["a dog runs"], 300, tmp_path / "tokens.model")
    lines = [("a dog " * (i % 7 + 1) + str(i),) for i in range(50)]
    store = build_store(lines, tokenizer, tmp_path / "corpus", 100, sides=["text"])
    batches = plan_epoch(store.lengths, 100, 1, 0, 2)
    assert sorted(np.concatenate(batches)) == list(range(50))
    parts = [part for batch in batches for part in split(batch, 2, store.lengths) if len(part)]
    assert 0 <= padding(parts, store.lengths) < 0.5
    batch = collate(store, np.array([0, 6]))
    assert batch.source.shape == (2, 0)
    assert batch.target_out[1].tolist() == [*store.sides["text"][6], EOS]
    assert (batch.target_out != PAD).sum() == target_tokens(store, np.array([0, 6]))


def test_sides_of_a_batch_must_agree() -> None:
    ids = torch.zeros(2, 3, dtype=torch.long)
    with pytest.raises(Exception, match="target_out"):
        Batch(ids, ids, ids[:1])
