"""What files of sentence pairs hold: how much, how long, what is dropped and why."""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np

from transduce.check.text_checks import Oddities, Oddity, SideName
from transduce.corpus.filters import Digests, Reason, Rules, Tally, digest_of, keep
from transduce.corpus.pair import Pair
from transduce.corpus.reading import File, TextFile
from transduce.corpus.text import Text
from transduce.errors import InputError
from transduce.store import Store
from transduce.tasks import TRANSLATION
from transduce.tokenizer import Tokenizer

EXAMPLES = 2  # of every reason to drop a pair
NO_RULES = Rules(max_ratio=None, drop_identical=False, drop_duplicates=False)
CHUNK = 2000  # pairs encoded at a time

Look = Callable[[int, Pair], None]  # at a pair that is kept, with its number among all
Verdict = Callable[[int, Pair, Reason | None], None]


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
class Survey:
    """Everything worth knowing of some text before training on it."""

    files: list[FileCount]
    read: int
    held_out: int
    kept: int
    dropped: dict[Reason, int]
    examples: dict[Reason, list[Example]]
    characters: dict[SideName, Distribution]  # of every line
    tokens: dict[SideName, Distribution]  # of what is kept
    identical: int  # pairs with the same text on both sides, dropped or not
    duplicates: int  # pairs that have been there before, dropped or not
    unusual: list[Oddity]
    notes: list[str]  # what the reader says


class Places:
    """Where each pair of some text stands; the first is number 1."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self._lines = [_pair_lines(file, bool(text.targets)) for file in text.sources]
        self._ends = list(accumulate(len(lines) for lines in self._lines))

    @property
    def total(self) -> int:
        return self._ends[-1]

    def part(self, number: int) -> int:
        """Which of the files a pair is in."""
        return bisect_left(self._ends, number)

    def file(self, part: int, side: SideName) -> str:
        files = self.text.targets if side == "target" and self.text.targets else self.text.sources
        return Path(files[part]).name

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


def judge(
    pairs: Iterable[Pair], rules: Rules, held_out: frozenset[str], tally: Tally, hear: Verdict
) -> None:
    """Runs training's own filter over the pairs and says what becomes of each."""

    def in_turn() -> Iterator[Pair]:
        known: Counter[Reason] = Counter()
        for number, pair in enumerate(pairs, 1):
            if pair.source in held_out:
                continue
            yield pair
            # when it asks for the next pair, the filter has judged this one
            if tally.dropped.total() == known.total():
                hear(number, pair, None)
            else:
                (reason,) = tally.dropped - known
                known[reason] += 1
                hear(number, pair, reason)

    for _ in keep(in_turn(), rules, tally):
        pass


class Surveyor:
    """Looks at pair after pair, and remembers what the survey says of them."""

    def __init__(self, places: Places, rules: Rules, look: Look) -> None:
        self.places, self.rules, self.look = places, rules, look
        self.lengths: dict[SideName, array[int]] = {"source": array("I"), "target": array("I")}
        self.lines: Counter[int] = Counter()  # of a file
        self.characters: Counter[tuple[int, SideName]] = Counter()  # of a side of a file
        self.examples: dict[Reason, list[Example]] = {}
        self.oddities = Oddities()
        self.identical = self.duplicates = 0
        self.longest: list[tuple[int, int, Pair]] = []  # characters, number
        self._seen = Digests()

    def hear(self, number: int, pair: Pair, reason: Reason | None) -> None:
        part = self.places.part(number)
        self.lines[part] += 1
        self._hear_side(number, part, "source", pair.source)
        self._hear_side(number, part, "target", pair.target)
        self.identical += pair.source.strip() == pair.target.strip() != ""
        if reason is None:
            self._hear_kept(number, pair)
            return
        self.duplicates += reason == "duplicate"
        if len(self.examples.setdefault(reason, [])) < EXAMPLES:
            self.examples[reason].append(Example(self.places(number), pair.source, pair.target))

    def _hear_side(self, number: int, part: int, side: SideName, text: str) -> None:
        self.lengths[side].append(len(text))
        self.characters[part, side] += len(text)
        self.oddities.add(number, side, text)

    def _hear_kept(self, number: int, pair: Pair) -> None:
        if not self.rules.drop_duplicates:
            self.duplicates += not self._seen.add(digest_of(pair))
        characters = max(len(pair.source), len(pair.target))
        if len(self.longest) < EXAMPLES or characters > self.longest[0][0]:
            self.longest = sorted([*self.longest, (characters, number, pair)])[-EXAMPLES:]
        self.look(number, pair)

    def too_long(self, tokens: Tokenizer, max_length: int) -> list[Example]:
        """Those of the pairs with the most characters that have too many tokens as well."""
        examples = []
        for _, number, pair in reversed(self.longest):
            sides = tokens.encode_batch([pair.source, pair.target])
            length = max(len(side) for side in sides)
            if length > max_length:
                where = self.places(number)
                examples.append(Example(where, pair.source, pair.target, length))
        return examples

    def files(self) -> list[FileCount]:
        return [
            FileCount(
                self.places.file(part, side), side, self.lines[part], self.characters[part, side]
            )
            for part in sorted(self.lines)
            for side in self.lengths
        ]


def survey(
    text: Text,
    places: Places,
    rules: Rules,
    held_out: frozenset[str],
    tokens: Tokenizer,
    store: Store,
    look: Look,
) -> Survey:
    """Of text that training would use, and has encoded; `look` sees every pair it keeps."""
    surveyor, tally, notes = Surveyor(places, rules, look), Tally(), list[str]()
    judge(TRANSLATION.read(text, notes.append), rules, held_out, tally, surveyor.hear)
    if store.tally.dropped["too long"]:
        surveyor.examples["too long"] = surveyor.too_long(tokens, store.meta.max_length)
    lengths = store.lengths[0] - 1, store.lengths[1] - 1
    return _survey(surveyor, store.tally, places.total - tally.read, lengths, notes)


def survey_unfiltered(text: Text, places: Places, tokens: Tokenizer) -> Survey:
    """Of text that is only translated: nothing is dropped but what is empty."""
    pairs: list[Pair] = []
    lengths: tuple[array[int], array[int]] = array("I"), array("I")

    def encode() -> None:
        for side, lines in zip(
            lengths, ([p.source for p in pairs], [p.target for p in pairs]), strict=True
        ):
            side.extend(len(ids) for ids in tokens.encode_arrays(lines))
        pairs.clear()

    def look(_number: int, pair: Pair) -> None:
        pairs.append(pair)
        if len(pairs) == CHUNK:
            encode()

    surveyor, tally, notes = Surveyor(places, NO_RULES, look), Tally(), list[str]()
    judge(TRANSLATION.read(text, notes.append), NO_RULES, frozenset(), tally, surveyor.hear)
    encode()
    if tally.kept == 0:
        raise InputError(f"no pair of {text} has text on both sides")
    return _survey(surveyor, tally, 0, lengths, notes)


def _survey(
    surveyor: Surveyor,
    tally: Tally,
    held_out: int,
    token_lengths: tuple[Sequence[int] | np.ndarray, Sequence[int] | np.ndarray],
    notes: list[str],
) -> Survey:
    sides: tuple[SideName, SideName] = ("source", "target")
    return Survey(
        files=surveyor.files(),
        read=tally.read,
        held_out=held_out,
        kept=tally.kept,
        dropped={reason: count for reason, count in tally.dropped.items() if count},
        examples=surveyor.examples,
        characters={side: distribution(surveyor.lengths[side]) for side in sides},
        tokens={
            side: distribution(lengths) for side, lengths in zip(sides, token_lengths, strict=True)
        },
        identical=surveyor.identical,
        duplicates=surveyor.duplicates,
        unusual=surveyor.oddities.found(tally.read, surveyor.places),
        notes=notes,
    )
