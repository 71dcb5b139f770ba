"""How long a run would take here, from a few of its own steps."""

import os
import time
from dataclasses import dataclass

import torch

from transduce.batches import Indices, target_tokens
from transduce.check.sizes import Plan
from transduce.config import Config
from transduce.machine import matmul_peak, peak_memory
from transduce.model import build_network
from transduce.store import Store
from transduce.train.objective import Gradient, precision, seed_step
from transduce.train.processes import Processes
from transduce.train.state import Learner

SECONDS = 10.0  # spent on timing
MOST_STEPS = 40
LONGEST_STEP = 1.0  # seconds; of a batch that takes longer, some sentences are timed
PROBE = 512  # tokens a side that are tried first


@dataclass(frozen=True)
class Timing:
    """Measured on real batches of this corpus with the real network."""

    device: str
    threads: int
    busy: bool  # whether other programs had been using the machine
    steps_timed: int
    share_timed: float  # of a batch, where a whole one takes too long
    seconds_per_step: float
    tokens_per_second: float  # target tokens
    hours: float  # all steps, but no validation
    machine_flops: float  # a second, of a large matrix product
    peak_memory: int | None  # bytes; None where no whole step was run


def is_busy() -> bool:
    """Whether other programs have lately used half of this machine."""
    return os.getloadavg()[0] > (os.cpu_count() or 1) / 2


def time_steps(
    config: Config, store: Store, plan: Plan, processes: Processes, busy: bool
) -> Timing:
    """Runs steps as training does, for some seconds."""
    settings, device = config.train, processes.device
    seed_step(settings.seed, 0, 0, 0)
    learner = Learner(build_network(config.model).to(device), settings)
    learner.model.train()
    # compiling takes longer than all of this
    gradient = Gradient(learner.model, settings.replace(compile=False), processes, plan.parts)

    def seconds_of(batch: Indices) -> tuple[float, float]:
        """Of the gradient, and of the update."""
        began = time.perf_counter()
        gradient.of(store, batch)
        done = time.perf_counter()
        learner.update(0.0)
        if device.type == "cuda":
            torch.cuda.synchronize()
        return done - began, time.perf_counter() - done

    began = time.perf_counter()
    first = plan.batches[0]  # sorted by length, as all are
    probe = first[:: max(1, target_tokens(store, first) // PROBE)]
    seconds_of(probe)  # the first is always slow
    tries = [seconds_of(probe)[0]]
    while len(tries) < 5 and time.perf_counter() - began < SECONDS / 3:
        tries.append(seconds_of(probe)[0])
    per_token, updates = [seconds / target_tokens(store, probe) for seconds in tries], []
    largest = max(plan.batches, key=lambda batch: target_tokens(store, batch))
    tokens = target_tokens(store, largest)
    every = max(1, min(round(tokens * min(per_token) / LONGEST_STEP), tokens // PROBE))
    if every == 1:
        per_token = []  # whole steps tell more
    for batch in [largest, *plan.batches][:MOST_STEPS]:
        some = batch[::every]
        spent, update = seconds_of(some)
        per_token.append(spent / target_tokens(store, some))
        updates.append(update)
        if time.perf_counter() - began > SECONDS:
            break
    mean = sum(target_tokens(store, batch) for batch in plan.batches) / len(plan.batches)
    seconds = mean * quartile(per_token) + quartile(updates)
    return Timing(
        device=device.type,
        threads=torch.get_num_threads(),
        busy=busy,
        steps_timed=len(updates),
        share_timed=1 / every,
        seconds_per_step=seconds,
        tokens_per_second=mean / seconds,
        hours=settings.steps * seconds / 3600,
        machine_flops=matmul_peak(device, precision(settings.precision, device)),
        peak_memory=peak_on(device) if every == 1 else None,
    )


def quartile(values: list[float]) -> float:
    """What a quarter of the values stays below: other programs can only make a step slower."""
    return sorted(values)[len(values) // 4]


def peak_on(device: torch.device) -> int:
    """The most bytes that this process has held at once, on the device that it computes on."""
    on_gpu = device.type == "cuda"
    return int(torch.cuda.max_memory_allocated(device)) if on_gpu else peak_memory()
