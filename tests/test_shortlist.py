"""The vocabulary shortlist."""

import math

import numpy as np
import pytest
from models import side
from safetensors.numpy import save

from transduce import shortlist as module
from transduce.errors import ModelError
from transduce.shortlist import FILE, GROWTH, SMALLEST, Shortlist, load_shortlist

SIZE = 4000


def dictionary(rng, count=3000):
    """Pairs in which source token n always becomes target token 2000 + n, in another order."""
    pairs = []
    for _ in range(count):
        source = 4 + rng.zipf(1.3, size=rng.integers(3, 12)) % 1500
        pairs.append((source, rng.permutation(source) + 2000))
    return pairs


def learn_shortlist(pairs, size, always=(), **how):
    source, target = (side([pair[i] for pair in pairs]) for i in (0, 1))
    return module.learn_shortlist(source, target, size, always, **how)


def test_a_sentence_may_use_the_translations_of_its_words() -> None:
    rng = np.random.default_rng()
    pairs = dictionary(rng)
    shortlist = learn_shortlist(pairs, SIZE, range(4))
    rank = np.empty(SIZE, dtype=int)
    rank[shortlist.order] = np.arange(SIZE)
    often = np.bincount(np.concatenate([np.unique(target) for _, target in pairs]), minlength=SIZE)
    for source, target in pairs[:500]:
        known = target[often[target] >= 3]
        assert all(rank[known] < shortlist.size(source.tolist()))


def test_a_name_seen_once_may_be_copied_and_so_may_a_word_of_the_target_language() -> None:
    pairs = [*dictionary(np.random.default_rng(5)), (np.array([5, 3800]), np.array([2005, 3800]))]
    pairs.append((np.array([5]), np.array([2005, 3900])))
    shortlist = learn_shortlist(pairs, SIZE)
    rank = np.argsort(shortlist.order)
    for name in (3800, 3900):
        assert rank[name] < shortlist.size([5, name])


def test_chance_co_occurrences_do_not_lengthen_the_shortlist() -> None:
    """Common words seen once with a rare one: their cut-off does not include it."""
    pairs = [
        *dictionary(np.random.default_rng(6)),
        (np.array([5, 6]), np.array([2005, 2006, 1900])),
    ]
    shortlist = learn_shortlist(pairs, SIZE)
    assert np.argsort(shortlist.order)[1900] >= SMALLEST
    assert shortlist.size([5, 6]) == SMALLEST


def test_common_words_have_a_small_shortlist_and_unseen_words_add_nothing() -> None:
    shortlist = learn_shortlist(dictionary(np.random.default_rng(1)), SIZE)
    assert shortlist.size([5, 6, 7]) == SMALLEST
    assert shortlist.size([5, 3999]) == SMALLEST
    assert shortlist.size([]) == SMALLEST


def test_tokens_that_are_always_allowed_come_first() -> None:
    shortlist = learn_shortlist(dictionary(np.random.default_rng(2)), SIZE, [2, 3999])
    assert set(shortlist.order[:2].tolist()) == {2, 3999}
    assert sorted(shortlist.order.tolist()) == list(range(SIZE))


def test_sizes_are_few() -> None:
    shortlist = learn_shortlist(dictionary(np.random.default_rng(3)), SIZE)
    assert shortlist.sizes() == sorted(set(shortlist.sizes()))
    assert all(SMALLEST <= size < SIZE for size in shortlist.sizes())
    assert len(shortlist.sizes()) <= 1 + math.log(SIZE / SMALLEST, GROWTH)


def test_a_shortlist_of_no_text_allows_everything() -> None:
    shortlist = learn_shortlist([], 30)
    assert shortlist.size([5]) == 512  # more than there is, so all


def test_a_shortlist_is_read_as_it_was_written(tmp_path) -> None:
    shortlist = learn_shortlist(dictionary(np.random.default_rng(4), 200), SIZE)
    assert load_shortlist(tmp_path) is None
    (tmp_path / FILE).write_bytes(shortlist.to_bytes())
    found = load_shortlist(tmp_path)
    assert isinstance(found, Shortlist)
    assert np.array_equal(found.order, shortlist.order)
    assert np.array_equal(found.cutoffs, shortlist.cutoffs)
    (tmp_path / FILE).write_bytes(b"nonsense")
    with pytest.raises(ModelError, match=r"shortlist.safetensors cannot be read"):
        load_shortlist(tmp_path)


def test_source_tokens_are_learned_from_any_part_of_the_corpus() -> None:
    """The last sentences of a long corpus have words that the others do not have."""
    rng = np.random.default_rng(7)
    late = [([1600 + n % 40, 5], [3600 + n % 40, 2005]) for n in range(400)]
    pairs = [*dictionary(rng, 6000), *late]
    links = sum(len(source) * len(target) for source, target in pairs) // 10
    shortlist = learn_shortlist(pairs, SIZE, links=links)
    rank = np.argsort(shortlist.order)
    for source, target in late[:40]:
        assert max(rank[target]) < shortlist.size(source)


def test_a_source_token_that_was_not_sampled_allows_every_word() -> None:
    pairs = [([4 + n], [2004 + n]) for n in range(1500)]
    shortlist = learn_shortlist(pairs, SIZE, links=750)
    sizes = [shortlist.size(source) for source, _ in pairs]
    assert sizes.count(SIZE) == 750


def test_the_same_corpus_gives_the_same_shortlist_and_so_do_small_chunks(monkeypatch) -> None:
    pairs = dictionary(np.random.default_rng(8))
    first = learn_shortlist(pairs, SIZE, links=20_000)
    monkeypatch.setattr(module, "CHUNK", 100)
    again = learn_shortlist(pairs, SIZE, links=20_000)
    assert np.array_equal(first.cutoffs, again.cutoffs)
    assert np.array_equal(first.order, again.order)


@pytest.mark.parametrize("harm", ["order", "reach", "both"])
def test_a_damaged_shortlist_is_an_error(tmp_path, harm) -> None:
    arrays = {
        "order": np.array([0, 2, 2] if harm != "reach" else [0, 1, 2]),
        "reach": np.array([3, 0, 3] if harm != "order" else [3, 3, 3]),
    }
    (tmp_path / FILE).write_bytes(save(arrays))
    with pytest.raises(ModelError, match="does not order a vocabulary"):
        load_shortlist(tmp_path)
