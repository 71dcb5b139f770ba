"""Weights that are mixed with shares of those of other models."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from safetensors import safe_open
from torch import Tensor

from transduce.directory import ModelDirectory
from transduce.errors import InputError
from transduce.log import Log, silent
from transduce.model_names import model_path
from transduce.train.growth import can_grow, grown
from transduce.train.run import Run, numbered, read_config


def parse_shares(mixes: Sequence[str]) -> dict[str, float]:
    """Models and their shares.

    >>> parse_shares(["en-de:0.3", "runs/b/model:0.2"])
    {'en-de': 0.3, 'runs/b/model': 0.2}
    """
    shares = {}
    for mix in mixes:
        name, _, share = mix.rpartition(":")
        try:
            shares[name] = float(share)
        except ValueError:
            raise InputError(f"--mix {mix}: write MODEL:SHARE, such as RUN/from:0.3") from None
    if not all(0 < share < 1 for share in shares.values()) or sum(shares.values()) >= 1:
        raise InputError("the shares of --mix must be above 0 and less than 1 in all")
    return shares


def weights_of(run: Run, name: str, log: Log = silent) -> dict[str, np.ndarray]:
    """The weights of a model, if it has the network and the vocabulary of the run.

    It may have fewer layers, as the model that the run started from.
    """
    directory = ModelDirectory.open(model_path(name, log=log))
    own, whole = directory.config, read_config(run).model
    weights = dict(directory.weights())
    shallower = (
        own.encoder_depth <= whole.encoder_depth and own.decoder_depth <= whole.decoder_depth
    )
    if can_grow(own) and shallower:
        weights = grown(weights, own, whole)
    with safe_open(numbered(run.checkpoints)[-1] / "model.safetensors", "pt") as file:
        shapes = {key: tuple(file.get_slice(key).get_shape()) for key in file.keys()}  # noqa: SIM118
    if shapes != {key: weight.shape for key, weight in weights.items()}:
        raise InputError(f"{name} cannot be mixed in: its network has another shape")
    theirs = directory.path / run.tokens.name  # an imported Marian model has other files
    if run.tokens.exists() and theirs.exists() and theirs.read_bytes() != run.tokens.read_bytes():
        raise InputError(f"{name} cannot be mixed in: its vocabulary is another")
    return weights


def mixed(
    weights: Mapping[str, Tensor], others: Sequence[tuple[Mapping[str, np.ndarray], float]]
) -> dict[str, Tensor]:
    """The mean of these weights and those of other networks, which have the given shares."""
    own = 1 - sum(share for _, share in others)
    total = {name: own * weight.double() for name, weight in weights.items()}
    for other, share in others:
        for name in total:
            total[name] += share * torch.from_numpy(other[name]).double()
    return {name: weight.float() for name, weight in total.items()}
