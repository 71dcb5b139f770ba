"""Times of day in words: "half past eight" is "halb neun", "ten to nine" is "zehn vor neun"."""

from dataclasses import dataclass

import regex  # type: ignore[import-untyped]

from transduce.translate.numerals import numeral_forms
from transduce.translate.plan import Unit
from transduce.translate.restore.second import SecondSearch

_HOURS = {
    language: [numeral_forms(language, hour)[0] for hour in range(1, 13)]
    for language in ("en", "de")
}
_HOURS["de"][0] = "eins"
_MINUTES = {
    language: {numeral_forms(language, number)[0]: number for number in range(1, 60)}
    for language in _HOURS
}
_MINUTES["en"]["quarter"] = _MINUTES["de"]["viertel"] = 15
_MINUTES["de"]["dreissig"] = 30
_BEFORE = frozenset({"to", "before", "vor"})


def _pattern(language: str, relation: str, half: str, between: str, clock: str) -> regex.Pattern:
    """Of times of day; `between` hour and minutes, as in "9 Uhr 20", and `clock` after digits."""
    hour = "|".join([r"\d\d?", *reversed(_HOURS[language])])
    # longer words first, which may begin with another
    minute = "|".join(sorted(_MINUTES[language], key=len, reverse=True)).replace("-", "[ -]")
    return regex.compile(
        rf"(?i)(?<![\w.,:$€£-])(?:"
        rf"(?:a )?(?P<minute>{minute}|\d\d?)(?: minute[ns]?)?[ -](?P<relation>{relation})[ -]"
        rf"(?:(?P<half>halb) )?(?P<hour>{hour})(?!\w|[.:]\d)"
        rf"|(?P<half>{half})[ -](?P<hour>{hour})(?!\w|[.:]\d)"
        rf"|(?P<hour>\d\d?)(?P<mark>[:.])(?P<minute>\d\d)(?!\w|[.:]\d)(?:(?<=:..)|(?= {clock}))"
        rf"|(?P<hour>{hour}){between}(?P<minute>{minute}|\d\d)\b)"
    )


_TIMES = {
    "en": _pattern(
        "en", "past|after|to|before", "half[ -]past", "[ -]", r"(?:[ap]\.?m|o['’]clock)"
    ),
    "de": _pattern("de", "nach|vor", "halb", " Uhr ", "Uhr"),
}
# "Five to ten" and the like are times for certain only after such words and before no noun.
_CERTAIN = {
    "en": (
        regex.compile(
            r"(?i)\b(?:at|until|till|since|around|nearly|almost|for|or|it(?: is|['’]s| was)) $"
        ),
        regex.compile(
            r"\W*$|[^\w\s]| (?:in|on|at|this|today|tomorrow|tonight|yesterday|every|when|and|or|but"
            r"|sharp|by|for|with|now|because|so|[ap]\.?m|o['’]clock|exactly)\b"
        ),
    ),
    "de": (
        regex.compile(r"(?i)\b(?:um|gegen|bis|ab|seit|vor|es (?:ist|war)|(?:ist|war) es) $"),
        regex.compile(r"(?! \p{Lu})"),
    ),
}
# Hours that models translate well; a row is one attempt, and several times take several columns.
_FAMILIAR = ((7, 9), (8, 10), (9, 7))
_FULL_HOUR = {"en": "{} o'clock", "de": "{} Uhr"}


@dataclass(frozen=True)
class Time:
    """A time of day in a text, hours and minutes."""

    hour: int  # 0 to 23; in words 0 to 11
    minute: int
    start: int
    end: int
    mark: str | None  # between hour and minutes in digits; None: in words

    def same(self, other: "Time") -> bool:
        return (self.hour % 12, self.minute) == (other.hour % 12, other.minute)

    def like(self, other: "Time", language: str) -> str:
        """This time written as another one is: in words, or in digits with 12 or 24 hours."""
        if other.mark is None:
            return said(self.hour, self.minute, language)
        hour = self.hour % 12 + (12 if other.hour > 12 else 0)
        return f"{hour or 12}{other.mark}{self.minute:02}"


def times(text: str, language: str) -> list[Time]:
    """The times of day in a text, but full hours.

    >>> [(t.hour, t.minute) for t in times("Um halb neun oder 9.40 Uhr, um zehn vor eins.", "de")]
    [(8, 30), (9, 40), (0, 50)]
    """
    found = []
    before, after = _CERTAIN[language]
    for match in _TIMES[language].finditer(text):
        word, relation = match["hour"].lower(), (match["relation"] or "").lower()
        hour = int(word) if word.isdecimal() else _HOURS[language].index(word) + 1
        minute = _minutes(match["minute"] or "0", language)
        passed = hour * 60 + (-minute if relation in _BEFORE else minute)
        if match["half"]:
            passed += 30 if language == "en" else -30
        certain = (
            match["mark"]
            or match["half"]
            or relation == "past"
            or (before.search(text[: match.start()]) and after.match(text, match.end()))
        )
        if certain and hour <= 24 and 0 <= minute < 60 and passed % 60:
            passed %= (24 if match["mark"] else 12) * 60
            start, end = match.span()
            found.append(Time(passed // 60, passed % 60, start, end, match["mark"]))
    return found


def said(hour: int, minute: int, language: str) -> str:
    """A time of day in words.

    >>> said(8, 30, "de"), said(8, 50, "de"), said(12, 15, "en")
    ('halb neun', 'zehn vor neun', 'a quarter past twelve')
    """
    german = language == "de"
    this, following = (_HOURS[language][(hour + more - 1) % 12] for more in (0, 1))
    if minute == 30:
        return f"halb {following}" if german else f"half past {this}"
    late = minute > 30
    minutes = 60 - minute if late else minute
    number = numeral_forms(language, minutes)[0]
    if minutes == 15:
        number = "Viertel" if german else "a quarter"
    relation = ("nach", "vor") if german else ("past", "to")
    return f"{number} {relation[late]} {following if late else this}"


def corrected(source: str, output: str, source_language: str, target_language: str) -> str | None:
    """The output with the times of the source; None if nothing is wrong, or not certain.

    >>> corrected("It's half past eight.", "Es ist halb acht.", "en", "de")
    'Es ist halb neun.'
    """
    wanted, there = times(source, source_language), times(output, target_language)
    if not wanted or len(wanted) != len(there):
        return None
    if all(any(one.same(other) for other in there) for one in wanted):
        return None
    for one, other in reversed(list(zip(wanted, there, strict=True))):
        if not one.same(other):
            output = _replaced(output, other.start, other.end, one.like(other, target_language))
    return output


@dataclass(frozen=True)
class FullHours:
    """A source with full hours in place of its times in words."""

    text: str
    times: tuple[tuple[int, Time], ...]  # with the hours that take their places

    def restored(self, output: str, language: str) -> str | None:
        """The output with the times of the source again; None if one has no single place."""
        places = []
        for hour, time in self.times:
            found = [
                match.span()
                for match in regex.finditer(
                    rf"(?i)(?<![\w:.,])(?:{_HOURS[language][hour - 1]}|{hour}(?:[:.]00)?)"
                    rf"(?: Uhr| o['’]clock)?(?!\w|[.:,]\d)",
                    output,
                )
            ]
            if len(found) != 1:
                return None
            places.append((*found[0], said(time.hour, time.minute, language)))
        for start, end, words in sorted(places, reverse=True):
            output = _replaced(output, start, end, words)
        return output


def with_full_hours(source: str, language: str) -> list[FullHours]:
    """Attempts to translate a source without minutes; none if it has no times in words."""
    lost = [time for time in times(source, language) if time.mark is None]
    attempts = []
    for row in _FAMILIAR if 0 < len(lost) <= len(_FAMILIAR[0]) else ():
        text, rest = source, source
        for hour, time in reversed(list(zip(row, lost, strict=False))):
            full = _FULL_HOUR[language].format(_HOURS[language][hour - 1])
            text = _replaced(text, time.start, time.end, full)
            rest = rest[: time.start] + rest[time.end :]
        if any(regex.search(rf"(?i){_HOURS[language][hour - 1]}|{hour}", rest) for hour in row):
            continue
        attempts.append(FullHours(text, tuple(zip(row, lost, strict=False))))
    return attempts


def keep_times(second: SecondSearch) -> None:
    """Corrects the times of day of translations between English and German."""
    source, target = second.traits.source_language, second.traits.target_language
    if source not in _TIMES or target not in _TIMES:
        return
    attempts: list[tuple[Unit, FullHours]] = []
    for unit, result in second.found.items():
        wanted, output = times(unit.text, source), result.texts[0]
        if not wanted:
            continue
        text = corrected(unit.text, output, source, target)
        if text is not None:
            second.replace(unit, text)
        elif len(wanted) != len(times(output, target)):
            attempts += [(unit, attempt) for attempt in with_full_hours(unit.text, source)]
    for unit, attempt, result in second.of(attempts):
        if not result.flags:
            second.replace(unit, attempt.restored(result.texts[0], target))


def _minutes(word: str, language: str) -> int:
    return int(word) if word.isdecimal() else _MINUTES[language][word.lower().replace(" ", "-")]


def _replaced(text: str, start: int, end: int, words: str) -> str:
    """A part of a text replaced; words that begin the text begin with a capital."""
    begins = text[start].isupper() and not text[:start].strip(" \"'“”„»«")
    return text[:start] + (words[0].upper() if begins else words[0]) + words[1:] + text[end:]
