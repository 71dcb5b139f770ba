"""§3.5: positional encodings, computed for any position."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from transduce.config import Positions


def sinusoids(
    start: int,
    length: int,
    d_model: int,
    layout: Positions = "sinusoidal",
    device: torch.device | str = "cpu",
) -> Float[Tensor, "length d_model"]:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos(the same), §3.5.

    `sinusoidal` is the paper's: sine and cosine interleaved. `sinusoidal-concatenated` (Marian)
    has all sines before all cosines, and `sinusoidal-tensor2tensor` also stretches the wavelengths
    so that the last one is exactly 10000 · 2π.
    """
    pairs = d_model // 2
    i = torch.arange(pairs, dtype=torch.float64, device=device)
    steps = max(pairs - 1, 1) if layout == "sinusoidal-tensor2tensor" else pairs
    frequency = torch.exp(i * (-math.log(10_000) / steps))
    pos = torch.arange(start, start + length, dtype=torch.float64, device=device)
    angle = pos[:, None] * frequency
    sine, cosine = angle.sin(), angle.cos()
    if layout == "sinusoidal":
        return torch.stack([sine, cosine], dim=-1).flatten(-2)
    return torch.cat([sine, cosine], dim=-1)
