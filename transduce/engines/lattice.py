"""Beam search as a lattice: every candidate of every step, with those that were pruned."""

from dataclasses import dataclass, replace
from typing import Literal

from transduce.engines import Request
from transduce.engines.torch_engine import TorchEngine
from transduce.search import Hypothesis, length_penalty
from transduce.search.beam import NEVER, Candidates

State = Literal["live", "pruned", "ended", "best"]


@dataclass(frozen=True)
class LatticeNode:
    """A candidate; hypotheses with the same beginning share nodes."""

    parent: int  # index of the node before it; -1: BOS
    length: int  # tokens up to here, EOS included
    token: int
    log_prob: float  # of the token
    total: float  # of all tokens up to here
    score: float  # total ÷ length penalty
    state: State  # "best": on the path of the translation


def search_lattice(
    engine: TorchEngine, request: Request
) -> tuple[list[Hypothesis], list[LatticeNode]]:
    """The n-best hypotheses of a request, and what the search considered."""
    nodes: list[LatticeNode] = []
    live = [-1]  # the node of each live hypothesis

    def observe(step: Candidates) -> None:
        nonlocal live
        columns = (step.parent, step.token, step.log_prob, step.total)
        rows = list(zip(*(column[0].tolist() for column in columns), strict=True))
        onward = step.onward[0].tolist()
        length = nodes[live[0]].length + 1 if live[0] >= 0 else 1
        eos, made = engine.model.config.eos_id, {}
        for rank, (parent, token, log_prob, total) in enumerate(rows):
            if total == NEVER:
                continue
            state: State = "live" if rank in onward else "pruned"
            if token == eos:
                state = "ended" if rank < request.search.beam else "pruned"
            made[rank] = len(nodes)
            score = total / length_penalty(length, request.search)
            nodes.append(LatticeNode(live[parent], length, token, log_prob, total, score, state))
        live = [made.get(rank, -1) for rank in onward]

    (hypotheses,) = engine.search_batch([request], observe)
    for i in _path(
        nodes, (*hypotheses[0].tokens, *[engine.model.config.eos_id] * hypotheses[0].ended)
    ):
        nodes[i] = replace(nodes[i], state="best")
    return hypotheses, nodes


def _path(nodes: list[LatticeNode], tokens: tuple[int, ...]) -> list[int]:
    """The nodes of a hypothesis."""
    children: dict[tuple[int, int], int] = {}
    for i, node in enumerate(nodes):
        if node.state != "pruned":
            children[node.parent, node.token] = i
    path, at = [], -1
    for token in tokens:
        at = children[at, token]
        path.append(at)
    return path
