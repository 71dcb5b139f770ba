"""Splits a text that is too long for the model into pieces, at sentence ends if possible.

A missed sentence end costs little: two sentences are translated together. A false one breaks a
sentence. So a full stop that may belong to an abbreviation, an initial or an ordinal is not an end.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import regex  # type: ignore[import-untyped]

Fits = Callable[[str], bool]

WINDOW = 256  # characters to try first; later the length of the previous piece
SLACK = 32  # characters: a text cut inside a word may have more tokens than with the whole word
LOOKBACK = 16  # characters before a full stop, longer than any abbreviation

ABBREVIATION = regex.compile(
    "mrs?|ms|messrs|drs?|prof|rev|hon|gen|col|maj|capt|lt|sgt|gov|sen|rep|st|mt|ft|vs|cf|viz|approx"
    "|eg|ie|co|hrn?|fr|frl|dipl|ing|bzw|ca|evtl|ggf|vgl|sog|bspw|inkl|exkl|zzgl|resp|zb|dh|mio|mrd"
    "|mme|mlle|mm|sra?|srta|dra|uds?|sig|dott"
)
ROMAN = regex.compile("[IVXL]+")  # "Ludwig XIV. von Frankreich"
# abbreviations only before a number, otherwise words or names
NUMBERED = regex.compile(
    "nos?|nrn?|art|abs|abb|bd|tab|figs?|vols?|ch|chap|sect?|kap|pp|str|ziff|num"
    "|jan|feb|mar|mär|apr|jun|jul|aug|sept?|o[ck]t|nov|de[cz]"
)

_NARROW = ".!?…‼⁇⁈⁉"  # end a sentence before a space
_WIDE = "。！？｡؟۔।॥։።។။"  # end a sentence anywhere
_CLOSERS = r"""["'”’“»«›‹)\]}）］｝」』】》〉]*+"""
_STOP = (
    rf"(?<![{_NARROW}{_WIDE}])(?=[{_NARROW}]*+(?P<wide>[{_WIDE}])?)(?P<stop>[{_NARROW}{_WIDE}]++)"
    rf"(?P<closers>{_CLOSERS}(?:[ \u00a0\u202f]»(?=\s))?+)(?(wide)(?!\p{{M}})|(?=\s))"
)
_CLAUSE = (
    rf"[,;:،؛]{_CLOSERS}(?=\s)|[、，；：]{_CLOSERS}(?!\p{{M}})"
    r"|[)\]}](?=\s)|[）」』】](?!\p{M})|(?<=\S)(?=\s+[(\[{])"
    r"|—++(?!\p{M})|(?<=\s)[–-]{1,3}(?=\s)"
)
_CONTINUING = frozenset(",;:.!?…)]}、，；：，。）،؛")  # characters that never begin a sentence
_NO_BREAK = r"\u00a0\u2007\u202f"

_AHEAD = regex.compile(r"""[\s"'“”„‘’‚«»‹›(\[{¿¡「『（【–—-]*+""")
_LAST_WORD = regex.compile(r"([.,:]?)(?<![\w'’])([\w'’]*)\Z")
_SPACES = re.compile(r"\s*")  # re, because regex does not count some control characters as spaces


@dataclass(frozen=True)
class Piece:
    """A part of a text and the whitespace after it."""

    text: str
    after: str


def sentences(text: str) -> list[Piece]:
    """The sentences of a text; their concatenation is the text.

    >>> [piece.text for piece in sentences("Mr. Fox ran. Why? He saw the U.S. Army.")]
    ['Mr. Fox ran.', 'Why?', 'He saw the U.S. Army.']
    """
    stop = len(text.rstrip())
    pieces: list[Piece] = []
    begin = 0
    for end in (*_sentence_ends(text, 0, stop), stop) if text else ():
        pieces.append(_piece(text, begin, end))
        begin = end + len(pieces[-1].after)
    return pieces


def split(text: str, fits: Fits) -> list[Piece]:
    """Pieces that fit, each as long as possible; their concatenation is the text.

    A piece ends at a sentence end or, if the sentence is too long, at the end of a clause, a word
    or a grapheme. A single code point that does not fit is still a piece. Leading whitespace of the
    text belongs to the first piece and is not counted. The texts passed to `fits` are together a
    few times as long as the text, and none is much longer than what fits.
    """
    stop = len(text.rstrip())
    if not stop:
        return [Piece("", text)] if text else []
    begin, start = 0, len(text) - len(text.lstrip())
    pieces: list[Piece] = []
    window = WINDOW
    while start < stop:
        limit = start + window
        while limit < stop and fits(text[start:limit]):
            limit += limit - start
        end = _best_end(text, start, min(limit + SLACK, stop), stop, fits)
        pieces.append(_piece(text, begin, end))
        window = end - start
        begin = start = end + len(pieces[-1].after)
    return pieces


def _piece(text: str, begin: int, end: int) -> Piece:
    return Piece(text[begin:end], text[end : _after_spaces(text, end)])


def _after_spaces(text: str, start: int) -> int:
    spaces = _SPACES.match(text, start)
    assert spaces is not None
    return spaces.end()


def _best_end(text: str, start: int, limit: int, stop: int, fits: Fits) -> int:
    """The last end up to which the text fits, of the best kind of end that has one."""
    for ends_of in LEVELS:
        ends = list(ends_of(text, start, limit))
        if limit == stop:
            ends.append(stop)
        low, high = 0, len(ends)
        while low < high:
            middle = (low + high) // 2
            if fits(text[start : ends[middle]]):
                low = middle + 1
            else:
                high = middle
        if low:
            return ends[low - 1]
    return start + 1


def _matches(pattern: Any, text: str, start: int, limit: int) -> Iterator[Any]:
    """The matches that end before the limit; lookaheads may read a little beyond it."""
    for match in pattern.finditer(text, start, limit + 4):
        if start < match.end() < limit and not text[match.end() - 1].isspace():
            yield match


def _sentence_ends(text: str, start: int, limit: int) -> Iterator[int]:
    for match in _matches(_SENTENCE_END, text, start, limit):
        if _stops(match) and not _goes_on_small(match):
            yield match.end()


def _clause_ends(text: str, start: int, limit: int) -> Iterator[int]:
    """The ends of clauses and sentences, also before a lower-case letter."""
    for match in _matches(_CLAUSE_END, text, start, limit):
        if match["stop"] is None or _stops(match):
            yield match.end()


def _pattern_ends(pattern: Any, text: str, start: int, limit: int) -> Iterator[int]:
    for match in _matches(pattern, text, start, limit):
        yield match.end()


def _stops(match: Any) -> bool:
    """Whether a full stop is not part of a number, a name or an abbreviation."""
    text, end = match.string, match.end()
    following = _following(match)
    if text[_after_spaces(text, end)] in _CONTINUING or following in _CONTINUING:
        return False
    return match["stop"] != "." or bool(match["closers"]) or not _abbreviates(match, following)


def _goes_on_small(match: Any) -> bool:
    return not match["wide"] and _following(match).islower()


def _following(match: Any) -> str:
    """The first character after a full stop that is not a space, opening quote, bracket or dash."""
    at = _AHEAD.match(match.string, match.end()).end()
    return str(match.string[at : at + 1])


def _abbreviates(match: Any, following: str) -> bool:
    before = match.string[max(0, match.start() - LOOKBACK) : match.start()]
    found = _LAST_WORD.search(before)
    assert found is not None
    word = found[2]
    if word.isdecimal():  # an ordinal, "3. Mai", but not the end of a date, a time or a fraction
        return len(word) <= 3 and not found[1]
    if len(word) == 1:  # "J. Smith", "z. B.", "U.S."
        return word.isalpha()
    if ROMAN.fullmatch(word):
        return True
    word = word.lower()
    known = ABBREVIATION.fullmatch(word) or (following.isdecimal() and NUMBERED.fullmatch(word))
    return bool(known)


_SENTENCE_END = regex.compile(_STOP)
_CLAUSE_END = regex.compile(f"{_STOP}|{_CLAUSE}")
_SPACE = rf"(?<=\S)(?=\s*[^\S{_NO_BREAK}])|(?<=\u200b)(?=[^\s\p{{M}}])"

# the kinds of ends of a piece, best first
LEVELS: tuple[Callable[[str, int, int], Iterator[int]], ...] = (
    _sentence_ends,
    _clause_ends,
    partial(_pattern_ends, regex.compile(_SPACE)),
    partial(_pattern_ends, regex.compile(r"(?<=\S)(?=\s)")),
    partial(_pattern_ends, regex.compile(r"\X")),
    partial(_pattern_ends, regex.compile(r"(?s).")),
)
