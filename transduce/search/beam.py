"""Beam search over a step function, independent of the network.

Length limits, stopping and ties are per sentence, so that results are batch-invariant.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transduce.search import PAPER, Hypothesis, Search, length_penalty
from transduce.search.constraints import Constraint, Only

S = TypeVar("S", bound="State")

NEVER = float("-inf")
BLOCK = 64  # vocabulary entries
IN_CACHE = 2**18  # numbers that fit the CPU's cache


@runtime_checkable
class State(Protocol):
    """The state of decoding, with one row per hypothesis."""

    def select(self: S, rows: Int[Tensor, " kept"], sentences: Int[Tensor, " some"] | None) -> S:
        """The state of these hypotheses, in this order; `sentences` is None if all of them stay.

        All sentences have the same number of hypotheses, in adjacent rows.
        """
        ...


# From the newest token of each hypothesis and the state: the scores (logits or log-probabilities)
# of every next token, and the new state.
Step = Callable[[Int[Tensor, " rows"], S], tuple[Float[Tensor, "rows vocabulary"], S]]


@runtime_checkable
class Grammar(Protocol):
    """A constraint that is computed for all hypotheses at once; one row per hypothesis."""

    def allowed(self) -> Bool[Tensor, "rows vocabulary"]:
        """The tokens that may follow each hypothesis; at least one."""
        ...

    def after(self, rows: Int[Tensor, " kept"], newest: Int[Tensor, " kept"]) -> "Grammar":
        """The state of these hypotheses, in this order, each extended by a token."""
        ...


# From scores, a count and the sentences of the rows (the same number of rows each): the candidates
# of each row, and the keys to rank them by.
Choose = Callable[
    [Float[Tensor, "rows vocabulary"], int, Sequence[int]],
    tuple[Int[Tensor, "rows count"], Float[Tensor, "rows count"]],
]


@dataclass(frozen=True)
class Candidates:
    """The best continuations of the live hypotheses in one step, best first."""

    parent: Int[Tensor, "sentences candidates"]  # the live hypothesis that is extended
    token: Int[Tensor, "sentences candidates"]
    log_prob: Float[Tensor, "sentences candidates"]  # of the token
    total: Float[Tensor, "sentences candidates"]
    onward: Int[Tensor, "sentences beam"]  # those that become live, unless they end with EOS


@dataclass(frozen=True)
class _Live:
    """The live hypotheses: `beam` per sentence, best first."""

    sentences: list[int]  # indices into the caller's sentences
    totals: Float[Tensor, "sentences beam"]  # log-probabilities; NEVER if there is no hypothesis
    tokens: Int[Tensor, "sentences beam length"]
    log_probs: Float[Tensor, "sentences beam length"]

    def ended(self, i: int, beam: int, search: Search, eos: float | None) -> Hypothesis:
        """A finished hypothesis: by EOS with log-probability `eos`, or cut if that is None."""
        log_probs = self.log_probs[i, beam].tolist() + ([] if eos is None else [eos])
        total = sum(log_probs, 0.0)
        return Hypothesis(
            tuple(self.tokens[i, beam].tolist()),
            total,
            total / length_penalty(max(len(log_probs), 1), search),
            eos is not None,
            tuple(log_probs),
        )


def best(
    scores: Float[Tensor, "rows vocabulary"], count: int, _sentences: Sequence[int]
) -> tuple[Int[Tensor, "rows count"], Float[Tensor, "rows count"]]:
    """The tokens of each row with the highest scores.

    They are in the blocks with the largest maxima, and maxima are much faster than top-k.
    """
    n_blocks = scores.shape[1] // BLOCK
    if n_blocks <= 2 * count:
        top = scores.topk(count, dim=-1)
        return top.indices, top.values
    blocks = scores[:, : n_blocks * BLOCK].unflatten(1, (n_blocks, BLOCK))
    chosen = blocks.amax(dim=-1).topk(count, dim=-1).indices
    indices = (chosen[:, :, None] * BLOCK + torch.arange(BLOCK, device=scores.device)).flatten(1)
    rest = torch.arange(n_blocks * BLOCK, scores.shape[1], device=scores.device)
    indices = torch.cat([indices, rest.expand(len(indices), -1)], dim=1)
    top = scores.gather(1, indices).topk(count, dim=-1)
    return indices.gather(1, top.indices), top.values


def beam_search(
    step: Step[S],
    state: S,
    start: Int[Tensor, " sentences"],
    eos_id: int,
    limits: Sequence[int],
    search: Search = PAPER,
    constraints: Sequence[Sequence[Constraint]] | None = None,
    choose: Choose = best,
    grammar: Grammar | None = None,
    observe: Callable[[Candidates], None] | None = None,
) -> list[list[Hypothesis]]:
    """The n-best hypotheses of each sentence, best first, §6.1.

    At each step those of the `beam` best continuations that end with EOS are finished, and the
    `beam` best that do not end stay live. A sentence is done when no live hypothesis can win any
    more: log-probabilities only decrease and the length penalty is largest at the length limit.
    `constraints` are given per sentence; if they allow no token, the best hypothesis so far is
    returned with `ended` False. `choose` selects the candidates. `grammar` starts with one row per
    sentence; unlike `constraints`, it renormalises: probabilities are those among allowed tokens.
    `observe` is called with the candidates of every step.
    """
    device = start.device
    found: list[list[Hypothesis]] = [[] for _ in limits]
    nothing = torch.zeros(len(limits), 1, 0, device=device)
    # all hypotheses start equal, so only one may be live
    live = _Live(
        list(range(len(limits))), nothing.new_zeros(len(limits), 1), nothing.long(), nothing
    )
    newest = start
    while live.sentences:
        scores, state = step(newest, state)
        scores = scores.float()
        if grammar is not None:
            scores = scores.masked_fill(~grammar.allowed(), NEVER)
        log_total = _log_total(scores)
        if constraints is not None:
            scores = _constrained(scores, live, constraints)
        count = min(2 * search.beam, scores.shape[-1])
        token, key = choose(scores, count, live.sentences)
        width = live.totals.shape[1]
        log_prob = (scores.gather(1, token) - log_total).unflatten(0, (-1, width))
        key = (key - log_total).unflatten(0, (-1, width)) + live.totals[:, :, None]
        # stable, so that ties are broken in the same way in every batch
        order = key.flatten(1).sort(dim=1, descending=True, stable=True).indices
        order = order[:, : 2 * search.beam]
        total = (log_prob + live.totals[:, :, None]).flatten(1).gather(1, order)
        token = token.unflatten(0, (-1, width)).flatten(1).gather(1, order)
        log_prob, parent = log_prob.flatten(1).gather(1, order), order // count
        ends = token == eos_id

        for i, rank in (ends & (total > NEVER))[:, : search.beam].nonzero().tolist():
            beam, eos = int(parent[i, rank]), float(log_prob[i, rank])
            found[live.sentences[i]].append(live.ended(i, beam, search, eos))

        onward = ends.to(torch.int8).sort(dim=1, stable=True).indices[:, : search.beam]
        if observe is not None:
            observe(Candidates(parent, token, log_prob, total, onward))
        total = total.gather(1, onward).masked_fill(ends.gather(1, onward), NEVER)
        for i in (total[:, 0] == NEVER).nonzero().flatten().tolist():
            if not found[live.sentences[i]]:  # no token is allowed
                found[live.sentences[i]].append(live.ended(i, 0, search, None))
        parent, token = parent.gather(1, onward), token.gather(1, onward)
        history = parent[:, :, None].expand(-1, -1, live.tokens.shape[2])
        live = _Live(
            live.sentences,
            total,
            torch.cat([live.tokens.gather(1, history), token[:, :, None]], dim=2),
            torch.cat(
                [live.log_probs.gather(1, history), log_prob.gather(1, onward)[:, :, None]], dim=2
            ),
        )
        kept = _undone(live, found, limits, search)
        kept_indices = torch.tensor(kept, dtype=torch.long, device=device)
        all_stay = len(kept) == len(live.sentences)
        if not all_stay:
            live = _Live(
                [live.sentences[i] for i in kept],
                live.totals[kept_indices],
                live.tokens[kept_indices],
                live.log_probs[kept_indices],
            )
            parent = parent[kept_indices]
        rows = (kept_indices[:, None] * width + parent).flatten()
        if kept:
            state = state.select(rows, None if all_stay else kept_indices)
        newest = live.tokens[:, :, -1].flatten()
        if grammar is not None:
            grammar = grammar.after(rows, newest)
    return [_ranked(hypotheses)[: search.n_best] for hypotheses in found]


def _log_total(scores: Float[Tensor, "rows vocabulary"]) -> Float[Tensor, "rows 1"]:
    """log Σ exp of each row; a few rows at a time, so that they stay in the CPU's cache."""
    rows = max(1, IN_CACHE // scores.shape[1])
    total = torch.cat([part.logsumexp(dim=-1, keepdim=True) for part in scores.split(rows)])
    return total.masked_fill(total == NEVER, 0)  # nothing is allowed in this row


def _undone(
    live: _Live, found: list[list[Hypothesis]], limits: Sequence[int], search: Search
) -> list[int]:
    """The indices of the sentences to continue; hypotheses at their length limit are cut."""
    kept = []
    length = live.tokens.shape[2]
    for i, (sentence, totals) in enumerate(zip(live.sentences, live.totals.tolist(), strict=True)):
        hypotheses, limit = found[sentence], limits[sentence]
        if totals[0] == NEVER:
            continue
        if length >= limit:
            for beam, total in enumerate(totals):
                if len(hypotheses) < search.n_best and total > NEVER:
                    hypotheses.append(live.ended(i, beam, search, None))
            continue
        if hypotheses and search.beam == 1:
            continue
        bound = totals[0] / length_penalty(limit, search)
        if sum(hypothesis.score >= bound for hypothesis in hypotheses) < search.n_best:
            kept.append(i)
    return kept


def _ranked(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    """Best first; those that were cut come after all that ended."""
    return sorted(hypotheses, key=lambda h: (not h.ended, -h.score))


def _constrained(
    scores: Float[Tensor, "rows vocabulary"],
    live: _Live,
    constraints: Sequence[Sequence[Constraint]],
) -> Float[Tensor, "rows vocabulary"]:
    """The scores, with NEVER for every token that a constraint of its sentence excludes."""
    scores = scores.clone()
    width = live.totals.shape[1]
    totals = live.totals.flatten().tolist()
    for row, tokens in enumerate(live.tokens.flatten(0, 1).tolist()):
        if totals[row] == NEVER:  # no hypothesis
            continue
        for constraint in constraints[live.sentences[row // width]]:
            follows = constraint(tokens)
            if isinstance(follows, Only):
                kept = scores.new_full(scores.shape[1:], NEVER)
                kept[list(follows.tokens)] = scores[row, list(follows.tokens)]
                scores[row] = kept
            elif follows is not None:
                scores[row, list(follows.tokens)] = NEVER
    return scores
