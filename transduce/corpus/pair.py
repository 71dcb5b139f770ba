"""A sentence and its translation."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """One training or test example, raw text on both sides."""

    source: str
    target: str
