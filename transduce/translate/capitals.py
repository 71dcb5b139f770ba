"""Text in capitals, which models rarely see: translated in ordinary case, then put back."""

from collections.abc import Callable

import regex  # type: ignore[import-untyped]

from transduce.translate.entities import entities

WORDS = 2  # words in capitals at least; one may be a name or an abbreviation
LETTERS = 2  # letters of such a word at least

_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*+(?:['’]\p{L}++)*+")


def in_capitals(text: str) -> bool:
    """Whether all words of a text are in capitals.

    >>> in_capitals("THE TRAIN IS LATE."), in_capitals("NATO"), in_capitals("I am at IBM.")
    (True, False, False)
    """
    if not text.isupper():
        return False
    words = _WORD.findall(text)
    return sum(len(word) >= LETTERS for word in words) >= WORDS


def ordinary_case(text: str, length: Callable[[str], int]) -> str:
    """A text in capitals as it would be written otherwise; `length` is a text's number of tokens.

    A word is written the way that takes the fewest tokens, as names and nouns have their capital
    in the vocabulary. Addresses and the like stay as they are.
    """
    kept = [(one.start, one.end) for one in entities(text)]
    first = True

    def written(match: regex.Match[str]) -> str:
        nonlocal first
        word: str = match[0]
        if any(start < match.end() and match.start() < end for start, end in kept):
            first = False
            return word
        begins, first = first, False
        if word in ("I",) or word.startswith(("I'", "I’")):
            return word[0] + word[1:].lower()
        small, named = word.lower(), word.capitalize()
        best = min((small, named, word), key=lambda form: length(f" {form}"))
        return named if begins and best == small else best

    return str(_WORD.sub(written, text))
