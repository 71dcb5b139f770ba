"""Which tokens may follow those that a hypothesis has: a prefix, no repetition, a grammar."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Only:
    """One of these tokens comes next; if there are none, the hypothesis cannot go on."""

    tokens: Sequence[int]


@dataclass(frozen=True)
class Never:
    """None of these tokens comes next."""

    tokens: Sequence[int]


# From the tokens of a hypothesis so far, without BOS; None: any token may follow.
Constraint = Callable[[Sequence[int]], Only | Never | None]


def prefix(wanted: Sequence[int]) -> Constraint:
    """The output begins with these tokens.

    >>> prefix([5, 6])([5])
    Only(tokens=(6,))
    """

    def constraint(tokens: Sequence[int]) -> Only | None:
        return Only((wanted[len(tokens)],)) if len(tokens) < len(wanted) else None

    return constraint


def no_repeat(n: int) -> Constraint:
    """No n-gram of this length occurs twice.

    >>> no_repeat(2)([5, 6, 7, 5])
    Never(tokens=(6,))
    """

    def constraint(tokens: Sequence[int]) -> Never | None:
        last = len(tokens) - n + 1
        if last < 0:
            return None
        context = list(tokens[last:])
        starts = (i for i in range(last) if list(tokens[i : i + n - 1]) == context)
        return Never(tuple(tokens[i + n - 1] for i in starts))

    return constraint
