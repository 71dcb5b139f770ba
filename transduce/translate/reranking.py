"""Reranking: the candidates of a search are also judged by a model of the reverse direction.

Beam search prefers translations that leave something out, because they are shorter. From such a
translation the reverse model can hardly guess the whole source, so that it prefers the others.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from transduce.errors import InputError
from transduce.search import Hypothesis, Search
from transduce.translate.traits import Traits

WEIGHT = 1 / 8  # of log p(source | candidate) beside the score of the search; docs/log.md
# sources, targets and a batch size to the log-probabilities of the tokens of each target; None: it
# is too long
Scores = Callable[[Sequence[str], Sequence[str], int], Sequence[tuple[float, ...] | None]]


def check_reverse(model: Traits, reverse: Traits) -> None:
    """Raises InputError if the second model is known not to translate back."""
    ours = model.target_language, model.source_language
    theirs = reverse.source_language, reverse.target_language
    if any(a and b and a != b for a, b in zip(ours, theirs, strict=True)):
        a, b = ("-".join(str(code) for code in codes) for codes in (ours, theirs))
        raise InputError(f"the reverse model must translate {a}, but it translates {b}")


def all_candidates(search: Search) -> Search:
    """The search with every hypothesis of the beam as its result."""
    if search.sampling or search.beam == 1:
        raise InputError(
            "a reverse model chooses among the candidates of a beam: leave out sampling, "
            "and let the beam be 2 or more"
        )
    return replace(search, n_best=search.beam)


def rerank(
    sources: Sequence[str],
    hypotheses: Sequence[Sequence[Hypothesis]],
    texts: Sequence[Sequence[str]],
    reverse: Scores,
    batch_size: int,
) -> list[list[Hypothesis]]:
    """The hypotheses of each source, best first, by score + weight · log p(source | text).

    If one of them cannot be scored, their order stays.
    """
    pairs = [(text, source) for source, some in zip(sources, texts, strict=True) for text in some]
    scored = iter(reverse([a for a, _ in pairs], [b for _, b in pairs], batch_size))
    return [_ranked(some, [next(scored) for _ in some]) for some in hypotheses]


def _ranked(
    hypotheses: Sequence[Hypothesis], scores: Sequence[tuple[float, ...] | None]
) -> list[Hypothesis]:
    known = [sum(log_probs) for log_probs in scores if log_probs is not None]
    if len(known) < len(hypotheses):
        return list(hypotheses)
    both = [h.score + WEIGHT * log for h, log in zip(hypotheses, known, strict=True)]
    order = sorted(range(len(both)), key=lambda i: -both[i])
    return [hypotheses[i] for i in order]
