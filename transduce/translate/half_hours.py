"""Half hours, which German counts towards the next hour: "half past eight" is "halb neun"."""

from collections.abc import Callable
from dataclasses import dataclass

import regex  # type: ignore[import-untyped]

from transduce.translate.join import Found
from transduce.translate.numerals import numeral_forms
from transduce.translate.plan import Unit
from transduce.translate.traits import Traits

_WORDS = {
    language: [numeral_forms(language, hour)[0] for hour in range(1, 13)]
    for language in ("en", "de")
}
_WORDS["de"][0] = "eins"


def _pattern(language: str, spoken: str, minutes: str) -> regex.Pattern[str]:
    hour = "|".join([r"\d\d?", *_WORDS[language]])
    return regex.compile(
        rf"(?i)(?<![\w.,:$€£])(?:{spoken} (?P<spoken>{hour})(?!\w|[.:]\d)"
        rf"|(?P<hour>\d\d?)[:.]30(?!\w|[.:]\d)|(?P<hour>{hour}){minutes}\b)"
    )


_PATTERNS = {
    "en": _pattern("en", "half[ -]past", "[ -]thirty"),
    "de": _pattern("de", "halb", " Uhr drei(?:ß|ss)ig"),
}


@dataclass(frozen=True)
class HalfHour:
    """A time of day with 30 minutes."""

    hour: int  # 0 to 23
    start: int  # of the word or the digits for the hour
    end: int
    towards: bool  # that the text has the next hour, as in "halb neun"


def half_hours(text: str, language: str) -> list[HalfHour]:
    """
    >>> [one.hour for one in half_hours("Um halb neun oder 9.30 Uhr, nicht um halb eins.", "de")]
    [8, 9, 0]
    """
    found = []
    for match in _PATTERNS[language].finditer(text):
        group = "spoken" if match["spoken"] else "hour"
        word, towards = match[group].lower(), language == "de" and group == "spoken"
        number = int(word) if word.isdecimal() else _WORDS[language].index(word) + 1
        hour = number - towards
        if 0 <= hour < 24:
            start, end = match.span(group)
            found.append(HalfHour(0 if hour == 12 else hour, start, end, towards))
    return found


def corrected(source: str, output: str, source_language: str, target_language: str) -> str | None:
    """The output with the half hours of the source; None if nothing is wrong, or not certain.

    >>> corrected("It's half past eight.", "Es ist halb acht.", "en", "de")
    'Es ist halb neun.'
    """
    wanted, there = half_hours(source, source_language), half_hours(output, target_language)
    if len(wanted) != len(there) or all(
        one.hour % 12 == other.hour % 12 for one, other in zip(wanted, there, strict=True)
    ):
        return None
    if {one.hour % 12 for one in wanted} == {one.hour % 12 for one in there}:
        return None  # in another order
    for one, other in reversed(list(zip(wanted, there, strict=True))):
        digits = output[other.start : other.end].isdecimal()
        afternoon = 12 if digits and other.hour > 12 else 0
        number = (one.hour + other.towards - 1) % 12 + 1 + afternoon
        hour = str(number) if digits else _WORDS[target_language][number - 1]
        output = output[: other.start] + hour + output[other.end :]
    return output


def keep_half_hours(
    found: dict[Unit, Found],
    traits: Traits,
    inserted: Callable[[Unit, Found, str], Found | None],
) -> None:
    """Corrects the half hours of translations between English and German."""
    source, target = traits.source_language, traits.target_language
    if source not in _PATTERNS or target not in _PATTERNS:
        return
    for unit, result in found.items():
        text = corrected(unit.text, result.texts[0], source, target)
        if text is not None and "inserted" not in result.flags:
            found[unit] = inserted(unit, result, text) or result
