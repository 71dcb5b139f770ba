"""Training that starts from a model and adds layers to its network."""

from pathlib import Path

import digits
import models
import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load_file

from transduce.cli import main
from transduce.config import ModelConfig
from transduce.directory import ModelDirectory
from transduce.model import build_network
from transduce.train.growth import grown

SMALL = {"vocab_size": 31, "d_model": 16, "d_ff": 24, "n_heads": 2, "norm": "pre"}


def varied(config: ModelConfig):
    """A network whose biases and norms differ from their initial values too."""
    network = build_network(config).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return network


def grown_network(network, after: ModelConfig):
    weights = {name: weight.numpy() for name, weight in network.state_dict().items()}
    deeper = build_network(after).eval()
    deeper.load_state_dict(
        {name: torch.from_numpy(w) for name, w in grown(weights, network.config, after).items()}
    )
    return deeper


@pytest.mark.parametrize(("encoder", "decoder"), [(2, 2), (3, 2), (2, 3), (5, 4), (7, 6)])
def test_a_network_with_more_layers_has_the_same_outputs(encoder, decoder) -> None:
    network = varied(ModelConfig(**SMALL, n_encoder_layers=2, n_decoder_layers=2))
    after = ModelConfig(**SMALL, n_encoder_layers=encoder, n_decoder_layers=decoder)
    source, target = torch.randint(3, 31, (3, 7)), torch.randint(3, 31, (3, 5))
    deeper = grown_network(network, after)
    assert len(deeper.encoder) == encoder
    assert len(deeper.decoder) == decoder
    torch.testing.assert_close(deeper(source, target), network(source, target))


def test_a_language_model_with_more_layers_has_the_same_outputs() -> None:
    network = varied(ModelConfig(**SMALL, kind="lm", n_layers=2))
    deeper = grown_network(network, ModelConfig(**SMALL, kind="lm", n_layers=5))
    target = torch.randint(3, 31, (3, 6))
    expected, _ = network.decode(target)
    found, _ = deeper.decode(target)
    torch.testing.assert_close(found, expected)


def test_every_new_layer_learns() -> None:
    """Its outputs are zero at first, but their gradients are not."""
    network = varied(ModelConfig(**SMALL, n_layers=1))
    deeper = grown_network(network, ModelConfig(**SMALL, n_layers=3)).train()
    logits = deeper(torch.randint(3, 31, (3, 7)), torch.randint(3, 31, (3, 5)))
    logits.logsumexp(-1).sum().backward()
    for stack in (deeper.encoder, deeper.decoder):
        for layer in stack[1:]:
            assert not layer.feed_forward.outer.weight.any()
            assert layer.feed_forward.outer.weight.grad.any()
            assert layer.self_attention.output.weight.grad.any()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    lines = models.pairs(400, "train")
    return digits.write(tmp_path_factory.mktemp("corpus") / "train.tsv", lines)


def invoke(*words: str):
    return CliRunner().invoke(main, words)


QUICK = [
    "train.steps=4",
    "train.checkpoint_steps=2",
    "train.bleu_sentences=0",
    "train.tokens_per_batch=256",
]


def test_training_adds_layers_and_a_share_of_the_smaller_model_is_mixed_in(
    corpus, tmp_path
) -> None:
    small = models.model_directory(tmp_path / "small", norm="pre")
    run, out = tmp_path / "run", tmp_path / "out"
    words = ["train", str(run), "--from", str(small), "--train", str(corpus)]
    done = invoke(*words, *digits.settings(*QUICK, "model.n_decoder_layers=4"))
    assert done.exit_code == 0, done.output
    model = ModelDirectory.open(run / "model")
    assert (model.config.encoder_depth, model.config.decoder_depth) == (2, 4)
    done = invoke(
        "average", str(run), "--last", "1", "--mix", f"{small}:0.25", "--output", str(out)
    )
    assert done.exit_code == 0, done.output
    begun = grown(
        ModelDirectory.open(small).weights(), ModelDirectory.open(small).config, model.config
    )
    trained = load_file(run / "checkpoints" / "step-00000004" / "model.safetensors")
    mixed = load_file(out / "model.safetensors")
    assert mixed.keys() == begun.keys()
    for name, weight in mixed.items():
        torch.testing.assert_close(
            weight, 0.25 * torch.from_numpy(begun[name]) + 0.75 * trained[name]
        )


@pytest.mark.parametrize(
    ("norm", "setting", "sentence"),
    [
        ("pre", "n_encoder_layers=1", "can add layers, not remove them"),
        ("post", "n_decoder_layers=3", "layers can be added to a pre-norm Transformer only"),
        ("pre", "n_layers=3", "training that starts from a model keeps its network"),
    ],
)
def test_what_cannot_be_added_is_one_sentence(corpus, tmp_path, norm, setting, sentence) -> None:
    small = models.model_directory(tmp_path / "small", norm=norm)
    words = ["train", str(tmp_path / "run"), "--from", str(small), "--train", str(corpus)]
    done = invoke(*words, "--set", f"model.{setting}")
    assert done.exit_code == 2
    name, value = setting.split("=")
    assert f"model.{name} = {value}, but {small} has 2: " in done.stderr
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "run" / "checkpoints").exists()
