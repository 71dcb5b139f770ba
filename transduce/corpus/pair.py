"""A sentence and its translation."""

from typing import NamedTuple

Example = tuple[str, ...]  # the raw text of each side of a task: a pair, or one text


class Pair(NamedTuple):
    """An example of translation."""

    source: str
    target: str
