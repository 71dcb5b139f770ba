"""The weights of a torch network, by name."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from transduce.directory.weights import check_shapes
from transduce.model import Network


def weights_of(network: Network) -> dict[str, Tensor]:
    """Every parameter by name; a shared matrix is listed under its first name."""
    return {name: p.detach().contiguous() for name, p in network.named_parameters()}


def load_weights(network: Network, weights: Mapping[str, Tensor], where: Path) -> None:
    """Copies weights into the network; raises ModelError if names or shapes differ."""
    parameters = dict(network.named_parameters())
    check_shapes(
        {name: weight.shape for name, weight in weights.items()},
        {name: parameter.shape for name, parameter in parameters.items()},
        where,
    )
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(weights[name])
