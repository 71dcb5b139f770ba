"""Corpus filters. Every dropped example is counted, with the reason."""

import hashlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, TypeVar

from transduce.corpus.pair import Example, Pair
from transduce.errors import InputError
from transduce.log import plural

Reason = Literal["empty", "identical", "length ratio", "duplicate", "too long"]

SLACK = 10  # characters added to the shorter side, so that short sentences may differ more

SomeExample = TypeVar("SomeExample", bound=Example)


@dataclass(frozen=True)
class Rules:
    """The settings of the filters, except for the length in tokens, which the store checks."""

    max_ratio: float | None = 3.0  # longer side ÷ shorter side, in characters
    drop_identical: bool = True
    drop_duplicates: bool = True


@dataclass
class Tally:
    """How many examples were read, and how many were dropped for each reason."""

    read: int = 0
    dropped: Counter[Reason] = field(default_factory=Counter)
    noun: str = "pair"  # what an example is called

    @property
    def kept(self) -> int:
        return self.read - self.dropped.total()

    def __str__(self) -> str:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in self.dropped.most_common())
        kept = f"{plural(self.read, self.noun)} read, {self.kept:,} kept"
        return f"{kept}; dropped: {reasons}" if reasons else kept


def keep(
    examples: Iterable[SomeExample], rules: Rules, tally: Tally, seen: "Digests | None" = None
) -> Iterator[SomeExample]:
    """The examples that no rule drops, in order; `seen` has those of earlier corpora."""
    return (example for example, reason in judge(examples, rules, tally, seen) if reason is None)


def judge(
    examples: Iterable[SomeExample], rules: Rules, tally: Tally, seen: "Digests | None" = None
) -> Iterator[tuple[SomeExample, Reason | None]]:
    """Every example with the reason to drop it, or None."""
    seen = Digests() if seen is None else seen
    for example in examples:
        tally.read += 1
        reason = reason_to_drop(example, rules)
        if reason is None and rules.drop_duplicates and not seen.add(digest_of(example)):
            reason = "duplicate"
        if reason is not None:
            tally.dropped[reason] += 1
        yield example, reason


def reason_to_drop(example: Example, rules: Rules) -> Reason | None:
    """The reason to drop an example, duplicates aside, or None."""
    if not all(text and not text.isspace() for text in example):
        return "empty"
    if len(example) == 1:
        return None
    if rules.drop_identical and len({text.strip() for text in example}) == 1:
        return "identical"
    shorter, *_, longer = sorted(map(len, example))
    if rules.max_ratio is not None and longer > rules.max_ratio * (shorter + SLACK):
        return "length ratio"
    return None


def digest_of(example: Example) -> int:
    """A 64-bit hash: among 10⁸ examples the probability of a collision is 1 in 3,700."""
    text = "\n".join(example).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


class Digests:
    """A set of 64-bit numbers with about 20 bytes per element, where Python's has 100."""

    def __init__(self) -> None:
        self._count = 0
        self._table = array("Q", bytes(8 * 1024))  # open addressing; 0 marks a free slot

    def add(self, digest: int) -> bool:
        """Adds a number; whether it is new."""
        if 2 * self._count >= len(self._table):
            full, self._table = self._table, array("Q", bytes(16 * len(self._table)))
            for known in filter(None, full):
                self._table[self._slot(known)] = known
        digest = digest or 1
        slot = self._slot(digest)
        new = not self._table[slot]
        self._table[slot] = digest
        self._count += new
        return new

    def _slot(self, digest: int) -> int:
        """The slot of a number, or the free slot for it."""
        table, last = self._table, len(self._table) - 1
        slot = digest & last
        while table[slot] not in (0, digest):
            slot = (slot + 1) & last
        return slot


def check_usable(tally: Tally, name: str = "") -> None:
    """Raises InputError if no example is left, or if most have the same text on both sides.

    `name` is that of the corpus, if there are several.
    """
    of = f" of {name}" * bool(name)
    if 2 * tally.dropped["identical"] > tally.read:
        raise InputError(
            f"{tally.dropped['identical']:,} of {tally.read:,} pairs{of} have the same text on "
            "both sides: is one language given twice? If it is meant, set "
            "data.drop_identical = false"
        )
    if tally.kept == 0:
        raise InputError(f"no pair{of} is left to train on: {tally}")


def check_not_swapped(train: Iterable[Pair], valid: Iterable[Pair], sample: int = 2000) -> None:
    """Raises InputError if the validation source is in the language of the training target."""
    known_source: set[str] = set()
    known_target: set[str] = set()
    for pair in islice(train, sample):
        known_source.update(pair.source.split())
        known_target.update(pair.target.split())
    straight = crossed = 0
    for pair in islice(valid, sample):
        for words, same, other in (
            (pair.source.split(), known_source, known_target),
            (pair.target.split(), known_target, known_source),
        ):
            straight += sum(word in same for word in words)
            crossed += sum(word in other for word in words)
    if crossed > 2 * straight + 10:
        raise InputError(
            "the validation data is swapped: its source reads like the training data's target; "
            "give both in the same order"
        )
