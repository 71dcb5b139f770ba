"""Dates after a day of the week: "on Tuesday, May 14" is "am Dienstag, dem 14. Mai"."""

from collections.abc import Callable
from dataclasses import dataclass

import regex  # type: ignore[import-untyped]

from transduce.translate.join import Found
from transduce.translate.plan import Unit
from transduce.translate.traits import Traits

_WEEKDAYS = {
    "en": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
    "de": ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"],
}
_MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
}


def _pattern(language: str, *forms: str) -> regex.Pattern[str]:
    """Of a date after a day of the week, in one of the forms of day (D) and month (M)."""
    weekday = rf"\b(?P<weekday>{'|'.join(_WEEKDAYS[language])})"
    month = rf"(?P<month>{_MONTHS[language].replace(' ', '|')})\b"
    date = "|".join(forms).replace("D", r"(?P<day>\d\d?)").replace("M", month)
    return regex.compile(rf"{weekday}(?P<date>,? (?:{date})(?:,? (?P<year>\d{{4}})\b)?)")


_DATES = {
    "en": _pattern(
        "en", r"M D(?:st|nd|rd|th)?\b", r"D(?: of)? M", r"(?:the )?D(?:st|nd|rd|th)(?: of)? M"
    ),
    "de": _pattern("de", r"(?:de[mn] )?D\. M", r"(?<!\b[Aa]m \w+, )der D\. M"),
}


@dataclass(frozen=True)
class Date:
    """A day of the week and the date after it, in a text."""

    weekday: int  # from 0, Monday
    day: int
    month: int  # from 0, January
    year: str | None
    start: int  # of what follows the day of the week
    end: int

    @property
    def value(self) -> tuple[int, int, int, str | None]:
        return self.weekday, self.day, self.month, self.year

    def after(self, before: str, language: str) -> str:
        """The date as it is written after this text, which ends with the day of the week."""
        month, year = _MONTHS[language].split()[self.month], self.year
        if language == "en":
            return f", {month} {self.day}{f', {year}' if year else ''}"
        case = "dem" if regex.search(r"(?i)\bam \w+$", before) else "der"
        return f", {case} {self.day}. {month}{f' {year}' if year else ''}"


def dates(text: str, language: str) -> list[Date]:
    """The dates in a text that follow a day of the week.

    >>> [(d.day, d.month) for d in dates("On Monday, June 5th, or on Sunday the 1st of May", "en")]
    [(5, 5), (1, 4)]
    """
    return [
        Date(
            _WEEKDAYS[language].index(match["weekday"]),
            int(match["day"]),
            _MONTHS[language].split().index(match["month"]),
            match["year"],
            *match.span("date"),
        )
        for match in _DATES[language].finditer(text)
    ]


def with_date(date: Date, output: str, language: str) -> str | None:
    """The translation of a text without its date, with it; None if it has no single place.

    >>> (date,) = dates("See you on Friday, March 21.", "en")
    >>> with_date(date, "Bis Freitag!", "de"), with_date(date, "Wir sehen uns am Freitag.", "de")
    ('Bis Freitag, der 21. März!', 'Wir sehen uns am Freitag, dem 21. März.')
    """
    weekday = _WEEKDAYS[language][date.weekday]
    parts = regex.split(rf"(?<=\b{weekday})(?!\w)", output)
    return date.after(parts[0], language).join(parts) if len(parts) == 2 else None


def keep_dates(
    found: dict[Unit, Found],
    traits: Traits,
    encode: Callable[[str], tuple[int, ...]],
    search: Callable[[list[Unit]], list[Found]],
    inserted: Callable[[Unit, Found, str], Found | None],
) -> None:
    """Corrects dates after a day of the week in translations between English and German.

    The sentence is translated without the date, which is then put after the day of the week.
    `inserted` gives a result with another text, or None if that has faults.
    """
    source, target = traits.source_language, traits.target_language
    if source not in _DATES or target not in _DATES:
        return
    waiting: list[tuple[Unit, Date, Unit]] = []
    for unit, result in found.items():
        wanted = dates(unit.text, source)
        there = [date.value for date in dates(result.texts[0], target)]
        if len(wanted) == 1 and [wanted[0].value] != there:
            text = unit.text[: wanted[0].start] + unit.text[wanted[0].end :]
            waiting.append((unit, wanted[0], Unit(text, encode(text), unit.prefix)))
    again = search([other for *_, other in waiting]) if waiting else []
    for (unit, date, _), result in zip(waiting, again, strict=True):
        output = None if result.flags else with_date(date, result.texts[0], target)
        if output is not None:
            found[unit] = inserted(unit, found[unit], output) or found[unit]
