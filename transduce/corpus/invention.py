"""Invented names and numbers, which a model has never seen and must copy."""

import re
from collections.abc import Sequence
from random import Random

_ONSETS = (
    *("b", "c", "d", "f", "g", "h", "j", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "y"),
    *("z", "br", "ch", "cl", "dr", "fl", "fr", "gr", "kl", "kr", "ph", "pr", "qu", "sch", "sh"),
    *("st", "sz", "th", "tr", "zh", ""),
)
_VOWELS = (
    *("a", "e", "i", "o", "u") * 6,
    *("ai", "au", "ea", "ee", "ei", "ie", "oo", "ou", "y", "ä", "é", "ö", "ü", "í", "á"),
)
_CODAS = ("",) * 12 + ("n", "r", "l", "m", "t", "d", "nd", "rt", "ck", "ll", "nn", "lm", "rk")
_ENDINGS = ("",) * 10 + (
    *("a", "o", "i", "e", "son", "ton", "berg", "ski", "ova", "ville", "field", "er", "ini"),
    *("ian", "burg", "ko", "ham", "wald", "stein", "ley", "beth", "ard", "ine", "opoulo"),
)
_PHONES = ("### ####", "### ######", "#### ######", "###-####", "## ## ## ##", "#####-###")


def invented_name(rng: Random) -> str:
    """A name of one to three syllables and perhaps an ending.

    >>> invented_name(Random(0)) == invented_name(Random(0))
    True
    """
    syllables = (
        rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS)
        for _ in range(rng.choice((1, 2, 2, 2, 3)))
    )
    name = "".join(syllables) + rng.choice(_ENDINGS)
    if len(name) < 3:
        name += "ra"
    if rng.random() < 0.03:
        return f"{name.capitalize()}-{invented_name(rng)}"
    return ("Mc" if rng.random() < 0.02 else "") + name.capitalize()


def invented_digits(forms: Sequence[str], rng: Random) -> str:
    """Digits to replace those of a number that is written in these forms.

    If a form has separators, there are as many digits, and a time or a date stays possible.
    Otherwise it may also be a year, a telephone number, or any number.
    """
    separated = next((form for form in forms if not form.isdigit()), None)
    if separated is not None:
        parts = re.findall(r"\d+", separated)
        is_date = len(parts) == 3 and len(parts[0]) <= 2 and len(parts[1]) <= 2
        largest = [12] * 3 if is_date else [23, 59, 59] if ":" in "".join(forms) else []
        return "".join(
            _bounded(len(part), largest[i], rng)
            if i < len(largest) and len(part) <= 2
            else _number(len(part), rng)
            if i == 0
            else "".join(rng.choices("0123456789", k=len(part)))
            for i, part in enumerate(parts)
        )
    length, choice = len(forms[0]), rng.random()
    if choice < 0.45 or (length < 3 and choice > 0.85):
        return _number(length, rng)
    if choice < 0.6:
        return str(rng.randint(1700, 2040))
    if choice < 0.85:
        return _number(rng.randint(1, 6), rng)
    return "".join(str(rng.randrange(10)) if c == "#" else c for c in rng.choice(_PHONES))


def _bounded(length: int, largest: int, rng: Random) -> str:
    """One or two digits, at most `largest`."""
    return str(rng.randint(2, 9)) if length == 1 else f"{rng.randint(1, largest):02d}"


def _number(length: int, rng: Random) -> str:
    """A number of so many digits, neither 0 nor 1, which change the words around them."""
    return str(rng.randint(2 if length == 1 else 10 ** (length - 1), 10**length - 1))
