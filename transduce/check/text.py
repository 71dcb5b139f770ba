"""What files of sentence pairs hold: how much, how long, what is dropped and why."""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np

from transduce.check.alignment import shifts_of
from transduce.check.text_checks import SideName, TextChecks, Unusual
from transduce.corpus.filters import Digests, Reason, Tally, digest_of, judge
from transduce.corpus.noise import Kind
from transduce.corpus.pair import Pair
from transduce.corpus.reading import File, TextFile
from transduce.corpus.text import Text
from transduce.store import Store
from transduce.tasks import TRANSLATION
from transduce.tokenizer import AnyTokenizer

EXAMPLES = 2  # of every reason to drop a pair

Look = Callable[[int, Pair], None]  # called with the number of a pair among all, and the pair


@dataclass(frozen=True)
class Distribution:
    """Of the lengths of many lines."""

    total: int
    mean: float
    median: int
    p95: int
    p99: int
    longest: int


def distribution(lengths: Sequence[int] | np.ndarray) -> Distribution:
    values = np.asarray(lengths)
    median, p95, p99 = (int(n) for n in np.percentile(values, [50, 95, 99], method="higher"))
    return Distribution(
        int(values.sum()), float(values.mean()), median, p95, p99, int(values.max())
    )


@dataclass(frozen=True)
class Example:
    """A pair, and where it stands."""

    where: str
    source: str
    target: str
    tokens: int | None = None  # of the longer side, where that is the point


@dataclass(frozen=True)
class FileCount:
    """What one side of one file holds."""

    file: str
    side: SideName
    lines: int
    characters: int


@dataclass(frozen=True)
class Shifted:
    """Pairs whose sources seem to belong to the targets `by` lines further down."""

    first: str  # where
    pairs: int
    by: int


@dataclass(frozen=True)
class Survey:
    """Everything worth knowing of some text before training on it."""

    files: list[FileCount]
    read: int
    held_out: int
    kept: int
    weight: float
    tag: str
    noise: dict[Kind, int]  # pairs added
    dropped: dict[Reason, int]
    examples: dict[Reason, list[Example]]
    characters: dict[SideName, Distribution]  # of every line
    tokens: dict[SideName, Distribution]  # of what is kept
    identical: int  # pairs with the same text on both sides, dropped or not
    duplicates: int  # pairs that have been there before, dropped or not
    unusual: list[Unusual]
    shifts: list[Shifted]
    notes: list[str]  # what the reader logged


class Places:
    """Where each pair of one or more texts stands; the first is number 1."""

    def __init__(self, *texts: Text) -> None:
        self._files = [
            files
            for text in texts
            for files in zip(text.sources, text.targets or text.sources, strict=True)
        ]
        self._lines = [
            _pair_lines(file, bool(text.targets)) for text in texts for file in text.sources
        ]
        self._ends = list(accumulate(len(lines) for lines in self._lines))
        counts = accumulate((len(text.sources) for text in texts), initial=0)
        self._starts = [([0, *self._ends])[count] for count in counts]  # of each text

    def before(self, text: int) -> int:
        """The number of pairs of all texts before one of them."""
        return self._starts[text]

    def part(self, number: int) -> int:
        """Which of the files a pair is in."""
        return bisect_left(self._ends, number)

    def file(self, part: int, side: SideName) -> str:
        return Path(self._files[part][side == "target"]).name

    def __call__(self, number: int, side: SideName = "source") -> str:
        part = self.part(number)
        start = self._ends[part - 1] if part else 0
        return f"{self.file(part, side)}, line {self._lines[part][number - start - 1]:,}"


def _pair_lines(file: File, aligned: bool) -> Sequence[int]:
    """The line of each pair: every one, but for blank ones in files that have both sides.

    A tab is not blank: alone on its line it is an empty pair of a TSV file.
    """
    with TextFile(file) as lines:
        if aligned:
            return range(1, sum(1 for _ in lines.raw()) + 1)
        return array("I", (lines.number for line in lines.raw() if line.strip(b" \r\n")))


def survey(
    text: Text,
    places: Places,
    tokenizer: AnyTokenizer,
    store: Store,
    held_out: Collection[str] = (),
    look: Look = lambda _number, _pair: None,
    seen: Digests | None = None,
    which: int = 0,
) -> Survey:
    """Of text that has been encoded; `look` is called with every pair that is kept.

    `seen` has the pairs of earlier texts; `which` is the number of this text among `places`.
    """
    rules, tally, notes = store.meta.rules, Tally(), list[str]()
    number = places.before(which)
    lengths: dict[SideName, array[int]] = {"source": array("I"), "target": array("I")}
    numbers = array("Q")  # of the pairs
    lines: Counter[int] = Counter()  # of a file
    characters: Counter[tuple[int, SideName]] = Counter()  # of a side of a file
    examples: dict[Reason, list[Example]] = {}
    longest: list[tuple[int, int, Pair]] = []  # characters, number
    checks, known, identical, duplicates = TextChecks(), Digests(), 0, 0

    def pairs() -> Iterator[Pair]:
        nonlocal number
        for pair in TRANSLATION.read(text, notes.append):
            number += 1
            if pair.source not in held_out:
                yield pair

    for pair, reason in judge(pairs(), rules, tally, seen):
        part = places.part(number)
        lines[part] += 1
        numbers.append(number)
        for side in lengths:
            line: str = getattr(pair, side)
            lengths[side].append(len(line))
            characters[part, side] += len(line)
            checks.add(number, side, line)
        identical += pair.source.strip() == pair.target.strip() != ""
        duplicates += reason == "duplicate"
        if reason is None:
            if not rules.drop_duplicates:
                duplicates += not known.add(digest_of(pair))
            longest = sorted([*longest, (max(map(len, pair)), number, pair)])[-EXAMPLES:]
            look(number, pair)
        elif len(shown := examples.setdefault(reason, [])) < EXAMPLES:
            shown.append(Example(places(number), *pair))
    if store.tally.dropped["too long"]:
        examples["too long"] = [
            Example(places(number), *pair, tokens)
            for _, number, pair in reversed(longest)
            if (tokens := max(map(len, tokenizer.encode_batch(pair)))) > store.meta.max_length
        ]
    return Survey(
        files=[
            FileCount(places.file(part, side), side, lines[part], characters[part, side])
            for part in sorted(lines)
            for side in lengths
        ],
        read=store.tally.read,
        held_out=number - places.before(which) - tally.read,
        kept=store.tally.kept,
        weight=store.parts[0].weight,
        tag=store.parts[0].tag,
        noise=store.parts[0].noise,
        dropped={reason: count for reason, count in store.tally.dropped.items() if count},
        examples=examples,
        characters={side: distribution(lengths[side]) for side in lengths},
        tokens={side: distribution(store.sides[side].lengths - 1) for side in lengths},
        identical=identical,
        duplicates=duplicates,
        unusual=checks.found(store.tally.read, places),
        shifts=[
            Shifted(places(numbers[shift.first]), shift.last - shift.first + 1, shift.by)
            for shift in shifts_of(lengths["source"], lengths["target"])
        ],
        notes=notes,
    )
