"""Corpus filters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.corpus.filters import (
    Digests,
    Rules,
    Tally,
    check_not_swapped,
    check_usable,
    keep,
)
from transduce.corpus.pair import Pair
from transduce.corpus.reading import read_pairs
from transduce.errors import InputError

PAIRS = st.lists(st.builds(Pair, *[st.text("ab \u00a0", max_size=50)] * 2))
LOOSE = Rules(max_ratio=None, drop_identical=False, drop_duplicates=False)


def kept(pairs, rules=None) -> tuple[list[Pair], Tally]:
    tally = Tally()
    return list(keep(pairs, rules or Rules(), tally)), tally


@given(pairs=PAIRS)
def test_every_pair_is_kept_in_order_or_counted(pairs) -> None:
    left, tally = kept(pairs)
    assert tally.read == len(pairs)
    assert tally.kept == len(left) == len(pairs) - sum(tally.dropped.values())
    rest = iter(pairs)
    assert all(pair in rest for pair in left)


@given(pairs=PAIRS)
def test_what_is_kept_breaks_no_rule(pairs) -> None:
    left, _ = kept(pairs)
    assert len(set(left)) == len(left)
    for pair in left:
        assert pair.source.strip()
        assert pair.target.strip()
        assert pair.source.strip() != pair.target.strip()
        shorter, longer = sorted((len(pair.source), len(pair.target)))
        assert longer <= 3 * (shorter + 10)


@given(pairs=PAIRS)
def test_what_is_dropped_breaks_a_rule(pairs) -> None:
    left, tally = kept(pairs, LOOSE)
    assert left == [pair for pair in pairs if pair.source.strip() and pair.target.strip()]
    assert set(tally.dropped) <= {"empty"}


@pytest.mark.parametrize(
    ("pair", "reason"),
    [
        (Pair("", "Hund"), "empty"),
        (Pair("dog", " \u00a0\u2003"), "empty"),
        (Pair("Berlin", "Berlin "), "identical"),
        (Pair("a dog", "ein Hund " * 6), "length ratio"),
        (Pair("known", "bekannt"), "duplicate"),
        (Pair("known", "gewusst"), None),
        (Pair("Hi.", "Guten Tag, meine Damen und Herren."), None),
    ],
)
def test_each_reason_has_its_example(pair, reason) -> None:
    _, tally = kept([Pair("known", "bekannt"), pair])
    assert dict(tally.dropped) == ({reason: 1} if reason else {})


def test_swapped_sides_are_not_duplicates() -> None:
    left, _ = kept([Pair("a b", "c"), Pair("a", "b c"), Pair("c", "a b")])
    assert len(left) == 3


@given(numbers=st.lists(st.integers(0, 2**64 - 1) | st.integers(1, 50).map(lambda n: n << 20)))
def test_digests_are_a_set(numbers) -> None:
    digests, known = Digests(), set()
    for number in numbers:
        assert digests.add(number) == ((number or 1) not in known)
        known.add(number or 1)


def test_many_digests_are_a_set() -> None:
    digests = Digests()
    numbers = [i * 0x9E3779B97F4A7C15 % 2**64 for i in range(1, 20_001)]
    assert all(digests.add(number) for number in numbers)
    assert not any(digests.add(number) for number in numbers)


def test_the_report_is_one_line() -> None:
    tally = Tally(29_000)
    assert str(tally) == "29,000 pairs read, 29,000 kept"
    tally.dropped.update({"empty": 2, "duplicate": 1_200})
    assert str(tally) == "29,000 pairs read, 27,798 kept; dropped: 1,200 duplicate, 2 empty"


def test_a_corpus_with_one_language_on_both_sides_is_an_error() -> None:
    _, tally = kept([Pair(f"dog {i}", f"dog {i}") for i in range(6)] + [Pair("a", "b")])
    with pytest.raises(InputError) as caught:
        check_usable(tally)
    assert str(caught.value) == (
        "6 of 7 pairs have the same text on both sides: is one language given twice? "
        "If it is meant, set data.drop_identical = false"
    )


def test_a_corpus_without_usable_pairs_is_an_error() -> None:
    _, tally = kept([Pair("", "x"), Pair("y", " ")])
    with pytest.raises(InputError) as caught:
        check_usable(tally)
    assert str(caught.value) == (
        "no pair is left to train on: 2 pairs read, 0 kept; dropped: 2 empty"
    )


def test_swapped_validation_data_is_an_error(data) -> None:
    def read(split, source, target):
        folder = data / "multi30k"
        return read_pairs([folder / f"{split}.{source}.gz"], [folder / f"{split}.{target}.gz"])

    check_not_swapped(read("train", "en", "de"), read("val", "en", "de"))
    check_not_swapped(read("train", "fr", "de"), read("val", "fr", "de"))
    with pytest.raises(InputError) as caught:
        check_not_swapped(read("train", "en", "de"), read("val", "de", "en"))
    assert str(caught.value) == (
        "the validation data is swapped: its source reads like the training data's target; "
        "give both in the same order"
    )


def test_languages_that_share_words_do_not_count_as_swapped() -> None:
    digits = [Pair(str(i), str(i)[::-1]) for i in range(100, 200)]
    check_not_swapped(digits, digits)
    check_not_swapped(digits, [])
