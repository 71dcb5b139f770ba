"""Weights in fewer bytes: halves, or one byte each and a scale for every row of a matrix."""

from collections.abc import Mapping
from typing import Literal, get_args

import torch
from torch import Tensor

from transduce.errors import ModelError

Stored = Literal["float32", "float16", "int8"]
KINDS: tuple[Stored, ...] = get_args(Stored)
SCALE = ".scale"  # after a matrix's name: what a row's bytes are multiples of


def packed(weights: Mapping[str, Tensor], stored: Stored) -> dict[str, Tensor]:
    """The weights as they are stored; vectors stay as they are, for they are few."""
    matrices = {name: weight for name, weight in weights.items() if weight.dim() == 2}
    others = {name: weight for name, weight in weights.items() if weight.dim() != 2}
    if stored == "float32":
        return dict(weights)
    if stored == "float16":
        return {**others, **{name: weight.half() for name, weight in matrices.items()}}
    bytes_of, scales = {}, {}
    for name, weight in matrices.items():
        scale = (weight.abs().amax(dim=1) / 127).clamp(min=torch.finfo(torch.float32).tiny)
        scales[name + SCALE] = scale
        bytes_of[name] = (weight / scale[:, None]).round().to(torch.int8)
    return {**others, **bytes_of, **scales}


def unpacked(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The weights that `packed` was given, as nearly as was stored."""
    whole = {}
    for name, weight in weights.items():
        if weight.dtype == torch.int8:
            scale = weights.get(name + SCALE)
            if scale is None or scale.shape != weight.shape[:1]:
                raise ModelError(f"{name} is stored as bytes without a scale for each row")
            weight = weight.float() * scale[:, None]
        elif name.endswith(SCALE) and name.removesuffix(SCALE) in weights:
            continue
        whole[name] = weight.float() if weight.dtype == torch.float16 else weight
    return whole
