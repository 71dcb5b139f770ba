"""The result of `transduce bench bleu`: points, when a BLEU was reached, and a table."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transduce.bench import report
from transduce.bench.peers import NAMES, OURS
from transduce.table import render_table
from transduce.train.run import read_metrics


@dataclass(frozen=True)
class Point:
    """A validation of a system in training."""

    step: int
    seconds: float  # of training so far: neither evaluation nor the system's start
    loss: float  # per token of the validation data, without smoothing
    bleu: float  # of greedy translations of the validation data
    load: float  # processes that ran in the minute before, the system's own included

    @property
    def minutes(self) -> float:
        return self.seconds / 60


@dataclass(frozen=True)
class Reached:
    """When each system first had the BLEU that the peer ended with."""

    bleu: float
    minutes: float | None  # ours; None if it never had it
    peer_minutes: float  # the peer's own first time, which may be long before its end
    share: float | None  # of the peer's whole time


@dataclass(frozen=True)
class Report(report.Report):
    validation: str
    settings: dict[str, Any]  # those that are not the paper's
    steps: int
    every: int
    peer: str
    reached: Reached
    systems: dict[str, list[Point]]

    def tables(self) -> Sequence[str]:
        headings = ["system", "final BLEU", "loss", "minutes"]
        headings += [f"BLEU {self.reached.bleu:.2f} after", "of peer's time", "load"]
        rows = [self._row(name, points) for name, points in self.systems.items()]
        return [render_table("minutes of training to a BLEU", headings, "<>>>>>>", rows)]

    def _row(self, name: str, points: Sequence[Point]) -> list[str]:
        end = points[-1]
        minutes = self.reached.minutes if name == OURS else self.reached.peer_minutes
        whole = self.systems[self.peer][-1].minutes
        return [
            NAMES[name],
            f"{end.bleu:.2f}",
            f"{end.loss:.3f}",
            f"{end.minutes:.1f}",
            "never" if minutes is None else f"{minutes:.1f}",
            "" if minutes is None else f"{100 * minutes / whole:.0f} %",
            f"{statistics.mean(point.load for point in points):.1f}",
        ]

    def notes(self) -> Sequence[str]:
        return [
            f"{self.data}; {self.steps:,} steps, BLEU of {self.validation}, every {self.every:,}.",
            "The same first weights, batches, dropout, label smoothing, learning rates and Adam; "
            "one system after the other, each in its own process; minutes of steps alone. "
            "BLEU: sacreBLEU, greedy, by the same engine for both, of the weights as they are. "
            "load: processes at a time; if the systems differ in it, repeat.",
        ]


def points_of(file: Path) -> list[Point]:
    """The points that a system has left so far."""
    return [Point(**entry) for entry in read_metrics(file)]


def reached(ours: Sequence[Point], theirs: Sequence[Point]) -> Reached:
    """Nothing is interpolated between two validations: ours may have been there sooner."""
    end = theirs[-1]
    first = next((point for point in ours if point.bleu >= end.bleu), None)
    own = next(point for point in theirs if point.bleu >= end.bleu)
    if first is None:
        return Reached(end.bleu, None, own.minutes, None)
    return Reached(end.bleu, first.minutes, own.minutes, first.seconds / end.seconds)
