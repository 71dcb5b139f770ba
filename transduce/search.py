"""Search over a step function: it is told what follows what, never by which network."""

from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

S = TypeVar("S", bound="State")


@runtime_checkable
class State(Protocol):
    """What a step function remembers of each row."""

    def select(self: S, rows: Int[Tensor, " kept"]) -> S:
        """The state of these rows, in this order."""
        ...


# Scores of every next token, from the newest token of each row and the state so far.
Step = Callable[[Int[Tensor, " rows"], S], tuple[Float[Tensor, "rows vocabulary"], S]]


def greedy(
    step: Step[S], state: S, start: Int[Tensor, " rows"], eos_id: int, limits: list[int]
) -> list[list[int]]:
    """The likeliest next token, again and again, until EOS or the row's own limit.

    A row that has ended leaves the batch, so a long sentence never makes the short ones wait.
    """
    outputs: list[list[int]] = [[] for _ in limits]
    alive = [row for row, limit in enumerate(limits) if limit > 0]
    newest = start
    if len(alive) < len(limits):
        rows = torch.tensor(alive, dtype=torch.long, device=start.device)
        newest, state = start.index_select(0, rows), state.select(rows)
    while alive:
        scores, state = step(newest, state)
        newest = scores.argmax(dim=-1)
        kept = []
        for place, (row, token) in enumerate(zip(alive, newest.tolist(), strict=True)):
            if token == eos_id:
                continue
            outputs[row].append(token)
            if len(outputs[row]) < limits[row]:
                kept.append(place)
        if len(kept) < len(alive):
            alive = [alive[place] for place in kept]
            rows = torch.tensor(kept, dtype=torch.long, device=newest.device)
            newest, state = newest.index_select(0, rows), state.select(rows)
    return outputs
