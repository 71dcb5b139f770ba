"""How large a run is: its batches, its parameters and the memory that a step takes."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from transduce.batches import Batching, Indices, padded_tokens, padding, split, target_tokens
from transduce.config import Config, TrainConfig
from transduce.model import Network, build_network, count_parameters
from transduce.store import Lengths, Store

PROCESS = 350 * 2**20  # bytes that the program takes before it has a network
SCATTERED = 1.8  # times its activations are what a step takes, since freed memory is kept


@dataclass(frozen=True)
class Plan:
    """The batches of the first epoch, as training computes them."""

    batches: list[Indices]
    parts: int  # in which each batch is computed, one after the other
    micro_batches: list[Indices]  # all of these parts


def plan_of(store: Store, settings: TrainConfig) -> Plan:
    """The first epoch's batches; every other epoch has about as many."""
    batching = Batching(store, settings)
    batches, parts = batching.epoch(0), batching.micro_batches
    micro_batches = [
        part for batch in batches for part in split(batch, parts, store.lengths) if len(part)
    ]
    return Plan(batches, parts, micro_batches)


@dataclass(frozen=True)
class Epoch:
    """What an epoch is, and how many of them the steps are."""

    batches: int  # an epoch
    sentences: float  # a batch
    source_tokens: float
    target_tokens: float
    parts: int  # in which a batch is computed, one after the other
    padding: float
    operations: float  # of a batch's matrix products, forward and backward
    steps: int
    epochs: float
    checkpoints: int  # on schedule


@dataclass(frozen=True)
class Memory:
    """Bytes, by what they are for."""

    weights: int
    gradients: int
    moments: int  # Adam's two
    moving_average: int
    activations: int  # of the largest batch: what its backward pass needs of its forward pass
    estimated_peak: int
    checkpoint: int  # on disk
    checkpoints: int  # on disk, all that are kept


@dataclass(frozen=True)
class NetworkSize:
    """The model that would be trained."""

    parameters: int
    memory: Memory


def epoch_of(plan: Plan, store: Store, settings: TrainConfig, operations: float) -> Epoch:
    """What an epoch is; `operations` are those of all its sentences."""
    count, rows = len(plan.batches), np.concatenate(plan.batches)
    return Epoch(
        batches=count,
        sentences=len(rows) / count,
        source_tokens=int(store.lengths[0][rows].sum()) / count,
        target_tokens=sum(target_tokens(store, batch) for batch in plan.batches) / count,
        parts=plan.parts,
        padding=padding(plan.micro_batches, store.lengths),
        operations=operations / count,
        steps=settings.steps,
        epochs=settings.steps / count,
        checkpoints=math.ceil(settings.steps / settings.checkpoint_steps),
    )


def sizes_of(config: Config, plan: Plan, store: Store) -> tuple[Epoch, NetworkSize]:
    """Of the real modules, on the meta device: shapes without memory or time."""
    # packing a sequence for an LSTM reads its lengths
    with torch.device("cpu" if config.model.kind == "recurrent" else "meta"):
        network = build_network(config.model).train()
    settings, rows = config.train, np.concatenate(plan.batches)
    operations = network.operations(store.lengths[0][rows], store.lengths[-1][rows])
    epoch = epoch_of(plan, store, settings, float(settings.passes * operations))
    weights = 4 * count_parameters(network)
    average = weights if settings.ema else 0
    largest = max(plan.micro_batches, key=lambda part: padded_tokens(part, store.lengths))
    longest = max(plan.micro_batches, key=lambda part: max(s[part].max() for s in store.lengths))
    activations = settings.passes * max(
        _activations(network, store, part) for part in (largest, longest)
    )
    kept = min(max(settings.keep, settings.average) + 1, epoch.checkpoints)  # and the best
    checkpoint = 3 * weights + average
    memory = Memory(
        weights=weights,
        gradients=weights,
        moments=2 * weights,
        moving_average=average,
        activations=activations,
        estimated_peak=PROCESS + 4 * weights + average + int(SCATTERED * activations),
        checkpoint=checkpoint,
        checkpoints=kept * checkpoint + weights,  # and the model
    )
    return epoch, NetworkSize(count_parameters(network), memory)


def _activations(network: Network, store: Store, part: Indices) -> int:
    """The bytes that autograd keeps of a forward pass of these sentences."""
    own = {parameter.untyped_storage()._cdata for parameter in network.parameters()}
    kept: dict[int, torch.UntypedStorage] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in own:
            kept[storage._cdata] = storage  # held, so that its address is not used again
        return tensor

    def shape(lengths: Lengths) -> Tensor:
        width = int(lengths[part].max())
        return torch.ones(len(part), width, dtype=torch.long, device=network.device)

    source, target = shape(store.lengths[0]), shape(store.lengths[-1])
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        network.states(source, target)
    return sum(storage.nbytes() for storage in kept.values())
