"""Signs that a translation went wrong, from one sentence and its output alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import eq

import regex  # type: ignore[import-untyped]

from transduce.translate.lines import clean

LONGEST_PHRASE = 8  # tokens or words; a loop of longer ones soon runs into the limit and is "cut"
LOOP = 4  # times in a row: "no, no, no" is said, what comes four times is a loop
LOOP_TOKENS = 8  # that a loop has at least, for four equal ones may be the zeros of a number
PHRASE = 3  # words; a phrase of so many
PHRASE_LOOP = 3  # need come only so often: nobody says "in the park in the park in the park"
LIKEWISE = 2  # a loop is the source's own if it goes round at most so many times as often
SOURCE_BYTES = 128  # that may go round in a source: twice eight words of eight
SOURCE_LOOP_BYTES = 8  # that go round at least: "hahahaha", not the letters of "Mississippi"

COPIED_WORDS = 4  # fewer are a name, a title or a greeting, which may be right as they are
SMALL_WORDS = 2  # of them without a capital, or it is a list of names
COPIED_SHARE = 0.6  # of what stands between spaces; with fewer words it is code or a table
UNSPACED_PER_WORD = 2  # characters that count as a word where no spaces are written

RATIO = 3.0  # of the longer to the shorter, as for training pairs; most real ones are below two
SLACK = 10  # tokens: "Hi." may become "Guten Tag, meine Damen und Herren."

_WORD = regex.compile(r"\w+(?:['’-]\w+)*")
# between spaces nothing but letters, and punctuation around them: no number, address or code
_PLAIN_WORD = regex.compile(
    r"(?<!\S)[^\w\s]*([\p{L}\p{M}]+(?:['’-][\p{L}\p{M}]+)*)(?=[^\w\s]*(?!\S))"
)
_UNSPACED = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]"
)


@dataclass(frozen=True)
class _Loop:
    """What comes again and again: how long it is, and how often it comes in a row."""

    length: int
    times: int
    covered: int  # items in all; the last time it may break off


def flags_of(
    source: str, output: str, source_tokens: int, output_tokens: Sequence[int], ended: bool
) -> tuple[str, ...]:
    """What is suspicious: of "empty", "repetition", "copy", "length" and "cut", in this order.

    `ended` is whether the output came to its end by itself. Of an empty one nothing else is said,
    but that it was cut.
    """
    empty = bool(clean(source)) and not clean(output)
    found = {
        "empty": empty,
        "repetition": not empty and repeats(source, output, output_tokens),
        "copy": not empty and copies(source, output),
        "length": not empty and differs_in_length(source_tokens, len(output_tokens)),
        "cut": not ended,
    }
    return tuple(flag for flag, raised in found.items() if raised)


def repeats(source: str, output: str, output_tokens: Sequence[int]) -> bool:
    """Whether the output goes round in a loop that is not the source's own."""
    of_tokens = [
        loop.times
        for loop in _loops(output_tokens, LONGEST_PHRASE)
        if loop.times >= LOOP and loop.covered >= LOOP_TOKENS
    ]
    of_words = [
        loop.times
        for loop in _loops(_words(output), LONGEST_PHRASE)
        if loop.times >= (PHRASE_LOOP if loop.length >= PHRASE else LOOP)
    ]
    times = max(of_tokens + of_words, default=0)
    return times > 0 and times > LIKEWISE * _own_loop(source)


def copies(source: str, output: str) -> bool:
    """Whether the output is the source, though there were words to translate."""
    if _letters(source) != _letters(output):
        return False
    words = _PLAIN_WORD.findall(source)
    small = [word for word in words if not word[0].isupper()]
    unspaced = len(_UNSPACED.findall(source))
    return unspaced >= COPIED_WORDS * UNSPACED_PER_WORD or (
        len(words) >= max(COPIED_WORDS, COPIED_SHARE * len(source.split()))
        and len(small) >= SMALL_WORDS
    )


def differs_in_length(source_tokens: int, output_tokens: int) -> bool:
    """Whether one is so much longer than the other that it cannot be its translation."""
    shorter, longer = sorted((source_tokens, output_tokens))
    return longer > RATIO * shorter + SLACK


def _own_loop(source: str) -> int:
    """How often something comes in a row in a source: words, or bytes, as in "hahahaha"."""
    of_words = [
        loop.times
        for loop in _loops(_words(source), 2 * LONGEST_PHRASE)
        if loop.times >= PHRASE_LOOP or loop.length >= PHRASE  # "very, very" excuses nothing
    ]
    of_bytes = [
        loop.times
        for loop in _loops(source.encode("utf-8", "replace"), SOURCE_BYTES)
        if loop.times >= PHRASE_LOOP and loop.covered >= SOURCE_LOOP_BYTES
    ]
    return max(of_words + of_bytes, default=1)


def _loops(items: Sequence[object], longest: int) -> list[_Loop]:
    """Of each length up to the longest, the loop that covers most, if any comes twice."""
    loops = []
    for length in range(1, min(longest, len(items) // 2) + 1):
        same = bytes(map(eq, items[length:], items))
        run = max(map(len, same.split(b"\0")))
        if run >= length:
            loops.append(_Loop(length, 1 + run // length, length + run))
    return loops


def _words(text: str) -> list[str]:
    return list(_WORD.findall(text.casefold()))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
