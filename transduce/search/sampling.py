"""Sampling of the next token from the model's distribution."""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.search import Sampling
from transduce.search.beam import NEVER, Choose, best


def sampled(sampling: Sampling, seeds: Sequence[int]) -> Choose:
    """Samples without replacement; a seed per sentence makes it batch-invariant.

    The Gumbel trick: the maximum of log p + Gumbel noise is a sample from p. A temperature of 0 is
    the likeliest token.
    """
    if sampling.temperature == 0:
        return best
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    def choose(
        scores: Float[Tensor, "rows vocabulary"], count: int, sentences: Sequence[int]
    ) -> tuple[Int[Tensor, "rows count"], Float[Tensor, "rows count"]]:
        each = len(scores) // len(sentences)
        uniform = torch.cat(
            [torch.rand(each, scores.shape[1], generator=generators[s]) for s in sentences]
        )
        noise = -torch.log(-torch.log(uniform.clamp(1e-20, 1 - 1e-7))).to(scores.device)
        key, token = (_truncated(scores, sampling) + noise).topk(count, dim=-1)
        return token, key

    return choose


def _truncated(
    scores: Float[Tensor, "rows vocabulary"], sampling: Sampling
) -> Float[Tensor, "rows vocabulary"]:
    scores = scores / sampling.temperature
    if sampling.top_k is not None and sampling.top_k < scores.shape[1]:
        smallest = scores.topk(sampling.top_k, dim=-1).values[:, -1:]
        scores = scores.masked_fill(scores < smallest, NEVER)
    if sampling.top_p < 1:
        probability, order = scores.softmax(-1).sort(dim=-1, descending=True, stable=True)
        before = probability.cumsum(-1) - probability  # the likeliest is always kept
        outside = (before >= sampling.top_p).scatter(1, order, before >= sampling.top_p)
        scores = scores.masked_fill(outside, NEVER)
    return scores
