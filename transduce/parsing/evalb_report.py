"""What EVALB prints, byte for byte, and the same numbers as JSON."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from transduce.parsing.evalb import Score

RULE = "=" * 76
HEADER = (
    "  Sent.                        Matched  Bracket   Cross        Correct Tag\n"
    " ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy\n" + RULE
)


@dataclass
class Totals:
    """Sums over sentences; those with errors are only counted."""

    sentences: int = 0
    errors: int = 0
    skipped: int = 0
    gold: int = 0
    test: int = 0
    matched: int = 0
    crossing: int = 0
    words: int = 0
    correct_tags: int = 0
    complete: int = 0
    without_crossing: int = 0
    two_or_less_crossing: int = 0
    labels: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, score: Score) -> None:
        self.sentences += 1
        self.errors += score.status == 1
        self.skipped += score.status == 2
        if score.status:
            return
        self.gold += score.gold
        self.test += score.test
        self.matched += score.matched
        self.crossing += score.crossing
        self.words += score.words
        self.correct_tags += score.correct_tags
        self.complete += score.gold == score.test == score.matched
        self.without_crossing += score.crossing == 0
        self.two_or_less_crossing += score.crossing <= 2
        self.labels.update(score.labels)

    @property
    def valid(self) -> int:
        return self.sentences - self.errors - self.skipped

    @property
    def recall(self) -> float:
        return percent(self.matched, self.gold)

    @property
    def precision(self) -> float:
        return percent(self.matched, self.test)

    @property
    def f1(self) -> float | None:
        """None if nothing matched, where EVALB divides zero by zero."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else None

    @property
    def complete_match(self) -> float:
        return percent(self.complete, self.valid)

    def to_json(self) -> dict[str, Any]:
        labels = sorted({label for _, label in self.labels})
        return {
            "sentences": self.sentences,
            "errors": self.errors,
            "skipped": self.skipped,
            "valid": self.valid,
            "recall": self.recall,
            "precision": self.precision,
            "f1": self.f1,
            "complete_match": self.complete_match,
            "average_crossing": self.crossing / self.valid if self.valid else 0.0,
            "no_crossing": percent(self.without_crossing, self.valid),
            "two_or_less_crossing": percent(self.two_or_less_crossing, self.valid),
            "tagging_accuracy": percent(self.correct_tags, self.words),
            "brackets": {"gold": self.gold, "test": self.test, "matched": self.matched},
            "labels": {label: self._label(label) for label in labels},
        }

    def _label(self, label: str) -> dict[str, int | float]:
        count = self.labels
        precision = percent(count["precise", label], count["test", label])
        recall = percent(count["recalled", label], count["gold", label])
        total = precision + recall
        return {
            "gold": count["gold", label],
            "test": count["test", label],
            "precision": precision,
            "recall": recall,
            "f1": 2 * precision * recall / total if total else 0.0,
        }


def percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0


def total(scores: Iterable[Score]) -> Totals:
    totals = Totals()
    for score in scores:
        totals.add(score)
    return totals


def row(score: Score) -> str:
    """The line of one sentence."""
    recall, precision = percent(score.matched, score.gold), percent(score.matched, score.test)
    accuracy = percent(score.correct_tags, score.words)
    return (
        f"{score.line:4d}  {score.length:3d}    {score.status:d}  "
        f"{recall:6.2f} {precision:6.2f}   {score.matched:3d}    "
        f"{score.gold:3d}  {score.test:3d}    {score.crossing:3d}"
        f"   {score.words:4d}  {score.correct_tags:4d}   {accuracy:6.2f}"
    )


def summary(every: Totals, short: Totals, cutoff: int) -> str:
    """Everything after the lines of the sentences."""
    brackets = ""
    if every.gold and every.test:
        brackets = (
            f"{'':16}{every.recall:6.2f} {every.precision:6.2f} {every.matched:6d} "
            f"{every.gold:5d} {every.test:5d}  {every.crossing:5d}"
        )
    accuracy = percent(every.correct_tags, every.words)
    return "\n".join(
        [
            RULE,
            f"{brackets}  {every.words:5d} {every.correct_tags:5d}   {accuracy:6.2f}",
            "=== Summary ===",
            "",
            "-- All --",
            *_lines(every),
            "",
            f"-- len<={cutoff} --",
            *_lines(short),
        ]
    )


def _lines(totals: Totals) -> list[str]:
    valid = totals.valid
    numbers = {
        "Number of sentence": f"{totals.sentences:6d}",
        "Number of Error sentence": f"{totals.errors:6d}",
        "Number of Skip  sentence": f"{totals.skipped:6d}",
        "Number of Valid sentence": f"{valid:6d}",
        "Bracketing Recall": f"{totals.recall:6.2f}",
        "Bracketing Precision": f"{totals.precision:6.2f}",
        "Bracketing FMeasure": "  -nan" if totals.f1 is None else f"{totals.f1:6.2f}",
        "Complete match": f"{totals.complete_match:6.2f}",
        "Average crossing": f"{totals.crossing / valid if valid else 0.0:6.2f}",
        "No crossing": f"{percent(totals.without_crossing, valid):6.2f}",
        "2 or less crossing": f"{percent(totals.two_or_less_crossing, valid):6.2f}",
        "Tagging accuracy": f"{percent(totals.correct_tags, totals.words):6.2f}",
    }
    return [f"{name:<25} = {number}" for name, number in numbers.items()]
