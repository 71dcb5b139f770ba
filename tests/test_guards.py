"""Flags of bad translations."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.corpus.reading import read_pairs
from transduce.translate.guards import flags_of

REAL = [
    ("A dog runs on the beach.", "Ein Hund läuft am Strand."),
    ("Hi.", "Guten Tag, meine Damen und Herren."),
    ("Would you be so kind as to tell me where it is that you are going?", "Wohin gehst du?"),
    ("No, no, no, that is very, very wrong!", "Nein, nein, nein, das ist sehr, sehr falsch!"),
    ("I know that that that is a word.", "Ich weiß, dass das „das“ ein Wort ist."),
    ("It went on day after day after day.", "Es ging Tag für Tag für Tag so weiter."),
    (
        "A man in a hat, a man in a coat and a man in a scarf stand in a row in front of a house.",
        "Ein Mann mit Hut, ein Mann mit Mantel und ein Mann mit Schal stehen vor einem Haus.",
    ),
    ("Blah blah blah blah blah, she said.", "Blah blah blah blah blah, sagte sie."),
    ("Hahahahahahahahahaha!", "Hahahahahahahahahaha!"),
    ("😀😀😀😀😀😀", "😀😀😀😀😀😀"),
    ("Chapter 1 .................... 12", "Kapitel 1 .................... 12"),
    ("1,000,000,000,000,000,000 stars", "1.000.000.000.000.000.000 Sterne"),
    ("哈哈哈哈哈哈哈哈", "Ha ha ha ha ha ha ha ha"),
    ("Angela Merkel and Barack Obama", "Angela Merkel und Barack Obama"),
    ("Robert Schumann, Johann Sebastian Bach", "Robert Schumann, Johann Sebastian Bach"),
    ("The New York Times", "The New York Times"),
    ("Berlin", "Berlin"),
    ("OK", "OK"),
    ("3.14 + 2.71 = 5.85", "3.14 + 2.71 = 5.85"),
    ("https://example.org/a/b?c=some-long-name", "https://example.org/a/b?c=some-long-name"),
    ("for (int i = 0; i < n; i++) sum += a[i];", "for (int i = 0; i < n; i++) sum += a[i];"),
    ("...", "..."),
    ("", ""),
]  # fmt: skip


def tokens_of(text: str) -> list[int]:
    """Tokens of a vocabulary of words, or of single characters if the text has no words."""
    parts = re.findall(r"[a-zA-ZäöüßÄÖÜ]+|\S", text)
    return [sum(256**i * b for i, b in enumerate(part.encode())) for part in parts]


def bytes_of(text: str) -> list[int]:
    return list(text.encode())


def flags(source: str, output: str, ended: bool = True, encode=tokens_of) -> tuple[str, ...]:
    found = flags_of(source, output, len(encode(source)), encode(output), ended)
    return tuple(flag for flag in found if flag != "missing")  # tests/test_entities.py


@pytest.mark.parametrize(("english", "german"), REAL)
def test_ordinary_translations_have_no_flags(english, german) -> None:
    for source, output in ((english, german), (german, english)):
        assert flags(source, output) == ()
        assert set(flags(source, output, encode=bytes_of)) <= {"length"}


@pytest.mark.parametrize("name", ["multi30k/val.{}.gz", "newstest/newstest2013.{}.gz"])
def test_real_translations_have_no_flags(data, name) -> None:
    english, german = (data / name.format(language) for language in ("en", "de"))
    for pair in read_pairs([english], [german]):
        assert flags(pair.source, pair.target) == ()


@pytest.mark.parametrize(
    "output",
    [
        "ein ein ein ein ein ein ein ein",
        "Ein Hund und ein Hund und ein Hund und ein Hund",
        "Ein Hund, ein Hund, ein Hund; ein Hund! ein",
        "Ein Mann steht vor der Tür vor der Tür vor der Tür.",
        "Der Mann ist da. Der Mann ist da. Der Mann ist da.",
        "lalalalalalalalalalalala",
        "Ein Hund läuft. . . . . . . . .",
    ],
)
def test_a_loop_is_a_repetition_unless_the_source_has_it_as_well(output) -> None:
    assert "repetition" in flags("A dog stands in front of the door.", output, encode=bytes_of)
    assert "repetition" not in flags(output, output, encode=bytes_of)
    words = "A very, very small dog, and Mississippi."
    assert "repetition" in flags(words, f"{output} " * 3, encode=bytes_of)


def test_an_endless_loop_is_flagged_although_the_source_repeats_a_little() -> None:
    source = "No, no, no, I do not want to go there."
    assert "repetition" in flags(source, "Nein, " * 30)
    assert "repetition" not in flags(source, "Nein, nein, nein, nein, ich will da nicht hin.")


@given(
    phrase=st.lists(st.integers(0, 50), min_size=1, max_size=8, unique=True),
    times=st.integers(4, 9),
    before=st.lists(st.integers(51, 99), unique=True),
    after=st.lists(st.integers(51, 99), unique=True),
)
def test_a_loop_of_tokens_is_found_wherever_it_is(phrase, times, before, after) -> None:
    looped = [*before, *phrase * times, *after]
    found = "repetition" in flags_of("some words", "andere Worte", len(looped), looped, True)
    assert found == (len(phrase) * times >= 8)


@given(tokens=st.lists(st.integers(0, 9), unique=True))
def test_distinct_tokens_are_not_a_repetition(tokens) -> None:
    assert flags_of("some words", "andere Worte", len(tokens), tokens, True) == ()


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("A dog runs on the beach.", "A dog runs on the beach."),
        ("A dog runs on the beach.", "a dog runs on the beach"),
        ("Ein Hund läuft am Strand.", "Ein Hund läuft am Strand!"),
        ("“Don't go,” she said to us.", '"Don\'t go", she said to us.'),
        ("Собака бежит по пляжу.", "Собака бежит по пляжу."),
        ("كلب يركض على الشاطئ", "كلب يركض على الشاطئ"),
        ("कुत्ता समुद्र तट पर दौड़ता है", "कुत्ता समुद्र तट पर दौड़ता है"),
        ("一只狗在海滩上奔跑。", "一只狗在海滩上奔跑。"),
    ],
)
def test_untranslated_words_are_a_copy(source, output) -> None:
    assert flags(source, output) == ("copy",)
    assert flags(source, f"{output} Heute") == ()


def test_an_invisible_output_of_a_visible_source_is_empty() -> None:
    for nothing in ("", " ", "\u200b\ufeff"):
        assert flags("A dog.", nothing) == ("empty",)
        assert flags("A dog runs along the sunny beach with a very big stick.", nothing) == (
            "empty",
        )
        assert flags(" \u200b", nothing) == ()
    assert flags("A dog.", "", ended=False) == ("empty", "cut")


def test_an_implausible_length_is_flagged_in_both_directions() -> None:
    words = [f"w{number}x" for number in range(60)]
    for few, many, expected in [
        (1, 13, ()),
        (1, 40, ("length",)),
        (5, 20, ()),
        (5, 30, ("length",)),
        (20, 60, ()),
        (12, 60, ("length",)),
    ]:
        short, long = " ".join(words[:few]), " ".join(words[-many:])
        ids = range(100)
        assert flags_of(short, long, few, ids[:many], True) == expected
        assert flags_of(long, short, many, ids[:few], True) == expected


def test_an_output_without_eos_is_cut() -> None:
    for english, german in REAL:
        assert flags(english, german, ended=False) == ("cut",)


@given(
    source=st.text(max_size=40),
    output=st.text(max_size=40),
    tokens=st.lists(st.integers(0, 5), max_size=40),
    ended=st.booleans(),
)
def test_any_text_has_flags_each_once_and_in_one_order(source, output, tokens, ended) -> None:
    order = ("empty", "repetition", "copy", "length", "missing", "cut")
    raised = flags_of(source, output, len(source), tokens, ended)
    assert raised == tuple(flag for flag in order if flag in raised)
