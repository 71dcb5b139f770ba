"""The metrics of a run as curves over its steps."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Series:
    """Values at steps, in order."""

    steps: tuple[int, ...]
    values: tuple[float, ...]

    def __bool__(self) -> bool:
        return bool(self.steps)


@dataclass(frozen=True)
class Curves:
    """How training went."""

    loss: Series  # of training, with label smoothing
    training_perplexity: Series  # without, as in validation; with dropout
    validation_perplexity: Series
    bleu: Series
    learning_rate: Series

    @property
    def last_step(self) -> int:
        every = (self.loss, self.validation_perplexity)
        return max((series.steps[-1] for series in every if series), default=0)


def curves_of(metrics: Iterable[Mapping[str, Any]]) -> Curves:
    """The curves of a run's metrics; values that are not finite numbers are left out."""
    entries = list(metrics)

    def series(event: str, key: str) -> Series:
        points = {
            entry["step"]: float(entry[key])
            for entry in entries
            if entry.get("event") == event and _is_number(entry.get(key))
        }
        return Series(tuple(sorted(points)), tuple(points[step] for step in sorted(points)))

    return Curves(
        loss=series("train", "loss"),
        training_perplexity=series("train", "perplexity"),
        validation_perplexity=series("validation", "perplexity"),
        bleu=series("validation", "bleu"),
        learning_rate=series("train", "learning_rate"),
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
