"""The vocabulary shortlist: what a sentence may need, and nothing of its neighbours."""

import numpy as np
import pytest

from transduce.engines.shortlist import (
    FILE,
    SMALLEST,
    Shortlist,
    learn_shortlist,
    load_shortlist,
)
from transduce.errors import ModelError

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
    shortlist = learn_shortlist(pairs, SIZE, SIZE, range(4))
    rank = np.empty(SIZE, dtype=int)
    rank[shortlist.order] = np.arange(SIZE)
    for source, target in pairs[:500]:
        assert all(rank[target] < shortlist.level(source.tolist()))


def test_common_words_make_a_short_list_and_unknown_ones_allow_everything() -> None:
    shortlist = learn_shortlist(dictionary(np.random.default_rng(1)), SIZE, SIZE)
    assert shortlist.level([5, 6, 7]) == SMALLEST
    assert shortlist.level([5, 3999]) == SIZE
    assert shortlist.level([]) == SMALLEST


def test_what_is_always_allowed_comes_first() -> None:
    shortlist = learn_shortlist(dictionary(np.random.default_rng(2)), SIZE, SIZE, [2, 3999])
    assert set(shortlist.order[:2].tolist()) == {2, 3999}
    assert sorted(shortlist.order.tolist()) == list(range(SIZE))


def test_levels_are_nested_and_few() -> None:
    shortlist = learn_shortlist(dictionary(np.random.default_rng(3)), SIZE, SIZE)
    assert shortlist.levels() == sorted(set(shortlist.levels()))
    assert all(SMALLEST <= level < SIZE for level in shortlist.levels())
    assert len(shortlist.levels()) <= 6


def test_a_shortlist_of_no_text_allows_everything() -> None:
    shortlist = learn_shortlist([], 20, 30)
    assert shortlist.level([5]) == 512  # more than there is, so all


def test_a_shortlist_is_read_as_it_was_written(tmp_path) -> None:
    shortlist = learn_shortlist(dictionary(np.random.default_rng(4), 200), SIZE, SIZE)
    assert load_shortlist(tmp_path) is None
    (tmp_path / FILE).write_bytes(shortlist.to_bytes())
    found = load_shortlist(tmp_path)
    assert isinstance(found, Shortlist)
    assert np.array_equal(found.order, shortlist.order)
    assert np.array_equal(found.reach, shortlist.reach)
    (tmp_path / FILE).write_bytes(b"nonsense")
    with pytest.raises(ModelError, match=r"shortlist.safetensors cannot be read"):
        load_shortlist(tmp_path)
