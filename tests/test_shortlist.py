"""The vocabulary shortlist: what a sentence may need, and nothing of its neighbours."""

import math

import numpy as np
import pytest

from transduce.errors import ModelError
from transduce.shortlist import (
    FILE,
    GROWTH,
    SMALLEST,
    Shortlist,
    learn_shortlist,
    load_shortlist,
)

SIZE = 4000


def dictionary(rng, count=3000):
    """Pairs in which source token n always becomes target token 2000 + n, in another order."""
    pairs = []
    for _ in range(count):
        source = 4 + rng.zipf(1.3, size=rng.integers(3, 12)) % 1500
        pairs.append((source, rng.permutation(source) + 2000))
    return pairs


def test_a_sentence_may_use_the_translations_of_its_words() -> None:
    rng = np.random.default_rng()
    pairs = dictionary(rng)
    shortlist = learn_shortlist(pairs, SIZE, range(4))
    rank = np.empty(SIZE, dtype=int)
    rank[shortlist.order] = np.arange(SIZE)
    often = np.bincount(np.concatenate([np.unique(target) for _, target in pairs]), minlength=SIZE)
    for source, target in pairs[:500]:
        known = target[often[target] >= 3]
        assert all(rank[known] < shortlist.level(source.tolist()))


def test_a_name_met_once_may_be_copied_and_so_may_a_word_of_the_other_language() -> None:
    pairs = [*dictionary(np.random.default_rng(5)), (np.array([5, 3800]), np.array([2005, 3800]))]
    pairs.append((np.array([5]), np.array([2005, 3900])))
    shortlist = learn_shortlist(pairs, SIZE)
    rank = np.argsort(shortlist.order)
    for name in (3800, 3900):
        assert rank[name] < shortlist.level([5, name])


def test_what_was_met_by_chance_does_not_lengthen_the_list() -> None:
    """Common words beside a rare one, once: they do not reach as far as it lies."""
    pairs = [
        *dictionary(np.random.default_rng(6)),
        (np.array([5, 6]), np.array([2005, 2006, 1900])),
    ]
    shortlist = learn_shortlist(pairs, SIZE)
    assert np.argsort(shortlist.order)[1900] >= SMALLEST
    assert shortlist.level([5, 6]) == SMALLEST


def test_common_words_make_a_short_list_and_what_was_never_written_makes_none_longer() -> None:
    shortlist = learn_shortlist(dictionary(np.random.default_rng(1)), SIZE)
    assert shortlist.level([5, 6, 7]) == SMALLEST
    assert shortlist.level([5, 3999]) == SMALLEST
    assert shortlist.level([]) == SMALLEST


def test_what_is_always_allowed_comes_first() -> None:
    shortlist = learn_shortlist(dictionary(np.random.default_rng(2)), SIZE, [2, 3999])
    assert set(shortlist.order[:2].tolist()) == {2, 3999}
    assert sorted(shortlist.order.tolist()) == list(range(SIZE))


def test_levels_are_nested_and_few() -> None:
    shortlist = learn_shortlist(dictionary(np.random.default_rng(3)), SIZE)
    assert shortlist.levels() == sorted(set(shortlist.levels()))
    assert all(SMALLEST <= level < SIZE for level in shortlist.levels())
    assert len(shortlist.levels()) <= 1 + math.log(SIZE / SMALLEST, GROWTH)


def test_a_shortlist_of_no_text_allows_everything() -> None:
    shortlist = learn_shortlist([], 30)
    assert shortlist.level([5]) == 512  # more than there is, so all


def test_a_shortlist_is_read_as_it_was_written(tmp_path) -> None:
    shortlist = learn_shortlist(dictionary(np.random.default_rng(4), 200), SIZE)
    assert load_shortlist(tmp_path) is None
    (tmp_path / FILE).write_bytes(shortlist.to_bytes())
    found = load_shortlist(tmp_path)
    assert isinstance(found, Shortlist)
    assert np.array_equal(found.order, shortlist.order)
    assert np.array_equal(found.reach, shortlist.reach)
    (tmp_path / FILE).write_bytes(b"nonsense")
    with pytest.raises(ModelError, match=r"shortlist.safetensors cannot be read"):
        load_shortlist(tmp_path)
