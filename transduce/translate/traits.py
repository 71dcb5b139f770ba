"""What is known of a model besides its network: its languages and its training data."""

from collections.abc import Sequence
from dataclasses import dataclass

from transduce.directory.description import Description

SINGLE = 1.25  # sentences per line: with fewer, a model was trained on single sentences
LOW_SCORE = -0.7  # `sureness`; docs/log.md says what it flags with the bundled model
UNUSUAL = 0.02  # share of the translations of validation data that are below it
ENOUGH = 100  # of them, to know it


@dataclass(frozen=True)
class Traits:
    """The properties of a model that decide how texts are split and which outputs are flagged."""

    source_language: str | None = None
    target_language: str | None = None
    sentences_per_line: float = 1.0  # of the training data; most corpora have single sentences
    low_score: float = LOW_SCORE  # the least `sureness` of a translation that is not flagged

    @classmethod
    def of(cls, description: Description) -> "Traits":
        """The traits of a model directory; older ones do not state what their data was like."""
        per_line, low = description.sentences_per_line, description.low_score
        return cls(
            description.source_language,
            description.target_language,
            1.0 if per_line is None else per_line,
            LOW_SCORE if low is None else low,
        )

    @property
    def single_sentences(self) -> bool:
        return self.sentences_per_line < SINGLE


UNKNOWN = Traits()


def score_threshold(sureness: Sequence[float]) -> float | None:
    """The value that few translations of validation data are below; None if there are too few."""
    return sorted(sureness)[int(UNUSUAL * len(sureness))] if len(sureness) >= ENOUGH else None
