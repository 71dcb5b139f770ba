"""Numbers, times, addresses and the like, which a translation must keep."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import regex  # type: ignore[import-untyped]

from transduce.translate.numerals import (
    LANGUAGES,
    month_forms,
    numeral_forms,
    spelled_numbers,
)

_ENDINGS = "com|org|net|edu|gov|info|io|eu|uk|de|at|ch|fr|es|it|nl|pl"
_FILES = "txt|pdf|docx?|xlsx?|pptx?|jpe?g|png|gif|zip|gz|csv|json|html?|py|sh|mp[34]"
# Tried in this order at each position; a group of the same name may occur more than once.
_ENTITY = regex.compile(
    r"(?P<address>[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?i:https?|ftp)://[^\s<>\"“”„]+|(?<!\w)(?i:www)\.[^\s<>\"“”„]+"
    rf"|(?<![\w.])(?:[\p{{Ll}}\d-]+\.)+(?:{_ENDINGS})\b(?:/[^\s<>\"“”„]*)?"
    r"|(?<!\w)[@#]\p{L}\w+"  # user names and tags
    r"|(?<![\w/\\.])(?:~|\.{1,2})?(?:/[\w.+-]*\p{Ll}[\w.+-]*){2,}/?|(?<!\w)[A-Za-z]:\\[^\s\"<>|]+"
    rf"|(?<![\w.])[\w-]+\.(?:{_FILES})\b"
    r"|(?<![\w-])\p{Lu}+\d+(?:-?\p{Lu}*\d+)*(?!\w))"  # A380, MP3
    r"|(?<![\w.,/:-])(?:"
    r"(?P<date>\d{1,4}(?P<mark>[-/.])\d{1,2}(?P=mark)\d{2,4}(?![\d/-]))"
    r"|(?P<time>\d{1,2}:\d{2}(?::\d{2})?(?![\w:]))"
    r"|(?P<number>\d{1,3}(?:[.,'’\u00a0\u202f ]\d{3})++(?:[.,]\d+)?(?![\d/-]))"
    r"|(?P<phone>(?:\+|\(?0)\d(?:[ ()/–-]{0,2}\d){5,}(?!\d)|\d{3,}(?:[ /-]\d{3,})+(?!\d)))"
    r"|(?<![\w])(?<!\d[.,:])(?P<number>\d+(?:[.,]\d+)*)"
)
SMALL = 20  # numbers up to this are often written in words

_TRAILING = ".,;:!?)]}'’…"  # after an address, these belong to the sentence
_DIGITS = regex.compile(r"\d+")
_SPELLED = regex.compile(r"\d+(?:[.,:'’\u00a0\u202f /–()+-]{1,2}\d+)*")  # digits with separators
_DECIMAL = regex.compile(r".*[.,](?:\d\d?|\d{4,})")
_CLOCK = regex.compile(r"\s*(?:[ap]\.?\s?m\b|uhr\b|o['’]clock\b)", regex.IGNORECASE)

_POINTED_TIME = regex.compile(r"\d{1,2}\.\d{2}")  # 20.15 Uhr

_POINT = frozenset({"en", "zh", "ja", "ko", "he", "th"})  # languages that write 1,000.50
_COMMA = frozenset({"de", "fr", "es", "it", "nl", "pt", "pl", "ru", "cs", "da", "nb", "tr", "sv"})
_POINTED = regex.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+")
_COMMAED = regex.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d+,\d+")
_THOUSANDS = {
    **dict.fromkeys(_POINT, regex.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")),
    **dict.fromkeys(_COMMA, regex.compile(r"\d{1,3}(?:\.\d{3})+(?:,\d+)?")),
}
_SWAP = str.maketrans(",.", ".,")


@dataclass(frozen=True)
class Entity:
    """A part of a text that a translation must keep."""

    kind: str  # address, date, time, phone or number
    text: str
    start: int
    hour: bool = False  # "p.m.", "Uhr" or the like follows: 7 may become 19, and 19 become 7
    number: int | None = None  # the value, if it is written in words

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def groups(self) -> list[str]:
        """Its groups of digits, without leading zeros."""
        if self.number is not None:
            return [str(self.number)]
        return [_number(digits) for digits in _DIGITS.findall(self.text)]

    @property
    def digits(self) -> str:
        return _digits(self.text) if self.number is None else str(self.number)


def entities(text: str) -> list[Entity]:
    """The numbers, times, addresses and the like of a text.

    >>> [(one.kind, one.text) for one in entities("Mail a@b.org by 7:45, or pay $1,000.50.")]
    [('address', 'a@b.org'), ('time', '7:45'), ('number', '1,000.50')]
    """
    found = []
    for match in _ENTITY.finditer(text):
        kind = next(k for k in ("address", "date", "time", "phone", "number") if match[k])
        shown = match[0].rstrip(_TRAILING) if kind == "address" else match[0]
        hour = kind != "address" and bool(_CLOCK.match(text, match.end()))
        if hour and _POINTED_TIME.fullmatch(shown):
            kind = "time"
        found.append(Entity(kind, shown, match.start(), hour))
    for words, start, value in spelled_numbers(text):
        hour = bool(_CLOCK.match(text, start + len(words)))
        found.append(Entity("number", words, start, hour, value))
    return sorted(found, key=lambda one: one.start)


def missing(source: str, output: str, language: str | None = None) -> list[Entity]:
    """The entities of the source that the output, of this language, does not have.

    Digits may be separated in another way, and a number may be written in words.
    """
    wanted = entities(source)
    return [one for one in wanted if not _kept(one, output, language)] if wanted else []


def stray(source: str, output: str, language: str | None) -> list[Entity]:
    """The entities with digits in the output that the source, of this language, does not have."""
    return [
        one
        for one in entities(output)
        if one.kind != "address" and not _kept(one, source, language)
    ]


def localised(entity: Entity, source_language: str | None, target_language: str | None) -> str:
    """The entity as written in the target language: 1,000.50 is 1.000,50 in German."""
    if entity.number is not None:
        words = (
            numeral_forms(target_language, entity.number) if target_language in LANGUAGES else ()
        )
        return words[0] if words and entity.number < 100 else str(entity.number)
    languages = source_language, target_language
    for from_, to, form in ((_POINT, _COMMA, _POINTED), (_COMMA, _POINT, _COMMAED)):
        if (
            entity.kind == "number"
            and not entity.hour
            and languages[0] in from_
            and languages[1] in to
        ):
            return entity.text.translate(_SWAP) if form.fullmatch(entity.text) else entity.text
    return entity.text


def has_thousands(entity: Entity, language: str | None) -> bool:
    """Whether it is a number with separators of thousands, as written in this language."""
    form = _THOUSANDS.get(language or "")
    return entity.kind == "number" and bool(form and form.fullmatch(entity.text))


def _kept(one: Entity, output: str, language: str | None) -> bool:
    if one.kind == "address":
        return one.text.casefold() in output.casefold()
    if one.number is not None and (language not in LANGUAGES or one.text in output):
        return True
    spelled = _SPELLED.findall(output)
    groups = [_number(digits) for digits in _DIGITS.findall(output)]
    groups += [str(value) for *_, value in spelled_numbers(output)]
    whole = {_digits(text) for text in spelled}
    if one.digits in whole or one.digits in groups or set(one.groups) <= set(groups):
        return True
    if one.kind == "phone":
        return False
    words = output.casefold()
    return all(
        any(_said(form, groups, words, language) for form in forms) for forms in _readings(one)
    ) or (one.kind == "date" and all(_dated(n, groups, words, language) for n in one.groups))


def _readings(one: Entity) -> list[tuple[int, ...]]:
    """For each part of an entity, the numbers that may stand for it."""
    if one.kind != "time":
        number = int(one.digits)
        return [(number, number + 12, abs(number - 12)) if one.hour else (number,)]
    hour, *rest = map(int, one.groups)
    # "half eight" is 7:30 in German, and 19:30 is half past seven in English
    hours = tuple(h % 24 for h in (hour, hour + 12, hour + 1, hour + 13)) + (
        (24,) if not hour else ()
    )
    return [hours, *((minutes,) for minutes in rest if minutes)]


def _said(number: int, groups: Sequence[str], words: str, language: str | None) -> bool:
    """Whether a number is in a text, in digits or in words."""
    return str(number) in groups or _worded(numeral_forms, number, words, language)


def _dated(digits: str, groups: Sequence[str], words: str, language: str | None) -> bool:
    """Whether a part of a date is in a text: a number, a month or a year of two digits."""
    return (
        digits in groups
        or any(group[-2:] == digits[-2:] for group in groups if len(group) == 4)
        or (int(digits) <= 12 and _worded(month_forms, int(digits), words, language))
    )


def _worded(
    forms: Callable[[str, int], tuple[str, ...]], number: int, words: str, language: str | None
) -> bool:
    """Whether a word for a number is in a text; small ones may be, if the language is not known."""
    if language not in LANGUAGES:
        return number <= SMALL
    found = forms(language, number)
    return any(regex.search(rf"\b{regex.escape(form.casefold())}", words) for form in found)


def _digits(text: str) -> str:
    """Digits without separators, and without a zero at the end of decimals: 1.5 is 1,50."""
    digits = "".join(_DIGITS.findall(text))
    return _number(digits.rstrip("0") if _DECIMAL.fullmatch(text) else digits)


def _number(digits: str) -> str:
    return digits.lstrip("0") or "0"
