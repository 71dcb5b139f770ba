"""Half hours: English counts them from the hour before, German towards the next."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.translate.half_hours import corrected, half_hours
from transduce.translate.numerals import numeral_forms
from transduce.translate.translator import Translator

ENGLISH = [numeral_forms("en", hour)[0] for hour in range(1, 13)]
GERMAN = ["eins", *(numeral_forms("de", hour)[0] for hour in range(2, 13))]
HOURS = st.integers(0, 11)


def half_past(hour: int) -> tuple[str, str]:
    """The same time in English and in German."""
    return f"half past {ENGLISH[hour - 1]}", f"halb {GERMAN[hour]}"


@pytest.mark.parametrize(
    ("text", "language", "hours"),
    [
        ("At half past eight, half-past 12 or 9:30.", "en", [8, 0, 9]),
        ("It's eight-thirty, or twelve thirty.", "en", [8, 0]),
        ("Half of the past ten years cost $7.30.", "en", []),
        ("Um halb neun, halb 1 oder 9.30 Uhr.", "de", [8, 0, 9]),
        ("Um acht Uhr dreißig, um 20.30 Uhr.", "de", [8, 20]),
        ("Er ist halb so groß und halb tot; 8.305 Leute, 8:30:15.", "de", []),
    ],
)
def test_half_hours_are_found_in_words_and_digits(text, language, hours) -> None:
    assert [one.hour for one in half_hours(text, language)] == hours


@given(HOURS, HOURS)
def test_a_wrong_half_hour_is_corrected_in_both_directions(hour, wrong) -> None:
    (english, german), (english_wrong, german_wrong) = half_past(hour), half_past(wrong)
    right = None if hour == wrong else f"Um {german}."
    assert corrected(f"At {english}.", f"Um {german_wrong}.", "en", "de") == right
    right = None if hour == wrong else f"At {english}."
    assert corrected(f"Um {german}.", f"At {english_wrong}.", "de", "en") == right


@pytest.mark.parametrize(
    ("source", "output", "right"),
    [
        ("At half past eight.", "Um 8.30 Uhr.", None),
        ("At half past eight.", "Um 20.30 Uhr.", None),
        ("At half past eight.", "Um 19.30 Uhr.", "Um 20.30 Uhr."),
        ("At 8:30.", "Um halb acht.", "Um halb neun."),
        ("At half past one or half past two.", "Um halb eins oder halb zwei.",
         "Um halb zwei oder halb drei."),
        ("At half past one or half past two.", "Um halb drei oder halb zwei.", None),
        ("At half past eight.", "Um acht Uhr.", None),  # nothing to correct
        ("At half past eight.", "Um halb acht oder um halb neun.", None),  # which one?
    ],
)  # fmt: skip
def test_digits_stay_digits_and_what_is_not_certain_stays(source, output, right) -> None:
    assert corrected(source, output, "en", "de") == right


@pytest.mark.parametrize(
    ("model", "sentence", "side"),
    [
        ("en-de", "The train leaves at {}.", 1),
        ("en-de", "I got up at {} this morning.", 1),
        ("de-en", "Der Zug fährt um {} ab.", 0),
        ("de-en", "Wir treffen uns um {}.", 0),
    ],
)
def test_the_bundled_models_are_not_an_hour_early_or_late(model, sentence, side) -> None:
    times = [half_past(hour) for hour in range(12)]
    found = Translator.load(model).translate([sentence.format(time[1 - side]) for time in times])
    language = model[3:]
    hours = [{one.hour % 12 for one in half_hours(text, language)} for text in found]
    assert sum(hours[hour] == {hour} for hour in range(12)) >= 11, found
