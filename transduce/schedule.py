"""§5.3: the learning rate, and two other schedules for networks that need them."""

import math

from transduce.config import TrainConfig

LAST = 0.1  # of the highest rate, at the end of a cosine
REDUCTION = 0.5  # at a plateau


def learning_rate(step: int, d_model: int, warmup_steps: int = 4000, factor: float = 1.0) -> float:
    """factor · d_model^-0.5 · min(step^-0.5, step · warmup_steps^-1.5), equation 3; from step 1."""
    return factor * d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def scheduled_rate(step: int, d_model: int, settings: TrainConfig, reductions: int) -> float:
    """The learning rate of a step by `train.schedule`; the warm-up of all three is linear.

    `reductions` is the number of validations so far that were not better than all before.
    """
    warmup, highest = settings.warmup_steps, settings.lr
    if settings.schedule == "inverse-sqrt":
        return learning_rate(step, d_model, warmup, settings.lr_factor)
    if step < warmup:
        return highest * step / warmup
    if settings.schedule == "plateau":
        return highest * REDUCTION**reductions
    done = min(1.0, (step - warmup) / max(1, settings.steps - warmup))
    return highest * (LAST + (1 - LAST) * (1 + math.cos(math.pi * done)) / 2)
