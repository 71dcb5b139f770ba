"""§5.4: cross-entropy with label smoothing, and R-Drop, computed in chunks to save memory."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

ROWS = 512  # rows per chunk: enough for efficient matrix products


@dataclass(frozen=True)
class Loss:
    """Sums over target tokens, so that micro-batches can be added."""

    smoothed: Float[Tensor, ""]  # what is minimised
    nll: Float[Tensor, ""]  # without label smoothing: perplexity is exp(nll / tokens)
    tokens: int


def sequence_loss(
    states: Float[Tensor, "batch target d_model"],
    target: Int[Tensor, "batch target"],
    weight: Float[Tensor, "vocabulary d_model"],
    bias: Float[Tensor, " vocabulary"] | None,
    smoothing: float,
    pad_id: int,
    consistency: float = 0.0,
    weights: Float[Tensor, " batch"] | None = None,
) -> Loss:
    """The loss of predicting `target` from the decoder's states; padding is removed first.

    With `consistency`, the second half of the batch repeats the first with other dropout, and each
    token adds consistency/2 times the symmetric divergence of its two distributions. `weights`
    multiply the loss of each sentence, without label smoothing.
    """
    assert weights is None or not smoothing
    real = (target != pad_id).flatten().nonzero().flatten()
    if consistency:  # the two predictions of a token next to each other, so that chunks keep pairs
        real = real.view(2, -1).T.flatten()
    rows = states.flatten(0, 1).index_select(0, real)
    gold = target.flatten().index_select(0, real)
    if weights is not None:
        weights = weights[real // target.shape[1], None]
    smoothed, nll = _ChunkedLoss.apply(rows, gold, weight, bias, smoothing, consistency, weights)
    return Loss(smoothed, nll, len(gold))


class _ChunkedLoss(torch.autograd.Function):
    """The sum over rows of −Σ q log softmax(xEᵀ + b), with q = 1 − ε for gold, else ε/(V−1).

    The gradient of a row's logits is softmax − q. It is computed together with the loss, chunk by
    chunk, so that no [rows × vocabulary] tensor is kept and the logits are computed only once.
    Terms that are the same for every vocabulary entry are added once per row, not per entry:
    Σ logits is x · ΣE, and the ε/(V−1) in every entry's gradient is subtracted at the end.
    """

    @staticmethod
    def forward(
        ctx: Any,
        rows: Tensor,
        gold: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        smoothing: float,
        consistency: float,
        weights: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        kind = rows.device.type
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else rows.dtype
        states_dtype, rows, matrix = rows.dtype, rows.to(dtype), weight.to(dtype)
        vocabulary = weight.shape[0]
        rest = smoothing / (vocabulary - 1) if vocabulary > 1 else 0.0
        wanted = any(ctx.needs_input_grad)
        grad_rows = torch.empty_like(rows if wanted else rows[:0])
        grad_weight = torch.zeros_like(weight if wanted else weight[:0])
        grad_bias = torch.zeros_like(bias) if wanted and bias is not None else None
        smoothed = rows.new_zeros((), dtype=torch.float64)
        nll = rows.new_zeros((), dtype=torch.float64)
        with torch.autocast(kind, enabled=False):
            of_all = matrix.sum(0)  # ΣE
            bias_of_all = 0.0 if bias is None else bias.sum(dtype=torch.float64)
            for start in range(0, len(rows), ROWS):
                x, y = rows[start : start + ROWS], gold[start : start + ROWS, None]
                logits = _logits(x, matrix, bias)
                of_gold = logits.gather(1, y)
                p = torch.softmax(logits, -1, out=None if consistency else logits)
                p_gold = p.gather(1, y)
                log_total = of_gold - p_gold.log()
                lost = (p_gold == 0).flatten().nonzero().flatten()  # underflow
                if len(lost):
                    again = _logits(x.index_select(0, lost), matrix, bias)
                    log_total[lost] = again.logsumexp(1, keepdim=True)
                each_nll = log_total - of_gold
                w = 1.0 if weights is None else weights[start : start + ROWS]
                nll += each_nll.sum(dtype=torch.float64)
                smoothed += (1 - smoothing - rest) * (w * each_nll).sum(dtype=torch.float64)
                if smoothing:
                    sums = (x @ of_all).sum(dtype=torch.float64) + len(x) * bias_of_all
                    smoothed += rest * (vocabulary * log_total.sum(dtype=torch.float64) - sums)
                if consistency:
                    divergence, of_pairs = _divergence(logits, p, log_total)
                    smoothed += consistency / 2 * divergence
                if not wanted:
                    continue
                grad = p.scatter_add_(1, y, torch.full_like(of_gold, rest + smoothing - 1))
                if consistency:
                    grad.add_(of_pairs, alpha=consistency / 2)
                if weights is not None:
                    grad.mul_(w)
                if grad_bias is not None:
                    grad_bias += grad.sum(0)
                grad = grad.to(dtype)
                torch.mm(grad, matrix, out=grad_rows[start : start + ROWS])
                if dtype == grad_weight.dtype:
                    grad_weight.addmm_(grad.T, x)
                else:
                    grad_weight += grad.T @ x
            if wanted and rest:
                grad_rows.sub_(of_all, alpha=rest)
                grad_weight.sub_(rows.sum(0, dtype=grad_weight.dtype), alpha=rest)
                if grad_bias is not None:
                    grad_bias.sub_(rest * len(rows))
        ctx.grads = grad_rows.to(states_dtype), grad_weight, grad_bias
        ctx.mark_non_differentiable(nll)
        return smoothed.to(weight.dtype), nll.to(weight.dtype)

    @staticmethod
    def backward(
        ctx: Any, upstream: Tensor, _: Tensor
    ) -> tuple[Tensor | None, None, Tensor | None, Tensor | None, None, None, None]:
        rows, weight, bias = (g if g is None else g.mul_(upstream) for g in ctx.grads)
        return rows, None, weight, bias, None, None, None


def _logits(x: Tensor, matrix: Tensor, bias: Tensor | None) -> Tensor:
    logits = (x @ matrix.T).to(torch.promote_types(x.dtype, torch.float32))
    return logits if bias is None else logits.add_(bias)


def _divergence(logits: Tensor, p: Tensor, log_total: Tensor) -> tuple[Tensor, Tensor]:
    """Σ (p₀ − p₁)(log p₀ − log p₁) over pairs of adjacent rows, and its gradient by the logits.

    The summand is KL(p₀‖p₁) + KL(p₁‖p₀), and its gradient p₀ (d − KL(p₀‖p₁)) + p₀ − p₁ by the
    logits of p₀, where d = log p₀ − log p₁; by those of p₁ it is the same with the two exchanged.
    """
    first, second = p[0::2], p[1::2]
    log_ratio = (logits[0::2] - logits[1::2]).sub_(log_total[0::2] - log_total[1::2])
    grad = torch.empty_like(p)
    parts = (
        torch.mul(first, log_ratio, out=grad[0::2]),
        torch.mul(second, log_ratio, out=grad[1::2]),
    )
    forward, backward = (part.sum(1, keepdim=True) for part in parts)
    difference = first - second
    grad[0::2].addcmul_(first, forward, value=-1).add_(difference)
    grad[1::2].neg_().addcmul_(second, backward).sub_(difference)
    return (forward - backward).sum(dtype=torch.float64), grad
