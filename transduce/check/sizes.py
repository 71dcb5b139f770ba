"""How large a run is: its batches, its parameters and the memory that a step takes."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from transduce.batches import Batching, Indices, padded_tokens, padding, split, target_tokens
from transduce.config import Config, TrainConfig
from transduce.model import Transformer, count_parameters
from transduce.model.operations import training_operations
from transduce.store import Lengths, Store

PROCESS = 350 * 2**20  # bytes that the program takes before it has a network
SCATTERED = 1.8  # times its activations are what a step takes, since freed memory is kept


@dataclass(frozen=True)
class Plan:
    """The batches of the first epoch, as training computes them."""

    batches: list[Indices]
    parts: int  # in which each batch is computed, one after the other
    micro_batches: list[Indices]  # all of these parts


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


def plan_of(store: Store, settings: TrainConfig) -> Plan:
    """The first epoch's batches; every other epoch has about as many."""
    batching = Batching(store, settings)
    batches, parts = batching.epoch(0), batching.micro_batches
    micro_batches = [
        part for batch in batches for part in split(batch, parts, store.lengths) if len(part)
    ]
    return Plan(batches, parts, micro_batches)


def batching_of(plan: Plan, store: Store, config: Config) -> Epoch:
    settings, count = config.train, len(plan.batches)
    tokens = sum(target_tokens(store, batch) for batch in plan.batches)
    return Epoch(
        batches=count,
        sentences=len(store) / count,
        source_tokens=int(store.lengths[0].sum()) / count,
        target_tokens=tokens / count,
        parts=plan.parts,
        padding=padding(plan.micro_batches, store.lengths),
        operations=training_operations(config.model, *store.lengths) / count,
        steps=settings.steps,
        epochs=settings.steps / count,
        checkpoints=math.ceil(settings.steps / settings.checkpoint_steps),
    )


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
class Network:
    """The model that would be trained."""

    parameters: int
    memory: Memory


def network_of(config: Config, plan: Plan, store: Store) -> Network:
    """Of the real modules, on the meta device: shapes without memory or time."""
    with torch.device("meta"):
        model = Transformer(config.model).train()
    parameters = count_parameters(model)
    weights = 4 * parameters
    average = weights if config.train.ema else 0
    largest = max(plan.micro_batches, key=lambda part: padded_tokens(part, store.lengths))
    longest = max(plan.micro_batches, key=lambda part: _longest(store, part))
    activations = max(_activations(model, store, part) for part in (largest, longest))
    held = 4 * weights + average + activations
    settings = config.train
    kept = min(
        max(settings.keep, settings.average),
        math.ceil(settings.steps / settings.checkpoint_steps),
    )
    checkpoint = 3 * weights + average
    memory = Memory(
        weights=weights,
        gradients=weights,
        moments=2 * weights,
        moving_average=average,
        activations=activations,
        estimated_peak=PROCESS + held + int((SCATTERED - 1) * activations),
        checkpoint=checkpoint,
        checkpoints=kept * checkpoint + weights,  # and the model
    )
    return Network(parameters, memory)


def _longest(store: Store, part: Indices) -> int:
    return max(int(side[part].max()) for side in store.lengths)


def _activations(model: Transformer, store: Store, part: Indices) -> int:
    """The bytes that autograd keeps of a forward pass of these sentences."""
    own = {parameter.untyped_storage()._cdata for parameter in model.parameters()}
    kept: dict[int, torch.UntypedStorage] = {}

    def note(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in own:
            kept[storage._cdata] = storage  # held, so that its address is not used again
        return tensor

    def shape(lengths: Lengths) -> Tensor:
        width = int(lengths[part].max())
        return torch.empty(len(part), width, dtype=torch.long, device="meta")

    source, target = map(shape, store.lengths)
    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        model.decode_states(target, model.encode(source))
    return sum(storage.nbytes() for storage in kept.values())
