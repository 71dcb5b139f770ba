"""Hours after noon: "3:30 p.m." is "15:30 Uhr" in German, and "14 Uhr" is "2 p.m." in English."""

import regex  # type: ignore[import-untyped]

from transduce.translate.numerals import numeral_forms
from transduce.translate.restore.second import SecondSearch

_ENGLISH = regex.compile(
    r"(?i)(?<![\w.,:])(?P<hour>\d\d?)(?:[:.](?P<minute>\d\d))? ?(?P<half>[ap])\.? ?m\b\.?"
)
# German words by which the half of the day is clear, and what a model leaves of "p.m."
_CLEAR = regex.compile(
    r"(?i)\b(?:(?:morgen|(?:nach|vor)?mittag|abend|nacht)s|(?:nach)?mittag|abend|nacht|früh)\b"
)
# the word after a time, and the hours that it may follow
_FITTING = {
    "a": {
        "morgens": range(1, 12),
        "früh": range(1, 12),
        "vormittags": range(6, 12),
        "nachts": (12, *range(1, 6)),
    },
    "p": {
        "mittags": (12, 1),
        "nachmittags": range(1, 7),
        "abends": range(5, 12),
        "nachts": range(10, 12),
    },
}
_HALF = "(?: (?P<word>morgens|früh|vormittags|mittags|nachmittags|abends|nachts)\\b)?"
_COPIED = r"(?: [AaPp]\.?[Mm]\b(?:\.(?!\s*$))?)?"
_LATE = range(13, 25)
_WORDS = {numeral_forms("en", hour)[0]: hour for hour in _LATE}
_OCLOCK = regex.compile(
    rf"(?i)(?<![\w.,:])(?P<hour>1[3-9]|2[0-4]|{'|'.join(sorted(_WORDS, key=len, reverse=True))})"
    r"(?:[:.](?P<minute>\d\d))? o['’]clock\b"
)


def in_german(source: str, output: str) -> str | None:
    """The German output with the hours after noon of the English source; None if it has them.

    >>> in_german("The film begins at 8:15 p.m.", "Der Film beginnt um 8:15 Uhr.")
    'Der Film beginnt um 20:15 Uhr.'
    >>> in_german("The film begins at 8:15 p.m.", "Der Film beginnt um 8:15 Uhr morgens.")
    'Der Film beginnt um 20:15 Uhr.'
    """
    wanted = output
    for match in _ENGLISH.finditer(source):
        hour, minute, half = int(match["hour"]), match["minute"], match["half"].lower()
        whole = hour % 12 + (12 if half == "p" else 0)
        if not 0 < hour <= 12:
            continue
        minutes = rf"(?P<rest>[:.]{minute})" if minute and minute != "00" else r"(?P<rest>[:.]00)?"
        place = regex.compile(
            rf"(?<![\w.,:-]){hour}{minutes}(?![\w:-]|[.,]\d)(?P<uhr> Uhr)?{_COPIED}{_HALF}"
        )
        found = list(place.finditer(wanted))
        if len(found) != 1:
            continue
        if word := found[0]["word"]:
            wrong = hour not in _FITTING[half].get(word, ())
        else:
            wrong = whole != hour and not _CLEAR.search(output)
        if wrong:
            wanted = place.sub(lambda m, h=whole: f"{h}{m['rest'] or ''}{m['uhr'] or ''}", wanted)
    return None if wanted == output else wanted


def in_english(output: str) -> str | None:
    """The English output without hours after twelve o'clock; None if it has none.

    >>> in_english("The meeting is at 14 o'clock.")
    'The meeting is at 2 p.m.'
    """

    def noon(match: regex.Match[str]) -> str:
        hour = _WORDS.get(match["hour"].lower()) or int(match["hour"])
        minute = f":{match['minute']}" if match["minute"] else ""
        if hour == 24:
            return f"12{minute} a.m." if minute else "midnight"
        return f"{hour - 12}{minute} p.m."

    wanted = _OCLOCK.sub(noon, output)
    wanted = regex.sub(r"(?<=\b[ap]\.m\.)\.$", "", wanted)  # one full stop at the end
    return None if wanted == output else wanted


def keep_afternoons(second: SecondSearch) -> None:
    """Corrects hours after noon in translations between English and German."""
    languages = second.traits.source_language, second.traits.target_language
    for unit, result in second.found.items():
        if languages == ("en", "de"):
            second.replace(unit, in_german(unit.text, result.texts[0]), again=True)
        elif languages == ("de", "en"):
            second.replace(unit, in_english(result.texts[0]), again=True)
