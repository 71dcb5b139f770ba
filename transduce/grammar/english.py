"""English inflection: plurals, verb forms, a or an, and number words."""

from dataclasses import dataclass

VOWELS = frozenset("aeiou")
_DOUBLING = frozenset({"swim", "run", "get", "jog", "plan", "hug", "grab"})
_AN_EXCEPTIONS = ("uni", "use", "euro")


@dataclass(frozen=True, slots=True, eq=False)
class EnglishVerb:
    """The forms of the inflecting word, and the words that follow it ("get" + "up")."""

    base: str
    third: str
    past: str  # empty if it is spelt like the present: its past is never generated
    participle: str
    gerund: str
    tail: str


def _is_consonant_y(word: str) -> bool:
    return word.endswith("y") and word[-2] not in VOWELS


def add_s(word: str) -> str:
    """The regular plural, and the third person singular."""
    if word.endswith(("s", "sh", "ch", "x", "z")):
        return word + "es"
    if _is_consonant_y(word):
        return word[:-1] + "ies"
    return word + "s"


def _add_ed(word: str) -> str:
    if word.endswith("e"):
        return word + "d"
    if _is_consonant_y(word):
        return word[:-1] + "ied"
    return (word + word[-1] if word in _DOUBLING else word) + "ed"


def _add_ing(word: str) -> str:
    if word.endswith("e") and not word.endswith(("ee", "be")):
        return word[:-1] + "ing"
    return (word + word[-1] if word in _DOUBLING else word) + "ing"


def verb(entry: str) -> EnglishVerb:
    """A verb from its entry: "visit", "eat: ate eaten", "get up: got gotten", "read: - read"."""
    lemma, _, principal_parts = entry.partition(":")
    base, _, tail = lemma.strip().partition(" ")
    past, participle = principal_parts.split() or (_add_ed(base), _add_ed(base))
    third = {"have": "has", "be": "is", "go": "goes", "do": "does"}.get(base, add_s(base))
    return EnglishVerb(base, third, "" if past == "-" else past, participle, _add_ing(base), tail)


def a_or_an(next_word: str) -> str:
    """The indefinite article before a word."""
    starts_with_vowel = next_word[0] in VOWELS and not next_word.startswith(_AN_EXCEPTIONS)
    return "an" if starts_with_vowel else "a"


_UNITS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["-", "-", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def number_word(n: int) -> str:
    """0 to 99 in words: 21 is twenty-one."""
    if n < 20:
        return _UNITS[n]
    ten, unit = divmod(n, 10)
    return _TENS[ten] + (f"-{_UNITS[unit]}" if unit else "")
