"""EVALB scores of parsed trees."""

from collections.abc import Sequence
from dataclasses import replace

from transduce.log import silent
from transduce.parsing.evalb import score_lines
from transduce.parsing.evalb_lines import retagged
from transduce.parsing.evalb_params import collins
from transduce.parsing.evalb_report import Totals
from transduce.parsing.tree import Node, leaves, to_brackets


class TreeScores:
    """Scores trees with COLLINS.prm; words take the gold tags, as `evalb --gold-tags` does.

    EVALB leaves out punctuation by its tags: with predicted tags, sentences where a tag is wrong
    would count as errors and be left out.
    """

    def __init__(self) -> None:
        self.totals = Totals()
        self.words = self.correct_tags = 0  # of all words, with predicted tags
        self._params = replace(collins(), max_error=10**9)

    def add(self, gold: Sequence[Node], test: Sequence[Node]) -> None:
        """Adds pairs of trees over the same words."""
        for ours, theirs in zip(gold, test, strict=True):
            tags = [leaf.tag for leaf in leaves(ours)]
            found = [leaf.tag for leaf in leaves(theirs)]
            self.words += len(tags)
            self.correct_tags += sum(a == b for a, b in zip(tags, found, strict=True))
        lines = [to_brackets(tree) for tree in gold]
        answers = [retagged(a, to_brackets(b)) for a, b in zip(lines, test, strict=True)]
        for score in score_lines(lines, answers, self._params, silent):
            self.totals.add(score)

    @property
    def f1(self) -> float:
        return self.totals.f1 or 0.0

    @property
    def complete_match(self) -> float:
        return self.totals.complete_match

    @property
    def tagging_accuracy(self) -> float:
        return 100 * self.correct_tags / self.words if self.words else 0.0

    def to_json(self) -> dict[str, object]:
        return {**self.totals.to_json(), "tagging_accuracy": self.tagging_accuracy}
