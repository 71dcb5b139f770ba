"""§5.4: dropout; on CPUs eight elements share one 64-bit random number."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Dropout(nn.Module):
    """Zeroes an element with probability p and divides the rest by 1 − p, in training only."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.p == 0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.p)
        dropped: Tensor = _ByteDropout.apply(x, self.p)
        return dropped

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """x + Dropout(y), on CPUs in one pass over memory."""
        if not self.training or self.p == 0 or x.device.type != "cpu" or x.dtype != y.dtype:
            return x + self(y)
        total: Tensor = _AddByteDropout.apply(x, y, self.p)
        return total

    def extra_repr(self) -> str:
        return f"p={self.p}"


def draw_kept(like: Tensor, p: float) -> tuple[Tensor, float]:
    """A mask, 1 for elements that are kept, and their scale; one random byte per element.

    The probability is p rounded to a multiple of 1/256; the scale is computed from the rounded
    one, so that the expectation is exact. Torch's CPU kernel draws a number per element, one
    after the other, which takes longer than the matrix products around it.
    """
    threshold = min(max(round(256 * p), 1), 255)
    drawn = torch.empty(-(-like.numel() // 8), dtype=torch.int64)
    drawn.random_(
        -(2**63), None
    )  # the default range never sets the sign bit, which biases one byte in 8
    kept = torch.empty_like(like, memory_format=torch.contiguous_format)
    torch.ge(drawn.view(torch.uint8)[: like.numel()].view(like.shape), threshold, out=kept)
    return kept, 256 / (256 - threshold)


class _ByteDropout(torch.autograd.Function):
    """Dropout(x)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:
        kept, ctx.scale = draw_kept(x, p)
        ctx.save_for_backward(kept)
        return (x * kept).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (kept,) = ctx.saved_tensors
        return (grad * kept).mul_(ctx.scale), None


class _AddByteDropout(torch.autograd.Function):
    """x + Dropout(y)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor, p: float) -> Tensor:
        kept, ctx.scale = draw_kept(y, p)
        ctx.save_for_backward(kept)
        return torch.addcmul(x, y, kept, value=ctx.scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        (kept,) = ctx.saved_tensors
        return grad, (grad * kept).mul_(ctx.scale), None
