"""§5.4: dropout, drawn eight decisions at a time where drawing them is the cost."""

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

    def extra_repr(self) -> str:
        return f"p={self.p}"


class _ByteDropout(torch.autograd.Function):
    """Dropout that spends one random byte on a decision.

    The probability is p rounded to 1/256, and survivors are scaled by its exact complement, so the
    expectation is exact. Torch's CPU kernel draws a number for every element, one after the other,
    which takes longer than the matrix products around it.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:
        threshold = min(max(round(256 * p), 1), 255)
        drawn = torch.empty(-(-x.numel() // 8), dtype=torch.int64)
        drawn.random_(-(2**63), None)  # the default range leaves out the sign bit, so one byte in 8
        keep = drawn.view(torch.uint8)[: x.numel()].view(x.shape) >= threshold
        ctx.save_for_backward(keep)
        ctx.scale = 256 / (256 - threshold)
        return (x * keep).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (keep,) = ctx.saved_tensors
        return (grad * keep).mul_(ctx.scale), None
