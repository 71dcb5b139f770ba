"""BPE-dropout (Provilkov et al., 2020): random segmentations of training text.

While a word is merged, each possible merge is left out with probability p at every step. With p = 0
this is the ordinary segmentation; with p = 1 every character is a token of its own.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from random import Random

import numpy as np

from transduce.tokenizer.bpe import Tokenizer, escape
from transduce.tokenizer.processor import SPACE

VARIANTS = 32  # segmentations of a word, among which each of its occurrences draws one
MOST_KNOWN = 500_000  # segmentations that are kept in memory


class DropoutTokenizer(Tokenizer):
    """Encodes training text with dropped merges, as a function of the seed and the text.

    The result does not depend on other texts or on threads: the segmentations of a word are drawn
    with the seed and the word, one of them for each occurrence with the seed and the text. A text
    of more than `max_length` tokens, segmented in this or in the ordinary way, is not altered.
    """

    def __init__(self, tokenizer: Tokenizer, p: float, seed: str, max_length: int) -> None:
        super().__init__(tokenizer.model)
        self.p, self.seed, self.max_length = p, seed, max_length
        first = self.byte_ids.stop
        self._ids = {piece: i for i, piece in enumerate(self.vocabulary[first:], first)}
        self._known: dict[tuple[str, int], Sequence[int]] = {}

    def encode_arrays(self, texts: Sequence[str]) -> list[np.ndarray]:
        """A segmentation of each text."""
        ordinary = super().encode_arrays(texts)
        return [
            np.array(ids, np.int32)
            if len(plain) <= self.max_length and len(ids := self._segment(text)) <= self.max_length
            else plain
            for text, plain in zip(texts, ordinary, strict=True)
        ]

    def _segment(self, text: str) -> list[int]:
        words = escape(text).split(" ") if text else []
        rng, known, ids = Random(f"{self.seed} {text}"), self._known, list[int]()
        for word in words:
            key = word, int(rng.random() * VARIANTS)
            ids += known[key] if key in known else self._draw(*key)
        return ids

    def _draw(self, word: str, variant: int) -> Sequence[int]:
        rng = Random(f"{self.seed} {variant} {word}")
        ids: list[int] = []
        for piece in merge(SPACE + word, self._ids, self.p, rng):
            if piece in self._ids:
                ids.append(self._ids[piece])
            else:
                ids += (self.byte_ids.start + byte for byte in piece.encode())
        if len(self._known) < MOST_KNOWN:
            self._known[word, variant] = ids
        return ids


def merge(word: str, ranks: Mapping[str, int], p: float, rng: Random) -> list[str]:
    """The pieces of a word. The merge of the lowest rank comes first, and of two the left one.

    >>> merge("abab", {"ab": 0, "abab": 1}, 0.0, Random(1))
    ['abab']
    """
    pieces = list(word)
    while len(pieces) > 1:
        best, place = None, 0
        for i, (left, right) in enumerate(pairwise(pieces)):
            rank = ranks.get(left + right)
            if rank is not None and (best is None or rank < best) and rng.random() >= p:
                best, place = rank, i
        if best is None:
            break
        pieces[place : place + 2] = [pieces[place] + pieces[place + 1]]
    return pieces
