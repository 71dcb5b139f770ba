"""Constraints on the next token of a hypothesis: a prefix, no repeated n-grams, a grammar."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Only:
    """Only these tokens are allowed next; if there are none, the hypothesis is cut."""

    tokens: Sequence[int]


@dataclass(frozen=True)
class Never:
    """None of these tokens is allowed next."""

    tokens: Sequence[int]


# A function of the tokens of a hypothesis, without BOS; None: any token is allowed.
Constraint = Callable[[Sequence[int]], Only | Never | None]


def prefix(wanted: Sequence[int]) -> Constraint:
    """The output must begin with these tokens.

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
