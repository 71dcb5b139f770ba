"""Times of day in words: English and German count half hours in different ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.translate.restore.clock import corrected, said, times, with_full_hours
from transduce.translate.translator import Translator

HOURS, MINUTES = st.integers(0, 11), st.integers(1, 59)


@pytest.mark.parametrize(
    ("text", "language", "found"),
    [
        ("At half past eight, half-past 12 or 9:30.", "en", [(8, 30), (0, 30), (9, 30)]),
        ("It's eight-thirty, or twelve thirty.", "en", [(8, 30), (0, 30)]),
        ("It's ten to nine, at five minutes past 7.", "en", [(8, 50), (7, 5)]),
        ("It was a quarter to one. Come at twenty-five after six.", "en", [(0, 45), (6, 25)]),
        ("Half of the past ten years cost $7.30.", "en", []),
        ("From five to ten, about five to ten minutes, he won ten to nine; 7.20.", "en", []),
        ("Um halb neun, halb 1 oder 9.30 Uhr.", "de", [(8, 30), (0, 30), (9, 30)]),
        ("Um acht Uhr dreißig, um 20.30 Uhr.", "de", [(8, 30), (20, 30)]),
        ("Es ist fünf vor halb neun, um zehn nach 5.", "de", [(8, 25), (5, 10)]),
        ("Er ist halb so groß und halb tot; 8.305 Leute, 8:30:15.", "de", []),
        ("Um zehn vor neun Leuten; Platz zwanzig nach acht Runden.", "de", []),
    ],
)
def test_times_are_found_in_words_and_digits(text, language, found) -> None:
    assert [(one.hour, one.minute) for one in times(text, language)] == found


@given(HOURS, MINUTES, st.sampled_from(["en", "de"]))
def test_what_is_said_is_understood(hour, minute, language) -> None:
    (time,) = times(
        f"{'Um' if language == 'de' else 'At'} {said(hour, minute, language)}.", language
    )
    assert (time.hour, time.minute) == (hour, minute)


@given(st.tuples(HOURS, MINUTES), st.tuples(HOURS, MINUTES))
def test_a_wrong_time_is_corrected_in_both_directions(time, wrong) -> None:
    english, german = f"At {said(*time, 'en')}.", f"Um {said(*time, 'de')}."
    other = f"Um {said(*wrong, 'de')}."
    assert corrected(english, other, "en", "de") == (None if time == wrong else german)
    other = f"At {said(*wrong, 'en')}."
    assert corrected(german, other, "de", "en") == (None if time == wrong else english)


@pytest.mark.parametrize(
    ("source", "output", "right"),
    [
        ("At half past eight.", "Um 8.30 Uhr.", None),
        ("At half past eight.", "Um 20.30 Uhr.", None),
        ("At half past eight.", "Um 19.30 Uhr.", "Um 20.30 Uhr."),
        ("At ten to nine.", "Um 10.30 Uhr.", "Um 8.50 Uhr."),
        ("At 8:30.", "Um halb acht.", "Um halb neun."),
        ("Half past eight is early.", "Halb acht ist früh.", "Halb neun ist früh."),
        ("At half past one or half past two.", "Um halb eins oder halb zwei.",
         "Um halb zwei oder halb drei."),
        ("At half past one or half past two.", "Um halb drei oder halb zwei.", None),
        ("At half past eight.", "Um acht Uhr.", None),  # nothing to correct
        ("At half past eight.", "Um halb acht oder um halb neun.", None),  # which one?
    ],
)  # fmt: skip
def test_digits_stay_digits_and_what_is_not_certain_stays(source, output, right) -> None:
    assert corrected(source, output, "en", "de") == right


def test_a_lost_time_is_put_where_a_full_hour_would_be() -> None:
    attempts = with_full_hours("Meet me at ten to nine, or at twenty past six.", "en")
    assert attempts[0].text == "Meet me at seven o'clock, or at nine o'clock."
    restored = attempts[0].restored("Triff mich um sieben oder um 9 Uhr.", "de")
    assert restored == "Triff mich um zehn vor neun oder um zwanzig nach sechs."
    assert attempts[0].restored("Triff mich um sieben.", "de") is None
    assert not with_full_hours("Meet me at nine.", "en")


FRAMES = {
    "en-de": ["The train leaves at {}.", "I got up at {} this morning.", "It is {}."],
    "de-en": ["Der Zug fährt um {} ab.", "Wir treffen uns um {}.", "Es ist {}."],
}


@pytest.mark.parametrize(("model", "frame"), [(m, frame) for m in FRAMES for frame in FRAMES[m]])
@pytest.mark.parametrize("minute", [5, 10, 15, 20, 25, 30, 40, 50])
def test_the_bundled_models_keep_times_of_day(model, frame, minute, translators) -> None:
    source, target = model.split("-")
    texts = [frame.format(said(hour, minute, source)) for hour in range(12)]
    found = translators[model].translate(texts)
    right = [
        any((one.hour % 12, one.minute) == (hour, minute) for one in times(text, target))
        for hour, text in enumerate(found)
    ]
    assert sum(right) >= 11, found


@pytest.fixture(scope="module")
def translators() -> dict[str, Translator]:
    return {model: Translator.load(model) for model in FRAMES}
