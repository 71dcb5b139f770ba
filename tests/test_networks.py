"""The recurrent and the convolutional network and the language model: what the Transformer's tests
check, and that they learn.
"""

import subprocess
import sys
import time

import digits
import numpy as np
import pytest
import torch
from click.testing import CliRunner
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from transduce.batches import Batch
from transduce.cli import main
from transduce.config import ModelConfig, resolve
from transduce.errors import ConfigError
from transduce.model import KINDS, Network, build_network, count_parameters
from transduce.search import PAPER
from transduce.search.beam import beam_search
from transduce.shapes import parameter_shapes

PAD, BOS, EOS = 0, 1, 2
SMALL = {"vocab_size": 19, "d_model": 16, "d_ff": 24, "n_heads": 4, "n_layers": 2}
VARIANTS: dict[str, dict[str, object]] = {
    "recurrent": {"kind": "recurrent", "d_recurrent": 12},
    "recurrent, depths of their own": {
        "kind": "recurrent",
        "d_recurrent": 10,
        "n_encoder_layers": 1,
        "n_decoder_layers": 3,
    },
    "recurrent, untied": {"kind": "recurrent", "d_recurrent": 12, "share_embeddings": "none"},
    "convolutional": {"kind": "convolutional", "positions": "learned"},
    "convolutional, kernel 4, sinusoids": {"kind": "convolutional", "kernel": 4},
    "convolutional, kernel 1": {"kind": "convolutional", "kernel": 1, "output_bias": True},
    "convolutional, two vocabularies": {
        "kind": "convolutional",
        "share_embeddings": "target",
        "target_vocab_size": 17,
    },
    "language model": {"kind": "lm", "norm": "pre", "positions": "learned", "activation": "gelu"},
    "language model, post-norm, untied": {"kind": "lm", "share_embeddings": "none"},
}


@pytest.fixture(params=VARIANTS.values(), ids=list(VARIANTS))
def model(request) -> Network:
    torch.manual_seed(1)
    network = build_network(ModelConfig(**{**SMALL, **request.param})).double().eval()
    for parameter in network.parameters():  # biases too, so that errors in them are found
        torch.nn.init.normal_(parameter, std=0.5)
    return network


def tokens(batch: int, length: int) -> Tensor:
    return torch.randint(3, 17, (batch, length))


def assert_equal(a: Tensor, b: Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=0, atol=1e-9)


def test_decoding_step_by_step_gives_the_logits_of_one_pass(model) -> None:
    """Also when hypotheses are reordered, and when several of them share a source."""
    source, target = tokens(3, 8), tokens(3, 7)
    source[1, 5:] = PAD
    whole = model(source, target)
    state = model.start(source)
    for t in range(7):
        logits, state = model.step(target[:, t], state)
        assert_equal(logits, whole[:, t])
        if t == 2:
            kept = torch.tensor([2, 0])
            state = state.select(torch.tensor([2, 2, 0, 0]), kept)
            target, whole = target[[2, 2, 0, 0]], whole[[2, 2, 0, 0]]


def test_padding_changes_nothing(model) -> None:
    source, target = tokens(2, 6), tokens(2, 5)
    padded_source = torch.cat([source, torch.full((2, 9), PAD)], dim=1)
    padded_target = torch.cat([target, torch.full((2, 4), PAD)], dim=1)
    assert_equal(model(padded_source, padded_target)[:, :5], model(source, target))


def test_an_empty_source_gives_numbers_that_padding_does_not_change(model) -> None:
    target = tokens(1, 4)
    short = model(torch.full((1, 2), PAD), target)
    assert torch.isfinite(short).all()
    assert_equal(model(torch.full((1, 7), PAD), target), short)


def test_the_decoder_cannot_see_the_future(model) -> None:
    source, target = tokens(1, 6), tokens(1, 8)
    before = model(source, target)
    for t in range(1, 8):
        changed = target.clone()
        changed[0, t] = 3 + (changed[0, t] - 2) % 14
        after = model(source, changed)
        assert torch.equal(after[:, :t], before[:, :t])
        assert not torch.allclose(after[:, t], before[:, t])


def test_the_last_token_sees_every_source_token_and_a_language_model_none(model) -> None:
    source, target = tokens(1, 6), tokens(1, 3)
    before = model(source, target)
    for s in range(6):
        changed = source.clone()
        changed[0, s] = 3 + (changed[0, s] - 2) % 14
        same = torch.allclose(model(changed, target)[:, -1], before[:, -1])
        assert same == (model.config.kind == "lm")


def test_permuting_the_batch_permutes_the_result(model) -> None:
    source, target = tokens(5, 6), tokens(5, 4)
    source[2, 3:] = PAD
    order = torch.tensor([3, 0, 4, 1, 2])
    assert_equal(model(source[order], target[order]), model(source, target)[order])


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_of_a_batch_is_the_cross_entropy_of_its_logits(model, smoothing) -> None:
    source, target = tokens(3, 8), tokens(3, 7)
    target[1, 4:] = PAD
    begin = torch.full((3, 1), BOS)
    batch = Batch(source, torch.cat([begin, target[:, :-1]], dim=1), target)
    loss = model.loss(batch, smoothing)
    log_probs = model(batch.source, batch.target_in).log_softmax(-1)[target != PAD]
    gold, rest = target[target != PAD], smoothing / (log_probs.shape[1] - 1)
    q = torch.full_like(log_probs, rest).scatter(1, gold[:, None], 1 - smoothing)
    assert_equal(loss.smoothed, -(q * log_probs).sum())


def test_attention_weights_are_distributions_over_the_tokens(model) -> None:
    source, target = tokens(2, 6), tokens(2, 5)
    source[1, 4:] = PAD
    maps = model.attention_maps(source, target)
    assert not maps.encoder
    if model.config.kind == "lm":
        assert not maps.cross
        assert not any(weights.triu(1).any() for weights in maps.decoder)
    else:
        assert not maps.decoder
        assert not any(weights[1, :, :, 4:].any() for weights in maps.cross)
    for weights in maps.decoder + maps.cross:
        assert_equal(weights.sum(-1), torch.ones_like(weights.sum(-1)))


def test_gradients_reach_every_parameter(model) -> None:
    model.train()
    model(tokens(4, 9), tokens(4, 8)).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.any(), name


def test_names_and_shapes_are_known_from_the_settings(model) -> None:
    """A model directory is verified with them before any memory is allocated."""
    found = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    assert parameter_shapes(model.config) == found


def test_the_operations_are_those_of_the_executed_matrix_products(model, monkeypatch) -> None:
    """Torch's own counter, which knows neither LSTMs nor the CPU's fused attention."""
    if model.config.kind == "recurrent":
        return
    monkeypatch.setattr("transduce.model.attention.fused_is_faster", lambda q, k: False)
    source, target = tokens(1, 7), tokens(1, 5)
    model.float()
    with FlopCounterMode(display=False) as counter:
        model(source, target).sum().backward()
    counted, ours = counter.get_total_flops(), model.operations(np.array([7]), np.array([5]))
    assert ours == pytest.approx(counted, rel=1e-3)


@pytest.mark.parametrize("preset", ["tiny-recurrent", "tiny-convolutional"])
def test_the_networks_that_are_compared_have_as_many_parameters_as_tiny(preset) -> None:
    tiny, other = (build_network(resolve(name).model) for name in ("tiny", preset))
    assert count_parameters(other) == pytest.approx(count_parameters(tiny), rel=0.02)


def test_only_the_gradient_of_the_encoder_is_scaled() -> None:
    """ConvS2S: what the decoder's layers send back to the encoder, divided by twice their number,
    is the same for any number of them.
    """
    from transduce.model.convolutional import scale_gradient

    x = torch.randn(3, requires_grad=True)
    y = scale_gradient(x, 0.25)
    assert torch.equal(y, x)
    y.sum().backward()
    assert torch.equal(x.grad, torch.full((3,), 0.25))


@pytest.mark.parametrize("reverse", [False, True], ids=["copy", "reverse"])
@pytest.mark.parametrize("kind", ["recurrent", "convolutional"])
def test_it_learns_to_copy_and_to_reverse_digits(kind, reverse) -> None:
    torch.manual_seed(torch.seed() % 2**31)
    shape = {"d_model": 32, "d_recurrent": 64, "n_layers": 1 if kind == "recurrent" else 2}
    config = ModelConfig(
        kind=kind, vocab_size=13, positions="learned", scale_embeddings=False, p_drop=0.0, **shape
    )
    model = build_network(config)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    # with a constant rate the loss may jump in the last steps
    decay = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: min(1.0, 2 - step / 125))
    for _ in range(250):
        optimiser.zero_grad()
        loss = model.loss(numbers(48, reverse), 0.0)
        (loss.smoothed / loss.tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        decay.step()
    model.eval()
    test = numbers(50, reverse)
    with torch.inference_mode():
        begin = torch.full((50,), BOS)
        found = beam_search(model.step, model.start(test.source), begin, EOS, [9] * 50, PAPER)
    wanted = [tuple(row[row > EOS].tolist()) for row in test.target_out]
    right = sum(best[0].tokens == gold for best, gold in zip(found, wanted, strict=True))
    assert right >= 45


def numbers(count: int, reverse: bool) -> Batch:
    """Numbers of one to four digits, and the same or reversed."""
    lengths = torch.randint(1, 5, (count,))
    rows = [torch.randint(3, 13, (int(length),)) for length in lengths]

    def padded(rows: list[Tensor]) -> Tensor:
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)

    begin, end = torch.tensor([BOS]), torch.tensor([EOS])
    targets = [row.flip(0) if reverse else row for row in rows]
    return Batch(
        padded([torch.cat([row, end]) for row in rows]),
        padded([torch.cat([begin, row]) for row in targets]),
        padded([torch.cat([row, end]) for row in targets]),
    )


SHORT = ["train.steps=8", "train.checkpoint_steps=2", "train.validate_steps=3"]
KIND = {
    "recurrent": ["model.kind=recurrent", "model.d_recurrent=16", "train.schedule=plateau"],
    "convolutional": ["model.kind=convolutional", "model.positions=learned", "train.clip_norm=0.1"],
}


@pytest.fixture(scope="module", params=list(KIND))
def run_twice(request, tmp_path_factory):
    """A run, and one that was killed and continued; with the words of their command."""
    folder = tmp_path_factory.mktemp(request.param)
    train = digits.write(folder / "train.tsv", digits.pairs(300, seed=1))
    valid = digits.write(folder / "valid.tsv", digits.pairs(20, seed=2))
    settings = digits.settings(*digits.SMALL, *SHORT, *KIND[request.param])
    words = ["--train", str(train), "--valid", str(valid), *settings]
    killed, whole = folder / "killed", folder / "whole"
    command = [sys.executable, "-m", "transduce", "train", str(killed), *words]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while process.poll() is None and not list(killed.glob("checkpoints/step-*")):
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert list(killed.glob("checkpoints/step-*"))
    for run in (whole, killed):
        result = CliRunner().invoke(main, ["train", str(run), *words])
        assert result.exit_code == 0, result.output
    return whole, killed, result.output


def test_a_killed_run_ends_with_the_same_weights(run_twice) -> None:
    whole, killed, output = run_twice
    assert "continuing from step" in output
    weights = [run / "model" / "model.safetensors" for run in (whole, killed)]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def test_ctranslate2_says_that_it_cannot_run_it_and_torch_translates(run_twice) -> None:
    model = str(run_twice[0] / "model")
    text = ["translate", "1 2 3", "--model", model]
    refused = CliRunner().invoke(main, [*text, "--engine", "ctranslate2"])
    assert refused.exit_code == 2
    assert "cannot be expressed as a CTranslate2 model" in refused.output
    done = CliRunner().invoke(main, [*text, "--json", "--alignments"])
    assert done.exit_code == 0
    assert "CTranslate2 cannot run this model, using torch: model.kind" in done.stderr
    assert '"alignment"' in done.stdout
    info = CliRunner().invoke(main, ["info", model])
    assert "engine torch" in info.output


def test_an_unknown_kind_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"model\.kind"):
        ModelConfig(kind="recurent")


def test_every_kind_has_a_network_and_shapes() -> None:
    assert set(KINDS) == set(ModelConfig.model_fields["kind"].annotation.__args__)


def test_an_odd_width_has_no_two_directions() -> None:
    with pytest.raises(ConfigError, match=r"model\.d_recurrent = 11 is odd"):
        ModelConfig(kind="recurrent", d_recurrent=11)
