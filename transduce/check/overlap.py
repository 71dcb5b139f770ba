"""Sentences of validation or test data that are in the training data as well."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np
from jaxtyping import Int, UInt64

from transduce.check.text import Places
from transduce.check.text_checks import SIDES, SideName
from transduce.corpus.pair import Pair
from transduce.corpus.text import Text
from transduce.tasks import TRANSLATION

RUN = 13  # words in a row that two sentences hardly share by chance
CHUNK = 4096  # training pairs whose runs of words are looked up together
EXAMPLES = 3

Match = Literal["pair", "source", "target", "near"]

_WORD = re.compile(r"\w+")
_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no bit of an earlier word is lost


@dataclass(frozen=True)
class Shared:
    """A held-out sentence and the training sentence that it matches."""

    where: str
    training: str
    match: Match
    text: str


@dataclass(frozen=True)
class Overlap:
    """How many held-out sentences are in the training data, but for case and spaces."""

    sentences: int
    seen: int  # with either side
    source: int
    target: int
    pair: int  # both sides, in one and the same pair
    near: int  # others that share a run of words with a training sentence
    long_enough: int  # have such a run, on either side
    examples: list[Shared]


def normal(text: str) -> str:
    """The text but for case and spaces."""
    return " ".join(text.casefold().split())


def runs_of(texts: Sequence[str]) -> tuple[UInt64[np.ndarray, " runs"], Int[np.ndarray, " runs"]]:
    """A number for every run of words, punctuation left out, and the text that it is in."""
    words = [_WORD.findall(text.casefold()) for text in texts]
    counts = [len(some) for some in words]
    numbers = np.fromiter(map(hash, chain.from_iterable(words)), np.int64, sum(counts))
    rows = np.repeat(np.arange(len(texts)), counts)
    size = max(0, len(numbers) - RUN + 1)
    runs = np.zeros(size, np.uint64)
    for start in range(RUN):
        runs = runs * _BASE + numbers[start : start + size].view(np.uint64)
    inside = rows[:size] == rows[len(rows) - size :]
    return runs[inside], rows[:size][inside]


class _Side:
    """One side of the held-out sentences, known by their whole text and by their runs of words."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self.whole: dict[str, list[int]] = {}
        for row, text in enumerate(texts):
            self.whole.setdefault(normal(text), []).append(row)
        runs, rows = runs_of(texts)
        order = np.argsort(runs, kind="stable")
        self.runs, self.rows = runs[order], rows[order]

    def sharing_runs(self, texts: Sequence[str]) -> list[tuple[int, int]]:
        """Which of the held-out sentences shares a run with which of these."""
        if len(self.runs) == 0:
            return []
        runs, rows = runs_of(texts)
        first = np.searchsorted(self.runs, runs, "left")
        last = np.searchsorted(self.runs, runs, "right")
        return [
            (int(held), int(rows[place]))
            for place in np.flatnonzero(last > first)
            for held in self.rows[first[place] : last[place]]
        ]


class HeldOut:
    """Held-out sentences, looked for among training pairs, each of which is seen once."""

    def __init__(self, text: Text, training: Places) -> None:
        self.places, self.training = Places(text), training
        pairs = list(TRANSLATION.read(text))
        self.sides = {side: _Side([pair[i] for pair in pairs]) for i, side in enumerate(SIDES)}
        # the row of a held-out sentence → the number of the first training pair that has it
        self.found: dict[Match, dict[int, int]] = {"pair": {}, "source": {}, "target": {}}
        self.near: dict[int, int] = {}
        self._waiting: list[tuple[int, Pair]] = []

    def look(self, number: int, pair: Pair) -> None:
        sources, targets = (
            side.whole.get(normal(text), [])
            for side, text in zip(self.sides.values(), pair, strict=True)
        )
        pairs = [row for row in sources if row in targets]
        for match, rows in zip(self.found, (pairs, sources, targets), strict=True):
            for row in rows:
                self.found[match].setdefault(row, number)
        self._waiting.append((number, pair))
        if len(self._waiting) == CHUNK:
            self._look_closer()

    def _look_closer(self) -> None:
        for i, side in enumerate(self.sides.values()):
            for held, row in side.sharing_runs([pair[i] for _, pair in self._waiting]):
                self.near.setdefault(held, self._waiting[row][0])
        self._waiting.clear()

    def overlap(self) -> Overlap:
        """When all training pairs have been seen."""
        self._look_closer()
        pair, source, target = self.found.values()
        seen = source.keys() | target.keys()
        near = {row: number for row, number in self.near.items() if row not in seen}
        examples: dict[int, Shared] = {}
        for match, rows in {**self.found, "near": near}.items():
            side: SideName = "target" if match == "target" else "source"
            for row, number in sorted(rows.items()):
                if len(examples) < EXAMPLES and row not in examples:
                    places = self.places(row + 1, side), self.training(number, side)
                    examples[row] = Shared(*places, match, self.sides[side].texts[row])
        return Overlap(
            sentences=len(self.sides["source"].texts),
            seen=len(seen),
            source=len(source),
            target=len(target),
            pair=len(pair),
            near=len(near),
            long_enough=len({int(row) for side in self.sides.values() for row in side.rows}),
            examples=list(examples.values()),
        )
