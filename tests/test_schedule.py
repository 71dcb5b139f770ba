"""The schedules of the learning rate besides the paper's, and weight decay."""

from itertools import pairwise

import pytest
import torch

from transduce.config import ModelConfig, TrainConfig
from transduce.model import build_network
from transduce.schedule import learning_rate, scheduled_rate
from transduce.train.state import Learner

SMALL = ModelConfig(vocab_size=11, d_model=8, d_ff=8, n_heads=2, n_layers=1)


def rates(schedule: str, reductions: int = 0) -> list[float]:
    settings = TrainConfig(schedule=schedule, lr=0.002, warmup_steps=10, steps=110)
    return [scheduled_rate(step, 128, settings, reductions) for step in range(1, 121)]


def test_the_default_is_equation_3() -> None:
    settings = TrainConfig(warmup_steps=10, lr_factor=2.0)
    for step in (1, 10, 500):
        assert scheduled_rate(step, 128, settings, 5) == learning_rate(step, 128, 10, 2.0)


@pytest.mark.parametrize("schedule", ["plateau", "cosine"])
def test_the_warm_up_is_linear_to_the_highest_rate(schedule) -> None:
    assert rates(schedule)[:10] == pytest.approx([0.0002 * step for step in range(1, 11)])


def test_a_plateau_halves_the_rate_for_each_validation_that_is_not_better() -> None:
    assert set(rates("plateau")[10:]) == {0.002}
    assert set(rates("plateau", reductions=3)[10:]) == {0.00025}


def test_a_cosine_falls_to_a_tenth_at_the_last_step_and_stays_there() -> None:
    found = rates("cosine")[9:]
    assert all(a > b for a, b in pairwise(found[:101]))
    assert found[50] == pytest.approx(0.002 * 0.55)
    assert found[100:] == pytest.approx([0.0002] * len(found[100:]))


def test_weight_decay_shrinks_matrices_and_nothing_else() -> None:
    learner = Learner(build_network(SMALL), TrainConfig(weight_decay=0.5))
    before = {name: p.detach().clone() for name, p in learner.parameters.items()}
    for parameter in learner.parameters.values():
        parameter.grad = torch.zeros_like(parameter)
    learner.update(0.1)
    for name, parameter in learner.parameters.items():
        factor = 0.95 if parameter.dim() > 1 else 1.0
        torch.testing.assert_close(parameter.detach(), before[name] * factor)


def test_decay_needs_no_other_moments_than_adams() -> None:
    """So that a checkpoint restores both."""
    learner = Learner(build_network(SMALL), TrainConfig(weight_decay=0.5, beta2=0.99))
    for parameter in learner.parameters.values():
        parameter.grad = torch.ones_like(parameter)
    learner.update(0.1)
    assert len(learner.moments()) == 2 * len(learner.parameters)
    assert {group["betas"] for group in learner.optimisers[0].param_groups} == {(0.9, 0.99)}
