"""§3: properties of the Transformer, in every configuration it can have."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from transduce.batches import Batch
from transduce.config import TABLE_3, ModelConfig
from transduce.errors import InputError
from transduce.model import Network, Transformer, build_network, count_parameters
from transduce.model.dropout import Dropout
from transduce.positions import sinusoids

PAD = 0
BASE = {"vocab_size": 23, "d_model": 16, "d_ff": 24, "n_heads": 4, "n_layers": 2}
VARIANTS: dict[str, dict[str, object]] = {
    "paper": {},
    "pre-norm": {"norm": "pre"},
    "one head": {"n_heads": 1},
    "d_k and d_v of their own": {"d_k": 3, "d_v": 7},
    "depths of their own": {"n_encoder_layers": 3, "n_decoder_layers": 1},
    "learned positions": {"positions": "learned"},
    "tensor2tensor positions": {"positions": "sinusoidal-tensor2tensor"},
    "untied": {"share_embeddings": "none"},
    "two-way tied, two vocabularies": {"share_embeddings": "target", "target_vocab_size": 19},
    "gelu, output bias, no attention bias": {
        "activation": "gelu",
        "output_bias": True,
        "attention_bias": False,
    },
    "unscaled": {"attention": "unscaled"},
    "additive": {"attention": "additive"},
    "restricted": {"neighbourhood": 3},
    "restricted additive": {"neighbourhood": 3, "attention": "additive"},
}


def build(**changes: object) -> Transformer:
    model = Transformer(ModelConfig(**{**BASE, **changes})).double().eval()
    for parameter in model.parameters():  # biases too, so that errors in them are found
        torch.nn.init.normal_(parameter, std=0.5)
    return model


def tokens(batch: int, length: int, vocab: int = 19) -> Tensor:
    return torch.randint(3, vocab, (batch, length))


def assert_equal(a: Tensor, b: Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=0, atol=1e-9)


@pytest.fixture(params=VARIANTS.values(), ids=list(VARIANTS))
def model(request) -> Transformer:
    torch.manual_seed(1)
    return build(**request.param)


def test_decoding_step_by_step_gives_the_logits_of_one_pass(model) -> None:
    """`start` and `step`, also when hypotheses are reordered in between."""
    source, target = tokens(3, 8), tokens(3, 7)
    whole = model(source, target)
    state, order = model.start(source), torch.tensor([2, 0])
    for t in range(7):
        logits, state = model.step(target[:, t], state)
        assert_equal(logits, whole[:, t])
        if t == 3:
            state = state.select(order, order)
            target, whole = target[order], whole[order]


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_of_a_batch_is_the_cross_entropy_of_its_logits(model, smoothing) -> None:
    source, target = tokens(3, 8), tokens(3, 7)
    target[1, 4:] = PAD
    begin = torch.full((3, 1), model.config.bos_id)
    batch = Batch(source, torch.cat([begin, target[:, :-1]], dim=1), target)
    loss = model.loss(batch, smoothing)
    log_probs = model(batch.source, batch.target_in).log_softmax(-1)[target != PAD]
    gold, rest = target[target != PAD], smoothing / (log_probs.shape[1] - 1)
    q = torch.full_like(log_probs, rest).scatter(1, gold[:, None], 1 - smoothing)
    assert_equal(loss.smoothed, -(q * log_probs).sum())
    assert_equal(loss.nll, -log_probs.gather(1, gold[:, None]).sum())
    assert loss.tokens == len(gold)


def test_a_network_is_built_by_its_kind() -> None:
    network = build_network(ModelConfig(**BASE, kind="transformer"))
    assert isinstance(network, Network)
    assert isinstance(network, Transformer)


def test_positions_are_cached_in_the_dtype_of_the_weights_and_not_computed_again(
    monkeypatch,
) -> None:
    embedding = Transformer(ModelConfig(**BASE)).target_embedding
    single = embedding.encoding(0, 40)
    assert single.dtype == torch.float32
    double = embedding.double().encoding(0, 40)
    torch.testing.assert_close(double, torch.from_numpy(sinusoids(0, 40, 16)), rtol=0, atol=0)
    assert torch.equal(double.float(), single)
    with monkeypatch.context() as patch:
        patch.setattr("transduce.model.embedding.sinusoids", None)
        assert torch.equal(embedding.encoding(3, 5), double[3:8])
    assert torch.equal(embedding.encoding(0, 300), torch.from_numpy(sinusoids(0, 300, 16)))


def test_positions_cached_in_inference_can_be_used_in_training() -> None:
    embedding = Transformer(ModelConfig(**BASE)).target_embedding
    with torch.inference_mode():
        embedding(tokens(1, 5))
    embedding(tokens(1, 5)).sum().backward()
    assert embedding.weight.grad is not None


def test_one_token_at_a_time_equals_all_at_once(model) -> None:
    source, target = tokens(3, 8), tokens(3, 7)
    memory = model.encode(source)
    whole, _ = model.decode(target, memory)
    cache, steps = None, []
    for t in range(7):
        logits, cache = model.decode(target[:, t : t + 1], memory, cache)
        steps.append(logits)
    assert_equal(torch.cat(steps, dim=1), whole)
    assert cache.length == 7


@pytest.mark.parametrize("cut", [1, 3, 6])
def test_a_cached_continuation_equals_decoding_from_the_start(model, cut) -> None:
    source, target = tokens(2, 5), tokens(2, 7)
    memory = model.encode(source)
    _, cache = model.decode(target[:, :cut], memory)
    rest, _ = model.decode(target[:, cut:], memory, cache)
    assert_equal(rest, model.decode(target, memory)[0][:, cut:])


def test_padding_changes_nothing(model) -> None:
    source, target = tokens(2, 6), tokens(2, 5)
    padded_source = torch.cat([source, torch.full((2, 9), PAD)], dim=1)
    padded_target = torch.cat([target, torch.full((2, 4), PAD)], dim=1)
    assert_equal(model(padded_source, padded_target)[:, :5], model(source, target))


def test_the_decoder_cannot_see_the_future(model) -> None:
    source, target = tokens(1, 6), tokens(1, 8)
    before = model(source, target)
    for t in range(1, 8):
        changed = target.clone()
        changed[0, t] = 3 + (changed[0, t] - 2) % 16
        after = model(source, changed)
        assert torch.equal(after[:, :t], before[:, :t])
        assert not torch.allclose(after[:, t:], before[:, t:])


def test_every_source_token_reaches_the_output(model) -> None:
    source, target = tokens(1, 6), tokens(1, 3)
    before = model(source, target)
    for s in range(6):
        changed = source.clone()
        changed[0, s] = 3 + (changed[0, s] - 2) % 16
        assert not torch.allclose(model(changed, target), before)


def test_permuting_the_batch_permutes_the_result(model) -> None:
    source, target = tokens(5, 6), tokens(5, 4)
    order = torch.tensor([3, 0, 4, 1, 2])
    assert_equal(model(source[order], target[order]), model(source, target)[order])


def test_selecting_rows_of_a_cache_continues_those_rows(model) -> None:
    source, target = tokens(3, 6), tokens(3, 5)
    rows = torch.tensor([2, 2, 0])
    memory = model.encode(source)
    _, cache = model.decode(target[:, :4], memory)
    ours, _ = model.decode(target[rows, 4:], memory.select(rows), cache.select(rows, rows))
    assert_equal(ours, model(source[rows], target[rows])[:, 4:])


def test_attention_maps_are_the_weights_the_model_used(model) -> None:
    """Each row is a distribution, and it is zero at masked keys."""
    source, target = tokens(2, 6), tokens(2, 5)
    source[1, 4:] = PAD
    maps = model.attention_maps(source, target)
    assert (len(maps.encoder), len(maps.decoder)) == (len(model.encoder), len(model.decoder))
    for weights in maps.encoder + maps.decoder + maps.cross:
        total = weights.sum(-1)[:, :, :4]  # not the rows of padding
        assert_equal(total, torch.ones_like(total))
    assert not any(weights[1, :, :, 4:].any() for weights in maps.encoder + maps.cross)
    assert not any(weights.triu(1).any() for weights in maps.decoder)


def test_an_empty_source_gives_numbers_that_padding_does_not_change(model) -> None:
    target = tokens(1, 4)
    short = model(torch.full((1, 2), PAD), target)
    assert torch.isfinite(short).all()
    assert_equal(model(torch.full((1, 7), PAD), target), short)


def test_gradients_reach_every_parameter(model) -> None:
    model.train()
    model(tokens(4, 9), tokens(4, 8)).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.any(), name


@given(seed=st.integers(0, 2**31))
def test_other_sentences_in_the_batch_change_nothing(seed) -> None:
    torch.manual_seed(seed)
    model = build()
    source, target = tokens(4, 7), tokens(4, 6)
    lengths = torch.randint(1, 8, (4,))
    source[torch.arange(7) >= lengths[:, None]] = PAD
    alone = model(source[:1, : lengths[0]], target[:1])
    assert_equal(model(source, target)[:1], alone)


def test_sequences_longer_than_any_seen_in_training_work() -> None:
    model = build()
    assert torch.isfinite(model(tokens(1, 1500), tokens(1, 1300))).all()


def test_a_sequence_longer_than_the_learned_positions_is_an_error() -> None:
    model = build(positions="learned", max_positions=10)
    with pytest.raises(InputError, match="a sequence of 11 tokens is longer than this model's 10"):
        model(tokens(1, 11), tokens(1, 2))


@pytest.mark.parametrize("wrong", [23, -1])
def test_ids_outside_the_models_vocabulary_are_an_error(wrong) -> None:
    model = build()
    source = tokens(2, 4)
    source[1, 2] = wrong
    with pytest.raises(InputError, match=f"token id {wrong} is outside the vocabulary of 23"):
        model(source, tokens(2, 3))
    with pytest.raises(InputError, match=f"token id {wrong} is outside the vocabulary of 23"):
        model(tokens(2, 3), source)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_any_dtype_works(dtype) -> None:
    model = build().to(dtype)
    logits = model(tokens(2, 5), tokens(2, 4))
    assert logits.dtype == dtype
    assert torch.isfinite(logits).all()


def test_all_three_embeddings_are_one_matrix_by_default() -> None:
    """§3.4."""
    model = build()
    assert model.source_embedding.weight is model.target_embedding.weight
    assert model.output.weight is model.target_embedding.weight
    assert model.output.bias is None


def test_embeddings_are_scaled_by_the_root_of_d_model() -> None:
    """§3.4, §3.5: the sum of √d_model times the embedding and the encoding of the position."""
    model = build()
    ids = tokens(1, 6)
    embedding = model.target_embedding
    expected = embedding.weight[ids] * 4 + embedding.encoding(0, 6)
    assert_equal(embedding(ids), expected)


def test_initial_weights_are_glorot_uniform_and_embeddings_normal() -> None:
    config = ModelConfig(vocab_size=2000, d_model=256, d_ff=512, n_heads=4, d_k=16, n_layers=1)
    model = Transformer(config)
    attention = model.encoder[0].self_attention
    matrices = [
        *attention.qkv.weight.split(attention.qkv.widths),
        attention.output.weight,
        model.decoder[0].feed_forward.inner.weight,
    ]
    for weight in (matrix.detach() for matrix in matrices):
        bound = (6 / sum(weight.shape)) ** 0.5
        assert float(weight.abs().max()) <= bound
        assert float(weight.std()) == pytest.approx(bound / 3**0.5, rel=0.03)
    assert float(model.output.weight.detach().std()) == pytest.approx(256**-0.5, rel=0.02)
    assert not attention.qkv.bias.any()


@pytest.mark.parametrize("name", TABLE_3)
def test_every_row_of_table_3_is_only_a_configuration(name) -> None:
    config = ModelConfig.preset(name, vocab_size=100)
    with torch.device("meta"):
        model = Transformer(config)
        ids = torch.zeros(2, 3, dtype=torch.long)
        assert model(ids, ids).shape == (2, 3, 100)
    assert count_parameters(model) > 0


@pytest.mark.parametrize("p", [0.05, 0.1, 0.3, 0.5, 0.9])
def test_dropout_keeps_the_mean_and_drops_the_share_it_says(p) -> None:
    drop = Dropout(p).train()
    x = torch.ones(1000, 1003, requires_grad=True)
    y = drop(x)
    dropped = float((y == 0).float().mean())
    n = x.numel()
    assert dropped == pytest.approx(p, abs=1 / 512 + 5 * (p / n) ** 0.5)
    assert float(y.detach().mean()) == pytest.approx(1, abs=6 * (p / (1 - p) / n) ** 0.5)
    # every column is as likely to be dropped as any other: no bit of a draw is skewed
    by_lane = (y.flatten()[: n // 8 * 8].view(-1, 8) == 0).float().mean(0)
    assert float(by_lane.max() - by_lane.min()) < 12 * (p / (n / 8)) ** 0.5
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


def test_dropout_does_nothing_outside_training() -> None:
    x = torch.randn(5, 7)
    assert torch.equal(Dropout(0.5).eval()(x), x)


@pytest.mark.parametrize("training", [True, False])
def test_fused_dropout_and_addition_equal_the_two_operations(training) -> None:
    drop = Dropout(0.3).train(training)
    x, y = (torch.randn(7, 5, 33, dtype=torch.float64, requires_grad=True) for _ in range(2))
    torch.manual_seed(1)
    expected = x + drop(y)
    torch.manual_seed(1)
    found = drop.add(x, y)
    torch.testing.assert_close(found, expected)
    slope = torch.randn_like(x)
    for a, b in zip(
        torch.autograd.grad(found, [x, y], slope),
        torch.autograd.grad(expected, [x, y], slope),
        strict=True,
    ):
        torch.testing.assert_close(a, b)


def test_the_same_seed_gives_the_same_dropout() -> None:
    drop, x = Dropout(0.3).train(), torch.randn(64, 33)
    torch.manual_seed(5)
    first = drop(x)
    torch.manual_seed(5)
    assert torch.equal(drop(x), first)
