"""Files that are shifted against each other: a line is missing or too many in one of them.

A translation is about as long as its source, and two neighbouring sentences are not. So in every
block of lines the lengths of sources and targets correlate more than those of sources and of the
targets some lines further up or down, unless the files are shifted there.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

BLOCK = 500  # pairs that are compared together
FEWEST = 50  # pairs of a block
REACH = 5  # lines that files may be shifted by
# Differences of correlations after Fisher's transformation. In real corpora the aligned lines
# lead by 0.66 or more in every block, and after a shift the right ones lead by 0.65 or more.
LEAD = 0.3
DEVIATIONS = 5  # standard errors; of small blocks they are large


@dataclass(frozen=True)
class Shift:
    """Pairs, numbered from 0, whose sources belong to the targets `by` lines further down."""

    first: int
    last: int
    by: int


def shifts_of(sources: Sequence[int], targets: Sequence[int]) -> list[Shift]:
    """Where the lengths of the sentences, in characters, show that files are shifted."""
    source, target = (np.log1p(np.asarray(lengths, float)) for lengths in (sources, targets))
    count = len(source)
    starts = range(0, max(count - FEWEST + 1, 0), BLOCK)  # the last block may be longer
    found: list[Shift] = []
    for first, end in zip(starts, [*starts[1:], count], strict=False):
        by = _shift(source, target, first, end)
        if by and found and (found[-1].last, found[-1].by) == (first - 1, by):
            found[-1] = Shift(found[-1].first, end - 1, by)
        elif by:
            found.append(Shift(first, end - 1, by))
    return found


def _shift(source: np.ndarray, target: np.ndarray, first: int, end: int) -> int:
    """By how many lines a block is shifted; 0 if it is not."""

    def correlation(by: int) -> float:
        low, high = max(first, first - by, 0), min(end, end - by)
        a, b = source[low:high], target[low + by : high + by]
        if min(np.ptp(a), np.ptp(b)) == 0:  # all are equally long
            return 0.0
        return math.atanh(min(max(float(np.corrcoef(a, b)[0, 1]), -0.999), 0.999))

    best = max((by for by in range(-REACH, REACH + 1) if by), key=correlation)
    least = max(LEAD, DEVIATIONS * math.sqrt(2 / (end - first)))
    return best if correlation(best) - correlation(0) > least else 0
