"""§5.3, §5.4: the loss and the learning rate."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from transduce import loss
from transduce.loss import sequence_loss
from transduce.schedule import learning_rate

PAD = 0


def example(batch=3, length=5, d_model=6, vocab=11, dtype=torch.float64):
    states = torch.randn(batch, length, d_model, dtype=dtype, requires_grad=True)
    weight = torch.randn(vocab, d_model, dtype=dtype, requires_grad=True)
    bias = torch.randn(vocab, dtype=dtype, requires_grad=True)
    target = torch.randint(1, vocab, (batch, length))
    target[1, 3:] = PAD
    target[2, 1:] = PAD
    return states, target, weight, bias


def plain_loss(states, target, weight, bias, smoothing):
    """−Σ q log p, written out: 1 − ε on the gold token and ε/(V − 1) on every other."""
    log_p = (states @ weight.T + (0 if bias is None else bias)).log_softmax(-1)
    vocab = weight.shape[0]
    q = torch.full_like(log_p, smoothing / (vocab - 1))
    q.scatter_(-1, target[..., None], 1 - smoothing)
    return -(q * log_p).sum(-1)[target != PAD].sum()


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.2])
@pytest.mark.parametrize("with_bias", [True, False])
@pytest.mark.parametrize("rows", [1, 4, 10_000])
def test_loss_and_gradients_equal_the_formula(smoothing, with_bias, rows, monkeypatch) -> None:
    monkeypatch.setattr(loss, "ROWS", rows)
    states, target, weight, bias = example()
    leaves = [states, weight, bias] if with_bias else [states, weight]
    bias = bias if with_bias else None
    ours = sequence_loss(states, target, weight, bias, smoothing, PAD)
    expected = plain_loss(states, target, weight, bias, smoothing)
    torch.testing.assert_close(ours.smoothed, expected)
    assert ours.tokens == int((target != PAD).sum())
    found = torch.autograd.grad(3 * ours.smoothed, leaves)
    wanted = torch.autograd.grad(3 * expected, leaves)
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b)


def test_a_token_whose_probability_underflows_has_its_true_loss_and_gradient() -> None:
    states, target, weight, bias = example(dtype=torch.float32)
    with torch.no_grad():
        states *= 200  # differences of logits of hundreds: e⁻²⁰⁰ is 0 in float32
    ours = sequence_loss(states, target, weight, bias, 0.1, PAD)
    expected = plain_loss(states, target, weight, bias, 0.1)
    torch.testing.assert_close(ours.smoothed, expected)
    found = torch.autograd.grad(ours.smoothed, [states, weight, bias])
    wanted = torch.autograd.grad(expected, [states, weight, bias])
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


def test_the_reported_nll_has_no_label_smoothing() -> None:
    states, target, weight, bias = example(dtype=torch.float32)
    for smoothing in (0.0, 0.1, 0.3):
        ours = sequence_loss(states, target, weight, bias, smoothing, PAD)
        logits = (states @ weight.T + bias).flatten(0, 1)
        plain = F.cross_entropy(logits, target.flatten(), ignore_index=PAD, reduction="sum")
        torch.testing.assert_close(ours.nll, plain)


def test_a_perfect_prediction_costs_the_entropy_of_the_smoothed_target() -> None:
    """The floor for ε = 0.1: 0.519674 nats at V = 8."""
    gold, epsilon, vocab = 0.9, 0.1, 8
    q = torch.full((vocab,), epsilon / (vocab - 1))
    q[3] = gold
    states = q.log()[None, None]
    weight = torch.eye(vocab)
    ours = sequence_loss(states, torch.tensor([[3]]), weight, None, epsilon, PAD)
    assert float(ours.smoothed) == pytest.approx(0.519674, abs=1e-6)


@pytest.mark.parametrize("rows", [2, 4, 10_000])
def test_r_drop_adds_half_the_divergence_of_a_tokens_two_distributions(rows, monkeypatch) -> None:
    monkeypatch.setattr(loss, "ROWS", rows)
    states, target, weight, bias = example()
    states = torch.randn(6, *states.shape[1:], dtype=states.dtype, requires_grad=True)
    leaves = [states, weight, bias]
    twice = target.repeat(2, 1)
    ours = sequence_loss(states, twice, weight, bias, 0.1, PAD, consistency=5.0)
    first, second = (states @ weight.T + bias).log_softmax(-1).chunk(2)
    both_ways = F.kl_div(first, second, reduction="none", log_target=True) + F.kl_div(
        second, first, reduction="none", log_target=True
    )
    expected = plain_loss(states, twice, weight, bias, 0.1)
    expected = expected + 5.0 / 2 * both_ways.sum(-1)[target != PAD].sum()
    torch.testing.assert_close(ours.smoothed, expected)
    torch.testing.assert_close(ours.nll, plain_loss(states, twice, weight, bias, 0.0))
    found = torch.autograd.grad(3 * ours.smoothed, leaves)
    wanted = torch.autograd.grad(3 * expected, leaves)
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b)


@given(seed=st.integers(0, 2**31), cut=st.integers(1, 2))
def test_losses_of_micro_batches_add_up_to_that_of_the_batch(seed, cut) -> None:
    torch.manual_seed(seed)
    states, target, weight, bias = example()
    parts = [
        sequence_loss(states[rows], target[rows], weight, bias, 0.1, PAD)
        for rows in (slice(0, cut), slice(cut, None))
    ]
    whole = sequence_loss(states, target, weight, bias, 0.1, PAD)
    torch.testing.assert_close(parts[0].smoothed + parts[1].smoothed, whole.smoothed)
    assert parts[0].tokens + parts[1].tokens == whole.tokens


def test_bfloat16_autocast_gives_nearly_the_same_loss_and_gradients() -> None:
    states, target, weight, bias = example(d_model=16, dtype=torch.float32)
    exact = sequence_loss(states, target, weight, bias, 0.1, PAD)
    wanted = torch.autograd.grad(exact.smoothed, [states, weight, bias])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = sequence_loss(states, target, weight, bias, 0.1, PAD)
    found = torch.autograd.grad(rough.smoothed, [states, weight, bias])
    torch.testing.assert_close(rough.smoothed, exact.smoothed, rtol=0.02, atol=0.02)
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == torch.float32
        torch.testing.assert_close(a, b, rtol=0.05, atol=0.05)


def test_without_gradients_none_are_computed() -> None:
    states, target, weight, bias = example()
    with torch.no_grad():
        ours = sequence_loss(states, target, weight, bias, 0.1, PAD)
    assert not ours.smoothed.requires_grad


def test_the_schedule_is_equation_3() -> None:
    for step in (1, 100, 3999, 4000, 4001, 100_000):
        expected = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
        assert learning_rate(step, 512) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("d_model", "step", "value"),
    [
        (512, 4000, 6.987712e-4),
        (1024, 4000, 4.941059e-4),
        (512, 1, 1.746928e-7),
        (1024, 1, 1.235265e-7),
        (512, 100_000, 1.397542e-4),
        (1024, 300_000, 5.705443e-5),
    ],
)
def test_the_schedule_has_the_known_values_of_base_and_big(d_model, step, value) -> None:
    assert learning_rate(step, d_model) == pytest.approx(value, rel=1e-6)


def test_the_rate_rises_to_the_end_of_warm_up_and_falls_after_it() -> None:
    rates = [learning_rate(step, 512, 100) for step in range(1, 1000)]
    peak = max(range(len(rates)), key=rates.__getitem__)
    assert peak == 99
    assert rates[:100] == sorted(rates[:100])
    assert rates[100:] == sorted(rates[100:], reverse=True)
    assert learning_rate(7, 512, 100, factor=3.0) == pytest.approx(3 * rates[6])
    assert math.isclose(rates[399], rates[99] / 2)
