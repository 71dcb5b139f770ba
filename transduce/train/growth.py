"""Networks with more layers that compute what a given one computes."""

from collections.abc import Mapping

import numpy as np

from transduce.config import ModelConfig

# The last linear transformation of each sub-layer.
OUTPUTS = ("self_attention.output.", "cross_attention.output.", "feed_forward.outer.")


def can_grow(config: ModelConfig) -> bool:
    """Whether layers can be added: with pre-norm a layer whose sub-layers are zero is identity."""
    return config.norm == "pre" and config.kind in ("transformer", "lm")


def grown(
    weights: Mapping[str, np.ndarray], before: ModelConfig, after: ModelConfig
) -> dict[str, np.ndarray]:
    """The weights of a network like `before` but as deep as `after`; it has the same outputs.

    The new layers are copies of the layer below, with outputs of zero: the residual connections
    pass on what that layer computed, and training begins with its queries, keys and features.
    """
    stacks = {
        "encoder": (before.encoder_depth, after.encoder_depth),
        "decoder": (before.decoder_depth, after.decoder_depth),
    }
    if all(old == new for old, new in stacks.values()):
        return dict(weights)
    deeper = {}
    for name, weight in weights.items():
        stack, _, rest = name.partition(".")
        if stack not in stacks:
            deeper[name] = weight
            continue
        number, _, parameter = rest.partition(".")
        old, new = stacks[stack]
        first, *copies = [layer for layer in range(new) if layer * old // new == int(number)]
        deeper[f"{stack}.{first}.{parameter}"] = weight
        for layer in copies:
            zero = parameter.startswith(OUTPUTS)
            deeper[f"{stack}.{layer}.{parameter}"] = np.zeros_like(weight) if zero else weight
    return deeper
