"""The form of every benchmark's report: JSON, or tables and what their figures mean."""

import json
import os
import statistics
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from transduce import machine
from transduce.table import terminal_width

LIBRARIES = ("torch", "ctranslate2", "transformers")
QUIET = 0.5  # processes at a time, on average: fewer do not disturb


@dataclass(frozen=True)
class Report:
    """What was measured, and on what; a benchmark adds its figures."""

    machine: str
    load: float  # processes that were running before, in the last minute
    data: str

    def tables(self) -> Sequence[str]:
        raise NotImplementedError

    def notes(self) -> Sequence[str]:
        """Sentences on what the figures mean."""
        raise NotImplementedError

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2, ensure_ascii=False)

    def render(self) -> str:
        busy = f"{self.load:.1f} processes were running before: on a quiet machine it is 0."
        notes = [*self.notes(), busy if self.load > QUIET else "", self.machine]
        width = terminal_width()
        wrapped = [textwrap.fill(note, width, break_on_hyphens=False) for note in notes if note]
        return "\n\n".join([*self.tables(), "\n".join(wrapped)])


def machine_line() -> str:
    """What the figures were measured on."""
    facts = machine.description(LIBRARIES)
    name, cores = facts.pop("cpu"), facts.pop("cores")
    versions = ", ".join(f"{library} {version}" for library, version in facts.items())
    return f"{name}, cores: {cores}, {versions}"


def load() -> float:
    return os.getloadavg()[0]


def median_ratio(theirs: Sequence[float], ours: Sequence[float]) -> float:
    """How many times as long as ours theirs took: the median of the rounds."""
    return statistics.median(their / our for their, our in zip(theirs, ours, strict=True))
