"""Guards: checks that flag a bad translation, from a sentence and its output alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import eq

import regex  # type: ignore[import-untyped]

from transduce.translate.entities import missing
from transduce.translate.lines import clean

LONGEST_PHRASE = (
    8  # tokens or words; a loop of longer phrases reaches the length limit and is "cut"
)
LOOP = 4  # repetitions: "no, no, no" is normal, four in a row are a loop
LOOP_TOKENS = 8  # minimum length of a loop: four equal tokens may be the zeros of a number
PHRASE = 3  # words; for phrases of at least this length,
PHRASE_LOOP = 3  # this many repetitions are a loop: "in the park in the park in the park"
LIKEWISE = 2  # up to this many repetitions per repetition in the source are accepted
SOURCE_BYTES = 128  # maximum length of a repeated phrase in a source
SOURCE_LOOP_BYTES = 8  # minimum length of a loop in a source: "hahahaha", but not "ississi"

COPIED_WORDS = 4  # fewer may be a name, a title or a greeting, which may be copied
SMALL_WORDS = 2  # of them must be without a capital, otherwise it may be a list of names
COPIED_SHARE = 0.6  # minimum share of words; with fewer it may be code or a table
UNSPACED_PER_WORD = 2  # characters per word in scripts without spaces

RATIO = 3.0  # longer ÷ shorter, as for training pairs; most are below 2
SLACK = 10  # tokens: "Hi." may be "Guten Tag, meine Damen und Herren."

SURPRISES = 3  # tokens

_WORD = regex.compile(r"\w+(?:['’-]\w+)*")
# letters only, between spaces and punctuation: not a number, address or code
_PLAIN_WORD = regex.compile(
    r"(?<!\S)[^\w\s]*([\p{L}\p{M}]+(?:['’-][\p{L}\p{M}]+)*)(?=[^\w\s]*(?!\S))"
)
_UNSPACED = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tibetan}]"
)


@dataclass(frozen=True)
class _Loop:
    """A phrase that is repeated in a row."""

    length: int
    times: int
    covered: int  # number of items; the last repetition may be incomplete


def flags_of(
    source: str,
    output: str,
    source_tokens: int,
    output_tokens: Sequence[int],
    ended: bool,
    language: str | None = None,
) -> tuple[str, ...]:
    """The faults of a translation: "empty", "repetition", "copy", "length", "missing" and "cut".

    `ended` is whether the output ended with EOS, `language` that of the output. An empty output
    has no other flags except "cut".
    """
    empty = bool(clean(source)) and not clean(output)
    found = {
        "empty": empty,
        "repetition": not empty and repeats(source, output, output_tokens),
        "copy": not empty and copies(source, output),
        "length": not empty and differs_in_length(source_tokens, len(output_tokens)),
        "missing": not empty and bool(missing(source, output, language)),
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
    """Whether the output equals the source although it has words to translate."""
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
    """Whether the lengths differ too much for a translation."""
    shorter, longer = sorted((source_tokens, output_tokens))
    return longer > RATIO * shorter + SLACK


def sureness(log_prob: float, length: int) -> float:
    """The mean log-probability of the tokens of a translation, for comparison with a threshold.

    A few tokens are surprising in any translation, so that a short one may seem less sure.
    """
    return log_prob / (length + SURPRISES)


def _own_loop(source: str) -> int:
    """The largest number of repetitions in a source: of words, or of bytes as in "hahahaha"."""
    of_words = [
        loop.times
        for loop in _loops(_words(source), 2 * LONGEST_PHRASE)
        if loop.times >= PHRASE_LOOP or loop.length >= PHRASE  # "very, very" is not a loop
    ]
    of_bytes = [
        loop.times
        for loop in _loops(source.encode("utf-8", "replace"), SOURCE_BYTES)
        if loop.times >= PHRASE_LOOP and loop.covered >= SOURCE_LOOP_BYTES
    ]
    return max(of_words + of_bytes, default=1)


def _loops(items: Sequence[object], longest: int) -> list[_Loop]:
    """For each phrase length up to `longest`, the longest loop, if there is one."""
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
