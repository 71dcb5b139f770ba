"""Separators of thousands: 1,250 is 1.250 in German, where 1,250 is one and a quarter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.translate.entities import missing
from transduce.translate.restore.separators import with_separators
from transduce.translate.translator import Translator

ENGLISH = ["We need 1,250 chairs.", "It costs 1,299 euros.", "The city has 1,234,567 inhabitants."]
GERMAN = ["Wir brauchen 1.250 Stühle.", "Die Stadt hat 1.234.567 Einwohner."]


@pytest.mark.parametrize(
    ("source", "output", "wanted"),
    [
        ("We need 1,250 chairs.", "Wir brauchen 1,250 Stühle.", "Wir brauchen 1.250 Stühle."),
        ("It has 1,234,567 people.", "Es hat 1234.567 Leute.", "Es hat 1.234.567 Leute."),
        ("It costs $1,250.50.", "Es kostet 1,250.50 Dollar.", "Es kostet 1.250,50 Dollar."),
        ("1,250 or 1,250", "1,250 oder 1.250", "1.250 oder 1.250"),
        ("We need 1,250 chairs.", "Wir brauchen 1.250 Stühle.", None),
        ("We need 1,250 chairs.", "Wir brauchen 1250 Stühle.", None),  # nothing is wrong with it
        ("We need 1250 chairs.", "Wir brauchen 1250 Stühle.", None),
        ("It weighs 1.250 kg.", "Es wiegt 1,250 kg.", None),
        ("I use version 3.125.", "Ich benutze Version 3.125.", None),
        ("1,250 cats and 1.250 kg", "1,250 Katzen und 1,250 kg", None),  # which is which?
    ],
)
def test_german_numbers_are_separated_as_in_german(source, output, wanted) -> None:
    assert with_separators(source, output, "en", "de") == wanted


def test_english_numbers_are_separated_as_in_english_but_addresses_are_kept() -> None:
    assert with_separators("1.250 Stühle", "1.250 chairs", "de", "en") == "1,250 chairs"
    assert with_separators("Er hat 192.168.100.200.", "It has 192.168.100.200.", "de", "en") is None


@pytest.mark.parametrize("languages", [("en", "ja"), ("de", "fr"), ("en", None), (None, "de")])
def test_other_languages_are_left_alone(languages) -> None:
    assert with_separators("1,250 chairs", "1,250 Stühle", *languages) is None


@given(st.lists(st.integers(1000, 10**9), min_size=1, max_size=3))
def test_copied_numbers_keep_their_values(numbers) -> None:
    english = " and ".join(f"{number:,}" for number in numbers)
    german = " und ".join(f"{number:,}".replace(",", ".") for number in numbers)
    assert with_separators(english, english.replace("and", "und"), "en", "de") == german
    assert with_separators(german, german.replace("und", "and"), "de", "en") == english


@pytest.mark.parametrize(("model", "texts"), [("en-de", ENGLISH), ("de-en", GERMAN)])
def test_the_bundled_models_write_numbers_as_the_target_language_does(model, texts) -> None:
    source, target = model.split("-")
    found = Translator.load(model).translate(texts)
    for text, one in zip(texts, found, strict=True):
        assert not missing(text, one, target), one
        assert with_separators(text, one, source, target) is None, one
