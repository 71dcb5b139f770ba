"""Hours after noon in translations between English and German."""

import pytest
import regex

from transduce.translate.restore.afternoon import in_english, in_german
from transduce.translate.translator import Translator


@pytest.mark.parametrize(
    ("source", "output", "right"),
    [
        ("It begins at 8:15 p.m.", "Es beginnt um 8:15 Uhr.", "Es beginnt um 20:15 Uhr."),
        ("It begins at 8:15 p.m.", "Es beginnt um 20:15 Uhr.", None),
        ("It begins at 8:15 p.m.", "Es beginnt um 8:15 Uhr abends.", None),
        ("It begins at 8:15 p.m.", "Es beginnt um 8:15 Uhr morgens.", "Es beginnt um 20:15 Uhr."),
        ("At 10:40 p.m.", "Um 10:40 Uhr nachmittags", "Um 22:40 Uhr"),
        ("At 4:40 p.m.", "Um 4:40 Uhr nachmittags", None),
        ("At 9 a.m.", "Um 9 Uhr abends", "Um 9 Uhr"),
        ("At 9 a.m.", "Um 9 Uhr morgens", None),
        ("It begins at 8:15 a.m.", "Es beginnt um 8:15 Uhr.", None),
        ("Dinner is at 7PM.", "Das Abendessen ist um 7 Uhr PM.", "Das Abendessen ist um 19 Uhr."),
        ("From 9 a.m. to 5 p.m.", "Von 9 bis 5 Uhr.", "Von 9 bis 17 Uhr."),
        ("At 12:30 a.m.", "Um 12.30 Uhr.", "Um 0.30 Uhr."),
        ("At 12:30 p.m.", "Um 12.30 Uhr.", None),
        ("At 5 p.m. with 5 friends", "Um 5 Uhr mit 5 Freunden", None),  # which one?
        ("I am 5 and came at 15.", "Ich bin 5 und kam um 15 Uhr.", None),
    ],
)
def test_german_counts_hours_to_24(source, output, right) -> None:
    assert in_german(source, output) == right


@pytest.mark.parametrize(
    ("output", "right"),
    [
        ("It is at 14 o'clock.", "It is at 2 p.m."),
        ("At 23.55 o'clock or at fifteen o'clock?", "At 11:55 p.m. or at 3 p.m.?"),
        ("It ends at 24 o'clock.", "It ends at midnight."),
        ("At 12 o'clock there were 14 people.", None),
    ],
)
def test_english_counts_hours_to_12(output, right) -> None:
    assert in_english(output) == right


def test_the_bundled_models_tell_morning_and_evening_apart() -> None:
    texts = [f"The train leaves at {hour}:40 p.m." for hour in range(1, 12)]
    found = Translator.load("en-de").results(texts)
    counted = [
        regex.search(rf"\b{hour}[:.]40\b", one.translation) is not None
        for hour, one in zip(range(13, 24), found, strict=True)
    ]
    worded = [
        regex.search(
            rf"\b{hour}[:.]40 Uhr {'nachmittags' if hour < 6 else 'abends'}", one.translation
        )
        is not None
        for hour, one in zip(range(1, 12), found, strict=True)
    ]
    assert sum(a or b for a, b in zip(counted, worded, strict=True)) >= 10, found
    assert sum(counted) >= 5
    assert all("inserted" in one.flags for one, good in zip(found, counted, strict=True) if good)
    found = Translator.load("de-en").translate(
        [f"Ich komme um {hour} Uhr." for hour in range(13, 24)]
    )
    right = [f"{h - 12} p.m." in text for h, text in zip(range(13, 24), found, strict=True)]
    assert sum(right) >= 9, found
