"""Word alignments from the decoder's attention over the source."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import regex  # type: ignore[import-untyped]
from jaxtyping import Float

from transduce.engines import AligningEngine
from transduce.tokenizer import TokenizerLike

if TYPE_CHECKING:
    from transduce.translate.join import Found
    from transduce.translate.plan import Unit

SPACE = "▁"
LOOKAHEAD = 8  # characters that may be skipped, such as some that were encoded as bytes
LEAST = 0.05  # share of a word's attention; links with less are left out

# a word, a character of a script that is written without spaces, or a punctuation mark
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORD = regex.compile(
    rf"[{_UNSPACED}]\p{{M}}*+|(?:(?![{_UNSPACED}])[\w\p{{M}}])++(?:['’-](?:(?![{_UNSPACED}])\w)++)*+|\S"
)

Span = tuple[int, int]  # start and end, in characters


@dataclass(frozen=True)
class Link:
    """A word of the source and a word of the translation, both as spans of characters."""

    source: Span
    target: Span
    weight: float  # share of the target word's attention

    def shifted(self, source: int, target: int) -> "Link":
        """The same words in a text that has more characters before them."""
        (a, b), (c, d) = self.source, self.target
        return Link((a + source, b + source), (c + target, d + target), self.weight)


def align_units(
    found: "dict[Unit, Found]",
    engine: AligningEngine,
    tokenizer: TokenizerLike,
    longest: int,
    batch_size: int,
) -> None:
    """Adds the word alignments of the best translations where neither side is too long."""
    best = {unit: result.hypotheses[0].tokens for unit, result in found.items()}
    units = [unit for unit in found if max(len(unit.ids), len(best[unit])) <= longest]
    sources, targets = [unit.ids for unit in units], [best[unit] for unit in units]
    every = engine.alignment_weights(sources, targets, batch_size)
    for unit, weights in zip(units, every, strict=True):
        source = [tokenizer.vocabulary[i] for i in unit.ids]
        target = [tokenizer.target_vocabulary[i] for i in best[unit]]
        found[unit] = replace(
            found[unit],
            alignment=tuple(align_words(source, target, weights)),
            links=tuple(link_words(unit.text, found[unit].texts[0], source, target, weights)),
        )


def words_of(text: str) -> list[Span]:
    """The spans of words and punctuation marks.

    >>> words_of("It's on.")
    [(0, 4), (5, 7), (7, 8)]
    """
    return [match.span() for match in _WORD.finditer(text)]


def link_words(
    source: str,
    target: str,
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    weights: Float[np.ndarray, "target source"],
) -> list[Link]:
    """The links of each word of the target, by the attention weights of the tokens."""
    sources, targets = words_of(source), words_of(target)
    columns = _words_of_tokens(source_tokens, source, sources)
    rows = _words_of_tokens(target_tokens, target, targets)
    sums: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            if row is not None and column is not None:
                sums[row][column] += float(weights[i, j])
    links = []
    for row, found in sums.items():
        total = sum(found.values()) or 1.0
        for column, weight in found.items():
            if weight >= LEAST * total:
                links.append(Link(sources[column], targets[row], round(weight / total, 4)))
    return links


def align_words(
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    weights: Float[np.ndarray, "target source"],
) -> list[tuple[int, int]]:
    """For each word of the target, between spaces, the source word that it attends to most."""
    if not weights.size:
        return []
    sources, targets = word_numbers(source_tokens), word_numbers(target_tokens)
    by_word = np.zeros((targets[-1] + 1, sources[-1] + 1))
    np.add.at(by_word, (np.array(targets)[:, None], np.array(sources)[None, :]), weights)
    return sorted((int(i), j) for j, i in enumerate(by_word.argmax(axis=1)))


def word_numbers(tokens: Sequence[str]) -> list[int]:
    """The number of the word that each token belongs to; a word begins with a space.

    >>> word_numbers(["▁d", "o", "g", "▁d"])
    [0, 0, 0, 1]
    """
    numbers, number = [], 0
    for k, token in enumerate(tokens):
        number += k > 0 and token.startswith(SPACE) and tokens[k - 1] != SPACE
        numbers.append(int(number))
    return numbers


def _words_of_tokens(tokens: Sequence[str], text: str, words: Sequence[Span]) -> list[int | None]:
    """The word that each token is a part of; None for one that is not found in the text.

    A token such as a byte, or one that was normalised, belongs to the word that is reached.
    """
    starts = [start for start, _ in words]
    found: list[int | None] = []
    at = 0
    for token in tokens:
        piece = token.replace(SPACE, " ").strip()
        while at < len(text) and text[at].isspace():
            at += 1
        begin = text.find(piece, at, at + len(piece) + LOOKAHEAD) if piece else at
        if begin >= 0:
            at = begin
        word = bisect_right(starts, at) - 1
        found.append(word if word >= 0 and at < len(text) else None)
        if begin >= 0:
            at += len(piece)
    return found
