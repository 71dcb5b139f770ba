"""Training examples."""

from typing import NamedTuple

Example = tuple[str, ...]  # one raw text per side of the task


class Pair(NamedTuple):
    """A sentence and its translation."""

    source: str
    target: str
