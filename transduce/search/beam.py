"""Search over a step function: it is told what follows what, never by which network.

Every limit, every stop and every tie is a sentence's own, so that its result does not depend on the
sentences beside it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.search import PAPER, Hypothesis, Search, length_penalty

S = TypeVar("S", bound="State")

NEVER = float("-inf")
BLOCK = 64  # scores
IN_CACHE = 2**18  # numbers


@runtime_checkable
class State(Protocol):
    """What a step function remembers of each sentence and of each of its hypotheses."""

    def select(self: S, rows: Int[Tensor, " kept"], sentences: Int[Tensor, " some"] | None) -> S:
        """The state of these hypotheses, in this order; None if all sentences stay in place.

        A sentence has equally many hypotheses as any other, side by side.
        """
        ...


# Scores (logits or log-probabilities) of every next token, from the newest token of each
# hypothesis and the state so far.
Step = Callable[[Int[Tensor, " rows"], S], tuple[Float[Tensor, "rows vocabulary"], S]]


@dataclass(frozen=True)
class _Live:
    """The hypotheses that have not ended: of each sentence `beam` of them, the best one first."""

    sentences: list[int]  # which of the caller's these are
    totals: Float[Tensor, "sentences beam"]  # log-probabilities; NEVER where there is none
    tokens: Int[Tensor, "sentences beam length"]
    log_probs: Float[Tensor, "sentences beam length"]

    def ended(self, place: int, beam: int, search: Search, eos: float | None) -> Hypothesis:
        """A hypothesis as it ends, by EOS with this log-probability, or cut at its limit."""
        log_probs = self.log_probs[place, beam].tolist() + ([] if eos is None else [eos])
        total = sum(log_probs)
        return Hypothesis(
            tuple(self.tokens[place, beam].tolist()),
            total,
            total / length_penalty(len(log_probs), search),
            eos is not None,
            tuple(log_probs),
        )


def beam_search(
    step: Step[S],
    state: S,
    start: Int[Tensor, " sentences"],
    eos_id: int,
    limits: Sequence[int],
    search: Search = PAPER,
    prefixes: Sequence[Sequence[int]] | None = None,
) -> list[list[Hypothesis]]:
    """The best hypotheses of each sentence, the best one first, §6.1.

    Of all continuations of the live hypotheses the `beam` best count: those that end with EOS are
    put aside, and the best that do not end live on. A sentence is done when no live hypothesis can
    win any more, for a log-probability only falls and the penalty is largest at the limit.
    `prefixes` are tokens that a sentence must begin with.
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
        log_total = _log_total(scores).unflatten(0, live.totals.shape)
        scores = _allowed(
            scores.unflatten(0, live.totals.shape), live, search.no_repeat, eos_id, prefixes
        )
        few = min(2 * search.beam, scores.shape[-1])
        best, token = (
            part.unflatten(0, live.totals.shape) for part in _best(scores.flatten(0, 1), few)
        )
        log_prob = (best - log_total).flatten(1)
        total = ((best - log_total) + live.totals[:, :, None]).flatten(1)
        # a stable order, so that ties are broken by the sentence's own hypotheses alone
        total, order = total.sort(dim=1, descending=True, stable=True)
        total, order = total[:, : 2 * search.beam], order[:, : 2 * search.beam]
        token, log_prob = token.flatten(1).gather(1, order), log_prob.gather(1, order)
        parent = order // few
        ends = token == eos_id

        for place, rank in (ends & (total > NEVER))[:, : search.beam].nonzero().tolist():
            beam, eos = int(parent[place, rank]), float(log_prob[place, rank])
            found[live.sentences[place]].append(live.ended(place, beam, search, eos))

        onward = ends.to(torch.int8).sort(dim=1, stable=True).indices[:, : search.beam]
        total = total.gather(1, onward).masked_fill(ends.gather(1, onward), NEVER)
        parent, token = parent.gather(1, onward), token.gather(1, onward)
        history = parent[:, :, None].expand(-1, -1, live.tokens.shape[2])
        width = live.totals.shape[1]
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
    """log Σ exp of each row, a few rows at a time: what is needed on the way stays in the cache."""
    rows = max(1, IN_CACHE // scores.shape[1])
    return torch.cat([part.logsumexp(dim=-1, keepdim=True) for part in scores.split(rows)])


def _best(
    scores: Float[Tensor, "rows vocabulary"], count: int
) -> tuple[Float[Tensor, "rows count"], Int[Tensor, "rows count"]]:
    """The largest scores of each row and where they are.

    They lie in the blocks that have the largest maxima, and a maximum is found much sooner than
    an order.
    """
    whole = scores.shape[1] // BLOCK
    if whole <= 2 * count:
        return scores.topk(count, dim=-1)
    blocks = scores[:, : whole * BLOCK].unflatten(1, (whole, BLOCK))
    chosen = blocks.amax(dim=-1).topk(count, dim=-1).indices
    places = (chosen[:, :, None] * BLOCK + torch.arange(BLOCK, device=scores.device)).flatten(1)
    rest = torch.arange(whole * BLOCK, scores.shape[1], device=scores.device)
    places = torch.cat([places, rest.expand(len(places), -1)], dim=1)
    best, order = scores.gather(1, places).topk(count, dim=-1)
    return best, places.gather(1, order)


def _undone(
    live: _Live, found: list[list[Hypothesis]], limits: Sequence[int], search: Search
) -> list[int]:
    """The places of the sentences that go on; of one at its limit the live ones are cut."""
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


def _allowed(
    scores: Float[Tensor, "sentences beam vocabulary"],
    live: _Live,
    no_repeat: int,
    eos_id: int,
    prefixes: Sequence[Sequence[int]] | None,
) -> Float[Tensor, "sentences beam vocabulary"]:
    """The scores with NEVER for what a prefix or `no_repeat` forbids."""
    length = live.tokens.shape[2]
    if no_repeat and length >= no_repeat:
        scores = scores.clone()
        for place, hypotheses in enumerate(live.tokens.tolist()):
            for beam, tokens in enumerate(hypotheses):
                last = tokens[length - no_repeat + 1 :]
                banned = [
                    tokens[i + no_repeat - 1]
                    for i in range(length - no_repeat + 1)
                    if tokens[i : i + no_repeat - 1] == last
                ]
                scores[place, beam, [token for token in banned if token != eos_id]] = NEVER
    for place, sentence in enumerate(live.sentences) if prefixes is not None else []:
        if prefixes is not None and length < len(prefixes[sentence]):
            forced = prefixes[sentence][length]
            only = torch.full_like(scores[place], NEVER)
            only[:, forced] = scores[place, :, forced]
            scores = scores.clone()
            scores[place] = only
    return scores
