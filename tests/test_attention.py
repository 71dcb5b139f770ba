"""§3.2 and Table 1: attention."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional as F

from transduce.config import ModelConfig
from transduce.model import attention
from transduce.model.attention import (
    KeysValues,
    MultiHeadAttention,
    additive_scores,
    attention_weights,
    causal_mask,
    dot_product_scores,
    local_mask,
    window_attention,
)

CONFIG = ModelConfig(vocab_size=11, d_model=16, d_ff=32, n_heads=4, n_layers=2, p_drop=0.0)


def heads(batch: int, length: int, width: int, n_heads: int = 2) -> Tensor:
    return torch.randn(batch, n_heads, length, width, dtype=torch.float64)


def padding_mask(lengths: list[int], width: int) -> Tensor:
    return (torch.arange(width) < torch.tensor(lengths)[:, None])[:, None, None, :]


@given(
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    query=st.integers(1, 6),
    d_k=st.integers(1, 9),
)
def test_explicit_attention_equals_the_fused_kernel(lengths, query, d_k) -> None:
    key = max(lengths)
    q, k, v = (
        heads(len(lengths), query, d_k),
        heads(len(lengths), key, d_k),
        heads(len(lengths), key, 5),
    )
    mask = padding_mask(lengths, key)
    ours = attention_weights(q, k, mask) @ v
    fused = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    torch.testing.assert_close(ours, fused, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["scaled", "unscaled"])
def test_a_module_gives_the_same_result_with_fused_and_explicit_attention(
    kind, monkeypatch
) -> None:
    module = MultiHeadAttention(CONFIG.replace(attention=kind)).double()
    x = torch.randn(3, 6, 16, dtype=torch.float64)
    q, kv = module.project(x)
    mask = causal_mask(6, 6, x.device)
    outputs = []
    for fused in (True, False):
        monkeypatch.setattr(attention, "fused_is_faster", lambda q, k, fused=fused: fused)
        outputs.append(module.attend(q, kv, mask))
    torch.testing.assert_close(outputs[0], outputs[1], rtol=0, atol=1e-12)


def test_equation_1_holds_number_by_number() -> None:
    q, k = heads(1, 2, 3, 1), heads(1, 4, 3, 1)
    weights = attention_weights(q, k)
    for i in range(2):
        e = [
            math.exp(sum(q[0, 0, i, d] * k[0, 0, j, d] for d in range(3)) / math.sqrt(3))
            for j in range(4)
        ]
        for j in range(4):
            assert float(weights[0, 0, i, j]) == pytest.approx(e[j] / sum(e), abs=1e-12)


def test_multi_head_attention_is_the_concatenation_of_its_heads() -> None:
    """§3.2.2: every head computed separately, from its slices of the matrices."""
    config = CONFIG.replace(d_k=3, d_v=5)
    module = MultiHeadAttention(config).double()
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    x = torch.randn(2, 6, 16, dtype=torch.float64)
    weight_q, weight_k, weight_v = module.qkv.weight.split(module.qkv.widths)
    bias_q, bias_k, bias_v = module.qkv.bias.split(module.qkv.widths)
    outputs = []
    for i in range(config.n_heads):
        key, value = slice(3 * i, 3 * i + 3), slice(5 * i, 5 * i + 5)
        q = x @ weight_q[key].T + bias_q[key]
        k = x @ weight_k[key].T + bias_k[key]
        v = x @ weight_v[value].T + bias_v[value]
        outputs.append((q @ k.transpose(1, 2) / math.sqrt(3)).softmax(-1) @ v)
    expected = torch.cat(outputs, dim=-1) @ module.output.weight.T + module.output.bias
    q, kv = module.project(x)
    torch.testing.assert_close(module.attend(q, kv), expected, rtol=0, atol=1e-12)


def test_cross_attention_uses_the_same_projections_as_self_attention() -> None:
    module = MultiHeadAttention(CONFIG).double()
    x = torch.randn(2, 5, 16, dtype=torch.float64)
    q, kv = module.project(x)
    torch.testing.assert_close(module.queries(x), q, rtol=0, atol=1e-12)
    torch.testing.assert_close(module.keys_values(x).keys, kv.keys, rtol=0, atol=1e-12)
    torch.testing.assert_close(module.keys_values(x).values, kv.values, rtol=0, atol=1e-12)


def test_additive_attention_is_a_network_with_one_hidden_layer() -> None:
    q, k, w = heads(1, 2, 3), heads(1, 4, 3), torch.randn(2, 3, dtype=torch.float64)
    scores = additive_scores(q, k, w)
    for h in range(2):
        for i in range(2):
            for j in range(4):
                hidden = torch.tanh(q[0, h, i] + k[0, h, j])
                assert float(scores[0, h, i, j]) == pytest.approx(float(w[h] @ hidden))


@pytest.mark.parametrize("d_k", [4, 64, 256])
def test_the_dot_product_of_unit_variance_vectors_has_variance_d_k(d_k) -> None:
    """Footnote 4: mean 0 and variance d_k, so variance 1 after scaling by 1/√d_k."""
    n = 20_000
    q, k = torch.randn(n, 1, 1, d_k), torch.randn(n, 1, 1, d_k)
    plain = dot_product_scores(q, k, 1.0).flatten()
    scaled = dot_product_scores(q, k, 1 / math.sqrt(d_k)).flatten()
    # the standard error of a variance estimated from n samples is about variance · √(3/n)
    assert float(plain.mean()) == pytest.approx(0, abs=5 * math.sqrt(d_k / n))
    assert float(plain.var()) == pytest.approx(d_k, rel=5 * math.sqrt(3 / n))
    assert float(scaled.var()) == pytest.approx(1, rel=5 * math.sqrt(3 / n))


def test_the_fused_kernel_computes_bfloat16_in_float32_on_cpus() -> None:
    """Also under autocast; the result and the gradients are rounded once."""
    tensors = [torch.randn(2, 3, 6, 8) for _ in range(3)]
    results = {}
    for dtype in (torch.bfloat16, torch.float32):
        inputs = [t.bfloat16().to(dtype).requires_grad_() for t in tensors]
        q, k, v = inputs
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
            heads = attention.fused_attention(q, attention.KeysValues(k, v), None, 0.5)
        assert heads.dtype == dtype
        heads.sum().backward()
        results[dtype] = [heads.detach(), *(t.grad for t in inputs)]
    for half, single in zip(results[torch.bfloat16], results[torch.float32], strict=True):
        torch.testing.assert_close(half, single.bfloat16(), rtol=0, atol=0)


@pytest.mark.parametrize("fused", [True, False])
def test_a_fully_masked_row_gives_zero_and_finite_gradients(fused, monkeypatch) -> None:
    monkeypatch.setattr(attention, "fused_is_faster", lambda q, k: fused)
    module = MultiHeadAttention(CONFIG)
    x = torch.randn(2, 5, 16, requires_grad=True)
    q, kv = module.project(x)
    mask = padding_mask([5, 0], 5)
    out = module.attend(q, kv, mask)
    assert torch.equal(out[1], module.output.bias.expand(5, -1))
    out.sum().backward()
    assert torch.isfinite(x.grad).all()
    assert torch.equal(module.weights(q, kv, mask)[1], torch.zeros(4, 5, 5))


@given(
    length=st.integers(1, 20),
    neighbourhood=st.integers(1, 9),
    causal=st.booleans(),
    padding=st.integers(0, 3),
)
def test_windowed_attention_equals_full_attention_under_the_local_mask(
    length, neighbourhood, causal, padding
) -> None:
    q, k, v = heads(2, length, 4), heads(2, length, 4), heads(2, length, 3)
    mask = padding_mask([length, max(1, length - padding)], length)
    if causal:
        mask = mask & causal_mask(length, length, mask.device)
    near = mask & local_mask(length, length, neighbourhood, mask.device)
    expected = attention_weights(q, k, near) @ v
    ours = window_attention(q, KeysValues(k, v), mask, neighbourhood, 1 / 2)
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-12)


def test_restricted_attention_ignores_keys_outside_its_neighbourhood() -> None:
    mask = local_mask(9, 9, 5, torch.device("cpu"))[0, 0]
    assert mask[4].nonzero().flatten().tolist() == [2, 3, 4, 5, 6]
    assert mask[0].nonzero().flatten().tolist() == [0, 1, 2]


@pytest.mark.parametrize("length", [3, 30])
def test_a_restricted_module_gives_the_same_result_by_window_and_by_mask(length) -> None:
    module = MultiHeadAttention(CONFIG, neighbourhood=5).double()
    x = torch.randn(2, length, 16, dtype=torch.float64)
    q, kv = module.project(x)
    mask = padding_mask([length, length - 1], length)
    values = module.weights(q, kv, mask) @ kv.values
    expected = module.output(values.transpose(1, 2).reshape(2, length, -1))
    torch.testing.assert_close(module.attend(q, kv, mask), expected, rtol=0, atol=1e-12)
