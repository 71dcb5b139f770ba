"""Number words and month names of English and German, to recognise "3" in "drei"."""

from collections.abc import Iterator
from functools import cache

import regex  # type: ignore[import-untyped]

_UNITS = {
    "en": "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen",
    "de": "null ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn "
    "fünfzehn sechzehn siebzehn achtzehn neunzehn",
}
_TENS = {
    "en": "twenty thirty forty fifty sixty seventy eighty ninety",
    "de": "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
}
_POWERS = {
    "en": {1000: "thousand", 10**6: "million", 10**9: "billion"},
    "de": {1000: "tausend", 10**6: "million", 10**9: "milliarde"},
}
# beginnings of other words for a number: ordinals, and what is said instead
_OTHERS = {
    "en": {
        0: "no |none", 1: "a |an |first|once|single", 2: "second|twice|both|pair|couple|two",
        3: "third|thrice", 5: "fifth", 8: "eighth", 9: "ninth", 12: "twelfth|dozen|noon|midnight",
        15: "quarter", 30: "half", 45: "quarter", 24: "midnight", 100: "hundred",
    },
    "de": {
        0: "kein|mitternacht", 1: "erst", 2: "beid|paar|zwo", 3: "dritt", 7: "siebt",
        12: "dutzend|mittag|mitternacht", 15: "viertel", 24: "mitternacht", 30: "halb|dreissig",
        45: "viertel|dreiviertel",
    },
}  # fmt: skip
_MONTHS = {
    "en": "jan feb mar apr may jun jul aug sep oct nov dec",
    "de": "jan feb mär apr mai jun jul aug sep okt nov dez",
}
LANGUAGES = frozenset(_UNITS)

SPELLED = range(13, 1000)  # smaller ones have other meanings too, such as "one" and "elf"
_WORDS = [*_UNITS["en"].split(), *_TENS["en"].split(), "hundred", *_POWERS["en"].values()]
_ENGLISH = rf"(?:{'|'.join(_WORDS)})\b"
_RUN = regex.compile(  # of English words, or a German word
    rf"(?i)\b(?:a (?=hundred\b))?{_ENGLISH}(?:(?:[ -]|(?<=hundred) and ){_ENGLISH})*+"
    r"(?![ -](?:first|second|third|\w+th)\b)"
    r"|\b(?:\p{L}*hundert (?:und )?(?=\p{L}*(?:zig|ßig|zehn)\b))?\p{L}{7,}\b"
    r"(?! (?:tausend|million|milliarde))"
)


@cache
def numeral_forms(language: str, number: int) -> tuple[str, ...]:
    """The beginnings of words that stand for a number, in lower case; () if there are none.

    >>> numeral_forms("de", 124), numeral_forms("en", 124)
    (('einhundertvierundzwanzig', 'hundertvierundzwanzig'), ('one hundred twenty-four',))
    """
    others = _OTHERS[language].get(number)
    forms = others.split("|") if others else []
    if number < 10**6:
        spelled = _german(number) if language == "de" else _english(number)
        forms = [spelled, *forms]
        if number > 1 and language == "de" and spelled.startswith(("einhundert", "eintausend")):
            forms.insert(1, spelled.removeprefix("ein"))
    for power, word in _POWERS[language].items():
        if number % power == 0 and number >= power:
            forms += [f"{number // power} {word}", *[word] * (number == power)]
            if number // power < 1000:
                forms += [
                    f"{form}{e} {word}"
                    for form in numeral_forms(language, number // power)
                    for e in ("", "e")
                ]
    return tuple(forms)


def spelled_numbers(text: str) -> Iterator[tuple[str, int, int]]:
    """The numbers in words of a text, their positions and their values.

    >>> list(spelled_numbers("A hundred and six, not zweiundvierzig or nineteen eighty."))
    [('A hundred and six', 0, 106), ('zweiundvierzig', 23, 42)]
    >>> list(spelled_numbers("Hundert und sechzig Menschen"))
    [('Hundert und sechzig', 0, 160)]
    """
    for match in _RUN.finditer(text):
        words = regex.sub("^a ", "one ", match[0].lower())
        words = words.replace("-", " ").replace(" and ", " ")
        value = _values().get(words) or _values().get(words.replace(" ", ""))
        if value is not None:
            yield match[0], match.start(), value


@cache
def _values() -> dict[str, int]:
    """What the spellings of numbers mean, without hyphens and "and"."""
    found = {}
    for number in SPELLED:
        german = _german(number)
        short = german.removeprefix("ein") if german.startswith("einhundert") else german
        for form in (_english(number).replace("-", " "), german, short):
            found[form] = number
            found[form.replace("dreißig", "dreissig")] = number
            found[form.replace("hundert", "hundertund")] = number
        for form in (german, short):
            if form.endswith("hundertein"):
                found[form + "s"] = number
    return found


def _german(number: int) -> str:
    units, tens = _UNITS["de"].split(), _TENS["de"].split()
    if number < 20:
        return units[number]
    if number < 100:
        ten = tens[number // 10 - 2]
        return f"{units[number % 10]}und{ten}" if number % 10 else ten
    power, word = (100, "hundert") if number < 1000 else (1000, "tausend")
    rest = _german(number % power) if number % power else ""
    return f"{_german(number // power)}{word}{rest}"


def _english(number: int) -> str:
    units, tens = _UNITS["en"].split(), _TENS["en"].split()
    if number < 20:
        return units[number]
    if number < 100:
        ten = tens[number // 10 - 2]
        return f"{ten}-{units[number % 10]}" if number % 10 else ten
    power, word = (100, "hundred") if number < 1000 else (1000, "thousand")
    rest = f" {_english(number % power)}" if number % power else ""
    return f"{_english(number // power)} {word}{rest}"


def month_forms(language: str, number: int) -> tuple[str, ...]:
    """The beginning of the name of a month."""
    return (_MONTHS[language].split()[number - 1],) if 1 <= number <= 12 else ()
