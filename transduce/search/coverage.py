"""The coverage penalty of Wu et al. (GNMT), whose length penalty §6.1 uses: hypotheses that leave a
part of the source out are ranked lower.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from transduce.search import Hypothesis, Search, best_first

LEAST = 1e-6  # a token that nothing attends to counts as this


def coverage(weights: Float[np.ndarray, "target source"]) -> float:
    """Σᵢ log min(Σⱼ pᵢⱼ, 1), where pᵢⱼ is how much target token j attends to source token i.

    It is 0 if every source token has the attention of a whole target token, otherwise negative.
    """
    attended = weights.sum(axis=0, dtype=np.float64)
    return float(np.log(attended.clip(LEAST, 1)).sum())


def reranks(search: Search) -> bool:
    """Whether there are several hypotheses to rank, and a penalty to rank them by."""
    return bool(search.coverage) and search.beam > 1 and search.sampling is None


def rerank(
    hypotheses: Sequence[Hypothesis],
    weights: Sequence[Float[np.ndarray, "_ source"]],
    search: Search,
) -> list[Hypothesis]:
    """The hypotheses of a source, best first, with β · coverage added to their scores.

    The attention of the first target token is left out: all hypotheses have the same, before any of
    their tokens is known, and in batches CTranslate2 returns that of another sentence.
    """
    beta = search.coverage or 0.0
    return best_first(
        replace(hypothesis, score=hypothesis.score + beta * coverage(attention[1:]))
        for hypothesis, attention in zip(hypotheses, weights, strict=True)
    )
