"""Flags that need no second search: another language, and a low score."""

import gzip

import pytest

from transduce.translate.guards import sureness
from transduce.translate.language import other_language
from transduce.translate.traits import ENOUGH, LOW_SCORE, Traits, score_threshold


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wo ist der nächste Bahnhof?", "de"),
        ("Where is the nearest station?", "en"),
        ("Où est la gare ?", "fr"),
        ("¿Dónde está la estación de tren?", "es"),
        ("Waar is het station, en hoe laat is het?", "nl"),
        ("Dov'è la stazione, per favore? Non lo so.", "it"),
        ("Где находится вокзал?", "ru"),
        ("一只狗在海滩上奔跑。", "zh"),
    ],
)
def test_plain_text_of_another_language_is_recognised(text, language) -> None:
    for expected in ("en", "de"):
        assert other_language(text, expected) == (language != expected)
    for unknown in (None, "xx"):
        assert not other_language(text, unknown)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Tom",
        "Guten Appetit, Tom!",
        "Die Hard is in Paris.",
        "Rio de Janeiro",
        "3 × 4 = 12",
        "Москва",
    ],
)
def test_short_and_mixed_text_is_not(text) -> None:
    assert not other_language(text, "en")


@pytest.mark.parametrize(
    ("file", "language", "expected", "least", "most"),
    [
        ("tatoeba-en-de/mono.en.gz", "en", "en", 0.0, 0.0005),
        ("tatoeba-en-de/mono.de.gz", "de", "de", 0.0, 0.0005),
        ("newstest/newstest2014.en.gz", "en", "en", 0.0, 0.0005),
        ("multi30k/test_2017_flickr.en.gz", "en", "en", 0.0, 0.0005),
        ("tatoeba-en-de/mono.de.gz", "de", "en", 0.75, 1.0),
        ("newstest/newstest2014.de.gz", "de", "en", 0.85, 1.0),
    ],
)
def test_real_text_is_rarely_taken_for_another_language(
    data, file, language, expected, least, most
) -> None:
    with gzip.open(data / file, "rt", encoding="utf-8") as stream:
        lines = [line for line, _ in zip(stream, range(6000), strict=False)]
    share = sum(other_language(line, expected) for line in lines) / len(lines)
    assert least <= share <= most


def test_a_short_translation_may_be_less_sure_than_a_long_one() -> None:
    assert sureness(-3.0, 3) > sureness(-30.0, 30)


def test_the_threshold_is_below_nearly_all_of_the_validation_data() -> None:
    values = [-n / 1000 for n in range(1000)]
    threshold = score_threshold(values)
    assert threshold is not None
    assert sum(value < threshold for value in values) == 20
    assert score_threshold(values[: ENOUGH - 1]) is None
    assert Traits().low_score == LOW_SCORE
