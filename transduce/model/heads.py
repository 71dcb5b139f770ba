"""Heads switched off: §3.2.2 without some of its heads."""

import copy
from collections.abc import Iterable
from itertools import chain
from typing import Literal, NamedTuple

from torch import nn

from transduce.errors import InputError, ModelError
from transduce.model.attention import MultiHeadAttention
from transduce.model.language_model import LanguageModel
from transduce.model.network import Network
from transduce.model.transformer import Transformer


class Head(NamedTuple):
    """A head of a network; layers and heads count from 1."""

    kind: Literal["encoder", "decoder", "cross"]
    layer: int
    head: int


def without_heads(network: Network, heads: Iterable[Head]) -> Network:
    """A network in which the outputs of these heads are zero.

    The given network is not changed; both share all tensors but the W^O of the layers concerned.
    Raises ModelError for a network without multi-head attention, InputError for a head it lacks.
    """
    shared = chain(network.parameters(), network.buffers())
    changed = copy.deepcopy(network, {id(tensor): tensor for tensor in shared})
    for head in heads:
        attention = attention_of(changed, head)
        weight = attention.output.weight.detach().clone()
        weight[:, (head.head - 1) * attention.d_v : head.head * attention.d_v] = 0
        attention.output.weight = nn.Parameter(weight, requires_grad=False)
    return changed


def attention_of(network: Network, head: Head) -> MultiHeadAttention:
    """The module that a head is part of."""
    if not isinstance(network, Transformer | LanguageModel):
        raise ModelError(
            f"heads are switched off in a Transformer: this model's kind is {network.config.kind}"
        )
    layers = getattr(network, "encoder" if head.kind == "encoder" else "decoder", [])
    name = "cross_attention" if head.kind == "cross" else "self_attention"
    within = 1 <= head.layer <= len(layers) and 1 <= head.head <= network.config.n_heads
    if not within or not hasattr(layers[head.layer - 1], name):
        raise InputError(f"this model has no {head.kind} head {head.head} in layer {head.layer}")
    attention: MultiHeadAttention = getattr(layers[head.layer - 1], name)
    return attention
