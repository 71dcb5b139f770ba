"""Dates after a day of the week: "on Tuesday, May 14" is "am Dienstag, dem 14. Mai"."""

from dataclasses import dataclass

import regex  # type: ignore[import-untyped]

from transduce.translate.restore.second import SecondSearch

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


@dataclass(frozen=True)
class Undated:
    """A source without its date."""

    text: str
    date: Date

    def restored(self, output: str, language: str) -> str | None:
        """The output with the date after its day of the week; None if that has no single place.

        >>> (one,) = without_date("See you on Friday, March 21.", "en")
        >>> one.restored("Bis Freitag!", "de"), one.restored("Wir sehen uns am Freitag.", "de")
        ('Bis Freitag, der 21. März!', 'Wir sehen uns am Freitag, dem 21. März.')
        """
        weekday = _WEEKDAYS[language][self.date.weekday]
        parts = regex.split(rf"(?<=\b{weekday})(?!\w)", output)
        return self.date.after(parts[0], language).join(parts) if len(parts) == 2 else None


def without_date(source: str, language: str) -> list[Undated]:
    """The attempt to translate a source without its date; none if it has none, or several."""
    found = dates(source, language)
    return [Undated(source[: d.start] + source[d.end :], d) for d in found if len(found) == 1]


def keep_dates(second: SecondSearch) -> None:
    """Corrects dates after a day of the week in translations between English and German."""
    source, target = second.traits.source_language, second.traits.target_language
    if source not in _DATES or target not in _DATES:
        return
    attempts = [
        (unit, attempt)
        for unit, result in second.found.items()
        for attempt in without_date(unit.text, source)
        if [date.value for date in dates(result.texts[0], target)] != [attempt.date.value]
    ]
    for unit, attempt, result in second.of(attempts):
        if not result.flags:
            second.replace(unit, attempt.restored(result.texts[0], target))
