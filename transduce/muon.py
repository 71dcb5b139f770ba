"""Muon: momentum, orthogonalised before each update, for the matrices inside a network."""

from collections import defaultdict
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transduce.model.linear import Linear

MOMENTUM = 0.95
# of the polynomial ax + bx³ + cx⁵, which moves every singular value in (0, 1] towards 1
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
ITERATIONS = 5
ADAM_RMS = 0.2  # typical size of Adam's update of a weight, relative to the learning rate


def orthogonalised(
    matrices: Float[Tensor, "number rows columns"],
) -> Float[Tensor, "number rows columns"]:
    """UVᵀ of each matrix UΣVᵀ, nearly: singular values end between 0.7 and 1.2 (Newton–Schulz)."""
    a, b, c = COEFFICIENTS
    wide = matrices.shape[1] <= matrices.shape[2]
    x = matrices if wide else matrices.mT
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)  # then no singular value exceeds 1
    for _ in range(ITERATIONS):
        gram = x @ x.mT
        x = a * x + torch.baddbmm(gram, gram, gram, beta=b, alpha=c) @ x
    return x if wide else x.mT


def muon_matrices(network: nn.Module) -> dict[Tensor, list[int]]:
    """The weights of the linear layers, each with the heights of the matrices it consists of."""
    return {layer.weight: layer.widths for layer in network.modules() if isinstance(layer, Linear)}


class Muon(torch.optim.Optimizer):
    """Jordan et al. (2024); updates are scaled to Adam's size (Liu et al., 2025, §2.2).

    So the learning rates of Adam can be used. Queries, keys and values are matrices of their own,
    although one parameter holds them.
    """

    def __init__(
        self,
        heights: dict[Tensor, list[int]],
        weight_decay: float = 0.0,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        """`heights` are those of the matrices that each parameter consists of.

        Updates are orthogonalised in `dtype`; momentum and weights keep their own.
        """
        super().__init__(heights, {"lr": 0.0, "weight_decay": weight_decay})
        self.heights = heights
        self.dtype = dtype

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        by_shape: dict[torch.Size, list[tuple[Tensor, Tensor]]] = defaultdict(list)
        (group,) = self.param_groups
        rate = group["lr"]
        for parameter in group["params"]:
            if parameter.grad is None:
                continue
            state = self.state[parameter]
            if not state:
                state["exp_avg"] = torch.zeros_like(parameter)
            momentum = state["exp_avg"].lerp_(parameter.grad, 1 - MOMENTUM)
            direction = parameter.grad.lerp(momentum, MOMENTUM)  # Nesterov's
            parameter.mul_(1 - rate * group["weight_decay"])
            heights = self.heights[parameter]
            for part, update in zip(
                parameter.split(heights), direction.split(heights), strict=True
            ):
                by_shape[part.shape].append((part, update))
        for shape, parts in by_shape.items():
            updates = orthogonalised(torch.stack([update.to(self.dtype) for _, update in parts]))
            scale = rate * ADAM_RMS * max(shape) ** 0.5
            for (part, _), update in zip(parts, updates, strict=True):
                part.sub_(update, alpha=scale)
