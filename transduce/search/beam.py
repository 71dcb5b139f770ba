"""Beam search over a step function: it knows what follows what, not which network says so.

Limits, stopping and ties depend on one sentence alone, so that results are batch-invariant.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.search import PAPER, Hypothesis, Search, length_penalty
from transduce.search.constraints import Constraint, Only

S = TypeVar("S", bound="State")

NEVER = float("-inf")
BLOCK = 64  # scores
IN_CACHE = 2**18  # numbers


@runtime_checkable
class State(Protocol):
    """What a step function keeps for each sentence and for each of its hypotheses."""

    def select(self: S, rows: Int[Tensor, " kept"], sentences: Int[Tensor, " some"] | None) -> S:
        """The state of these hypotheses, in this order; None if all sentences stay in place.

        All sentences have equally many hypotheses, in adjacent rows.
        """
        ...


# Scores (logits or log-probabilities) of every next token, from the newest token of each
# hypothesis and the state so far.
Step = Callable[[Int[Tensor, " rows"], S], tuple[Float[Tensor, "rows vocabulary"], S]]

# The candidates of each row, and the keys that they are ranked by; the last argument is the
# sentences that the rows belong to, equally many rows each.
Choose = Callable[
    [Float[Tensor, "rows vocabulary"], int, Sequence[int]],
    tuple[Int[Tensor, "rows count"], Float[Tensor, "rows count"]],
]


@dataclass(frozen=True)
class _Live:
    """The hypotheses that have not ended: `beam` of each sentence, the best first."""

    sentences: list[int]  # indices into the caller's sentences
    totals: Float[Tensor, "sentences beam"]  # log-probabilities; NEVER where there is none
    tokens: Int[Tensor, "sentences beam length"]
    log_probs: Float[Tensor, "sentences beam length"]

    def ended(self, place: int, beam: int, search: Search, eos: float | None) -> Hypothesis:
        """A hypothesis that ended: by EOS with this log-probability, or cut if it is None."""
        log_probs = self.log_probs[place, beam].tolist() + ([] if eos is None else [eos])
        total = sum(log_probs, 0.0)
        return Hypothesis(
            tuple(self.tokens[place, beam].tolist()),
            total,
            total / length_penalty(max(len(log_probs), 1), search),
            eos is not None,
            tuple(log_probs),
        )


def best(
    scores: Float[Tensor, "rows vocabulary"], count: int, _sentences: Sequence[int]
) -> tuple[Int[Tensor, "rows count"], Float[Tensor, "rows count"]]:
    """The likeliest tokens of each row, ranked by their scores.

    They lie in the blocks that have the largest maxima, and a maximum is found much faster than
    an order.
    """
    whole = scores.shape[1] // BLOCK
    if whole <= 2 * count:
        top = scores.topk(count, dim=-1)
        return top.indices, top.values
    blocks = scores[:, : whole * BLOCK].unflatten(1, (whole, BLOCK))
    chosen = blocks.amax(dim=-1).topk(count, dim=-1).indices
    places = (chosen[:, :, None] * BLOCK + torch.arange(BLOCK, device=scores.device)).flatten(1)
    rest = torch.arange(whole * BLOCK, scores.shape[1], device=scores.device)
    places = torch.cat([places, rest.expand(len(places), -1)], dim=1)
    top = scores.gather(1, places).topk(count, dim=-1)
    return places.gather(1, top.indices), top.values


def beam_search(
    step: Step[S],
    state: S,
    start: Int[Tensor, " sentences"],
    eos_id: int,
    limits: Sequence[int],
    search: Search = PAPER,
    constraints: Sequence[Sequence[Constraint]] | None = None,
    choose: Choose = best,
) -> list[list[Hypothesis]]:
    """The best hypotheses of each sentence, the best one first, §6.1.

    Of all continuations of the live hypotheses the `beam` best count: those that end with EOS are
    finished, and the best that do not end stay live. A sentence is done when no live hypothesis
    can win any more, since a log-probability only falls and the penalty is largest at the limit.
    `constraints` say, for each sentence, which tokens may follow; where nothing may, the best
    hypothesis so far is returned as one that did not end. `choose` selects the candidates.
    """
    device = start.device
    found: list[list[Hypothesis]] = [[] for _ in limits]
    nothing = torch.zeros(len(limits), 1, 0, device=device)
    # all hypotheses start equal, so only one may live
    live = _Live(
        list(range(len(limits))), nothing.new_zeros(len(limits), 1), nothing.long(), nothing
    )
    newest = start
    while live.sentences:
        scores, state = step(newest, state)
        scores = scores.float()
        log_total = _log_total(scores)
        if constraints is not None:
            scores = _constrained(scores, live, constraints)
        few = min(2 * search.beam, scores.shape[-1])
        token, key = choose(scores, few, live.sentences)
        width = live.totals.shape[1]
        log_prob = (scores.gather(1, token) - log_total).unflatten(0, (-1, width))
        key = (key - log_total).unflatten(0, (-1, width)) + live.totals[:, :, None]
        # a stable order, so that ties are broken by the sentence's own hypotheses alone
        order = key.flatten(1).sort(dim=1, descending=True, stable=True).indices
        order = order[:, : 2 * search.beam]
        total = (log_prob + live.totals[:, :, None]).flatten(1).gather(1, order)
        token = token.unflatten(0, (-1, width)).flatten(1).gather(1, order)
        log_prob, parent = log_prob.flatten(1).gather(1, order), order // few
        ends = token == eos_id

        for place, rank in (ends & (total > NEVER))[:, : search.beam].nonzero().tolist():
            beam, eos = int(parent[place, rank]), float(log_prob[place, rank])
            found[live.sentences[place]].append(live.ended(place, beam, search, eos))

        onward = ends.to(torch.int8).sort(dim=1, stable=True).indices[:, : search.beam]
        total = total.gather(1, onward).masked_fill(ends.gather(1, onward), NEVER)
        for place in (total[:, 0] == NEVER).nonzero().flatten().tolist():
            if not found[live.sentences[place]]:  # nothing may follow
                found[live.sentences[place]].append(live.ended(place, 0, search, None))
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
        places = torch.tensor(kept, dtype=torch.long, device=device)
        all_stay = len(kept) == len(live.sentences)
        if not all_stay:
            live = _Live(
                [live.sentences[place] for place in kept],
                live.totals[places],
                live.tokens[places],
                live.log_probs[places],
            )
            parent = parent[places]
        rows = (places[:, None] * width + parent).flatten()
        if kept:
            state = state.select(rows, None if all_stay else places)
        newest = live.tokens[:, :, -1].flatten()
    return [_ranked(hypotheses)[: search.n_best] for hypotheses in found]


def _log_total(scores: Float[Tensor, "rows vocabulary"]) -> Float[Tensor, "rows 1"]:
    """log Σ exp of each row, a few rows at a time: intermediate values stay in the cache."""
    rows = max(1, IN_CACHE // scores.shape[1])
    return torch.cat([part.logsumexp(dim=-1, keepdim=True) for part in scores.split(rows)])


def _undone(
    live: _Live, found: list[list[Hypothesis]], limits: Sequence[int], search: Search
) -> list[int]:
    """The places of the sentences that go on; at a sentence's limit its hypotheses are cut."""
    kept = []
    length = live.tokens.shape[2]
    for place, (sentence, totals) in enumerate(
        zip(live.sentences, live.totals.tolist(), strict=True)
    ):
        hypotheses, limit = found[sentence], limits[sentence]
        if totals[0] == NEVER:
            continue
        if length >= limit:
            for beam, total in enumerate(totals):
                if len(hypotheses) < search.n_best and total > NEVER:
                    hypotheses.append(live.ended(place, beam, search, None))
            continue
        if hypotheses and search.beam == 1:
            continue
        hopeful = totals[0] / length_penalty(limit, search)
        if sum(hypothesis.score >= hopeful for hypothesis in hypotheses) < search.n_best:
            kept.append(place)
    return kept


def _ranked(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    """The best first, and those that were cut after all that ended."""
    return sorted(hypotheses, key=lambda h: (not h.ended, -h.score))


def _constrained(
    scores: Float[Tensor, "rows vocabulary"],
    live: _Live,
    constraints: Sequence[Sequence[Constraint]],
) -> Float[Tensor, "rows vocabulary"]:
    """The scores with NEVER for every token that a constraint of the sentence excludes."""
    scores = scores.clone()
    width = live.totals.shape[1]
    totals = live.totals.flatten().tolist()
    for row, tokens in enumerate(live.tokens.flatten(0, 1).tolist()):
        if totals[row] == NEVER:  # no hypothesis, so its tokens mean nothing
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
