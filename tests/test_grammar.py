"""The built-in corpus is varied, without contradictions, and a function of its seed."""

import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from itertools import islice

import pytest
from grammar_phrases import (
    ALL_VERBS,
    VERB,
    lemma,
)

from transduce.corpus.pair import Pair
from transduce.grammar import verbs, words
from transduce.grammar.nouns import NOUN, NOUNS
from transduce.grammar.sampling import Split, generate, sentences, split_of
from transduce.grammar.words import (
    ADJECTIVE,
    ALL_ADJECTIVES,
)


def pairs_of(split: Split, n: int, hash_seed: str = "0") -> list[Pair]:
    """Drawn in a process of its own, where calls are not type-checked: twenty times as fast."""
    program = (
        "from itertools import islice; from transduce.grammar.sampling import generate\n"
        f"for pair in islice(generate({split!r}, 7), {n}):\n"
        "    print(pair.source, pair.target, sep='\\t')"
    )
    run = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONUTF8": "1"},
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    return [Pair(*line.split("\t")) for line in run.stdout.splitlines()]


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return pairs_of("train", 60_000)


def test_equal_english_has_equal_german(pairs: list[Pair]) -> None:
    translations: dict[str, str] = {}
    for pair in pairs:
        assert translations.setdefault(pair.source, pair.target) == pair.target


def test_sentences_rarely_repeat(pairs: list[Pair]) -> None:
    assert len({pair.source for pair in pairs[:20_000]}) >= 0.95 * 20_000


def test_every_sentence_is_written_like_one(pairs: list[Pair]) -> None:
    written = re.compile(r"[A-ZÄÖÜ][^ ]*( [^ ]+)*[.?]")
    for pair in pairs:
        for text in (pair.source, pair.target):
            assert written.fullmatch(text), text
            assert not re.search(r" [,.?]|,[,.?]|[,.?]{2}|n't", text), text
        assert pair.source[-1] == pair.target[-1]


def test_most_sentences_have_4_to_20_words(pairs: list[Pair]) -> None:
    lengths = [len(pair.source.split()) for pair in pairs]
    assert max(lengths) <= 30
    assert sum(4 <= length <= 20 for length in lengths) >= 0.95 * len(lengths)


def test_every_word_of_the_lexicon_is_used(pairs: list[Pair]) -> None:
    text = "\n".join(pair.source for pair in pairs).lower()
    lexicon = [noun.singular for noun in NOUN.values()]
    lexicon += [word.english for word in ALL_ADJECTIVES]
    lexicon += [verb.english.base for verb in ALL_VERBS if verb is not verbs.BEAR]
    unused = [word for word in [*lexicon, "born"] if word.lower() not in text]
    assert not unused


def test_a_stream_is_a_function_of_split_and_seed() -> None:
    splits: tuple[Split, ...] = ("train", "test")
    for split in splits:
        first = list(islice(generate(split, 3), 4))
        assert first == list(islice(generate(split, 3), 4))
        assert first != list(islice(generate(split, 4), 4))


def test_a_stream_does_not_depend_on_the_hash_seed() -> None:
    assert pairs_of("train", 50, "1") == pairs_of("train", 50, "2")


def test_splits_share_no_sentence(pairs: list[Pair]) -> None:
    drawn = {"train": pairs, "valid": pairs_of("valid", 60), "test": pairs_of("test", 60)}
    for split, members in drawn.items():
        assert {split_of(pair.source) for pair in members} == {split}


def test_the_valid_and_test_splits_are_each_about_a_hundredth() -> None:
    sizes = Counter(split_of(f"Sentence {n}.") for n in range(20_000))
    assert 0.008 < sizes["valid"] / 20_000 < 0.012
    assert 0.008 < sizes["test"] / 20_000 < 0.012


def test_sentences_are_distinct_and_begin_the_stream() -> None:
    drawn = sentences("train", 200, 2)
    assert len({pair.source for pair in drawn}) == 200
    seen = dict.fromkeys(islice(generate("train", 2), 300))
    assert list(seen)[:200] == drawn


def test_every_english_noun_and_adjective_has_one_entry() -> None:
    entries = [noun for nouns in NOUNS.values() for noun in nouns]
    assert len(entries) == len(NOUN)
    assert len(ALL_ADJECTIVES) == len(ADJECTIVE)
    forms = Counter(form for noun in entries for form in (noun.singular, noun.plural) if form)
    assert not [form for form, count in forms.items() if count > 1], "singular and plural collide"


def test_every_english_verb_has_one_german_lemma() -> None:
    lemmas: dict[str, set[tuple[str, str, str]]] = defaultdict(set)
    for verb in ALL_VERBS:
        if verb is not verbs.EXIST:  # there is
            lemmas[lemma(verb)].add((verb.german.prefix, verb.german.infinitive, verb.preposition))
    assert not {name: found for name, found in lemmas.items() if len(found) > 1}


def test_no_english_verb_hides_its_tense() -> None:
    for verb in ALL_VERBS:
        assert verb.english.past not in (verb.english.base, verb.english.third)


def test_the_lexicon_has_some_hundreds_of_lemmas() -> None:
    names = len(words.WOMEN + words.MEN + words.CITIES + words.COUNTRIES)
    assert 350 <= len(NOUN) + len(VERB) + len(ADJECTIVE) + names <= 600
