"""Dates after a day of the week, in translations between English and German."""

import pytest

from transduce.translate.restore.dates import dates, without_date
from transduce.translate.translator import Translator

ENGLISH = [
    "The appointment is on Tuesday, May 14.",
    "We are leaving on Saturday, August 3rd.",
    "School starts on Monday, September 2.",
    "My sister comes on Sunday, June 30.",
    "Is the bank closed on Thursday, October 31?",
    "On Friday, July 12, I have to work.",
]
GERMAN = [
    "Der Termin ist am Dienstag, dem 14. Mai.",
    "Die Schule beginnt am Montag, dem 2. September.",
    "Meine Schwester kommt am Sonntag, den 30. Juni.",
    "Wir treffen uns am Freitag, dem 12. Juli.",
]


@pytest.mark.parametrize(
    ("text", "language", "found"),
    [
        ("On Monday, June 5th, 2023.", "en", [(0, 5, 5, "2023")]),
        ("Sunday the 1st of May or Friday, 13 March 2020?", "en",
         [(6, 1, 4, None), (4, 13, 2, "2020")]),
        ("On Monday, five came. The 14 May be late on Tuesday, May I?", "en", []),
        ("Am Montag, dem 5. Juni 2023, oder Freitag, der 13. März", "de",
         [(0, 5, 5, "2023"), (4, 13, 2, None)]),
        ("Am Montag, Juni 5. Juni; am Montag, der 5. Juni", "de", []),  # not German
    ],
)  # fmt: skip
def test_dates_after_a_day_of_the_week_are_found(text, language, found) -> None:
    assert [date.value for date in dates(text, language)] == found


def test_a_date_is_put_after_its_day_of_the_week() -> None:
    (film,) = without_date("The film is on Friday, March 21, 2025.", "en")
    assert film.text == "The film is on Friday."
    assert film.restored("Am Freitag!", "de") == "Am Freitag, dem 21. März 2025!"
    assert film.restored("Er ist Freitag.", "de") == "Er ist Freitag, der 21. März 2025."
    assert film.restored("Am Samstag.", "de") is None
    assert film.restored("Freitag oder Freitag", "de") is None
    (film,) = without_date("Der Film läuft am Freitag, dem 21. März.", "de")
    assert film.restored("The film is on Friday.", "en") == "The film is on Friday, March 21."
    assert not without_date("On Friday, March 21, or on Monday, May 5.", "en")


@pytest.mark.parametrize(("model", "texts"), [("en-de", ENGLISH), ("de-en", GERMAN)])
def test_the_bundled_models_keep_dates_after_a_day_of_the_week(model, texts) -> None:
    source, target = model.split("-")
    found = Translator.load(model).translate(texts)
    for text, one in zip(texts, found, strict=True):
        (wanted,), there = dates(text, source), dates(one, target)
        assert [date.value for date in there] == [wanted.value], one
