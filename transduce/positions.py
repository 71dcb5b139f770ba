"""§3.5: positional encodings, computed for any position."""

import math

import numpy as np
from jaxtyping import Float

from transduce.config import Positions


def sinusoids(
    start: int, length: int, d_model: int, layout: Positions = "sinusoidal"
) -> Float[np.ndarray, "length d_model"]:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d_model)), PE(pos, 2i+1) = cos(same), §3.5.

    `sinusoidal` is the paper's: sine and cosine interleaved. `sinusoidal-concatenated` (Marian)
    has all sines before all cosines, and `sinusoidal-tensor2tensor` also changes the wavelengths
    so that the longest is exactly 10000 · 2π.
    """
    pairs = d_model // 2
    steps = max(pairs - 1, 1) if layout == "sinusoidal-tensor2tensor" else pairs
    frequency = np.exp(np.arange(pairs) * (-math.log(10_000) / steps))
    angle = np.arange(start, start + length)[:, None] * frequency
    waves = np.sin(angle), np.cos(angle)
    if layout == "sinusoidal":
        return np.stack(waves, axis=-1).reshape(length, d_model)
    return np.concatenate(waves, axis=-1)
