"""Guards: signs that a translation went wrong, from one sentence and its output alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import eq

import regex  # type: ignore[import-untyped]

from transduce.translate.lines import clean

LONGEST_PHRASE = 8  # tokens or words; a loop of longer ones soon runs into the limit and is "cut"
LOOP = 4  # repetitions: people write "no, no, no", but four in a row are a loop
LOOP_TOKENS = 8  # of a loop at least: four equal ones may be the zeros of a number
PHRASE = 3  # words, from which on fewer repetitions are a loop:
PHRASE_LOOP = 3  # nobody writes "in the park in the park in the park"
LIKEWISE = 2  # repetitions for each one of the source: up to so many are the source's own
SOURCE_BYTES = 128  # of a phrase that a source repeats, at most: sixteen words of eight
SOURCE_LOOP_BYTES = 8  # of its loop, at least: "hahahaha", not the letters of "Mississippi"

COPIED_WORDS = 4  # fewer are a name, a title or a greeting, which may be right as they are
SMALL_WORDS = 2  # of them without a capital, or it is a list of names
COPIED_SHARE = 0.6  # of what is between spaces; with fewer words it is code or a table
UNSPACED_PER_WORD = 2  # characters that count as a word where no spaces are written

RATIO = 3.0  # of the longer to the shorter, as for training pairs; most real ones are below two
SLACK = 10  # tokens: "Hi." may become "Guten Tag, meine Damen und Herren."

_WORD = regex.compile(r"\w+(?:['’-]\w+)*")
# nothing but letters between spaces and punctuation: no number, address or code
_PLAIN_WORD = regex.compile(
    r"(?<!\S)[^\w\s]*([\p{L}\p{M}]+(?:['’-][\p{L}\p{M}]+)*)(?=[^\w\s]*(?!\S))"
)
_UNSPACED = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]"
)


@dataclass(frozen=True)
class _Loop:
    """A phrase that is repeated: its length, and how often it comes in a row."""

    length: int
    times: int
    covered: int  # items in all; the last repetition may be incomplete


def flags_of(
    source: str, output: str, source_tokens: int, output_tokens: Sequence[int], ended: bool
) -> tuple[str, ...]:
    """The flags of a translation: "empty", "repetition", "copy", "length" and "cut", in this order.

    `ended` is whether the output ended with EOS. An empty output has no other flag but "cut".
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
    """Whether the output has a loop that the source does not have."""
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
    """Whether one is too much longer than the other to be its translation."""
    shorter, longer = sorted((source_tokens, output_tokens))
    return longer > RATIO * shorter + SLACK


def _own_loop(source: str) -> int:
    """The most repetitions in a row in a source: of words, or of bytes, as in "hahahaha"."""
    of_words = [
        loop.times
        for loop in _loops(_words(source), 2 * LONGEST_PHRASE)
        if loop.times >= PHRASE_LOOP or loop.length >= PHRASE  # "very, very" is no loop
    ]
    of_bytes = [
        loop.times
        for loop in _loops(source.encode("utf-8", "replace"), SOURCE_BYTES)
        if loop.times >= PHRASE_LOOP and loop.covered >= SOURCE_LOOP_BYTES
    ]
    return max(of_words + of_bytes, default=1)


def _loops(items: Sequence[object], longest: int) -> list[_Loop]:
    """For each phrase length up to the longest, the loop that covers most, if there is one."""
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
