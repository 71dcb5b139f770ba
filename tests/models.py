"""Model directories for tests: whole, small and made in a moment."""

from pathlib import Path

import torch

from transduce.config import ModelConfig
from transduce.directory import write_model
from transduce.grammar import sentences
from transduce.model import Transformer
from transduce.shortlist import FILE, learn_shortlist
from transduce.tokenizer import Tokenizer


def pairs(count, split="test", seed=1):
    return [(pair.source, pair.target) for pair in sentences(split, count, seed)]


def untrained(vocab_size, seed=0, eos=3.5, **settings):
    """A network that knows nothing, but whose outputs vary, and end the sooner the larger `eos`."""
    config = ModelConfig(
        **{
            "vocab_size": vocab_size,
            "d_model": 32,
            "d_ff": 64,
            "n_heads": 4,
            "n_layers": 2,
            "output_bias": True,
            **settings,
        }
    )
    torch.manual_seed(seed)
    model = Transformer(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= 1.6
        model.output.bias.normal_()
        model.output.bias[config.eos_id] = eos
    return model


def model_directory(directory: Path, shortlist=True, seed=0, eos=3.5, **settings) -> Path:
    """A complete model directory with a vocabulary of the built-in corpus."""
    texts = pairs(400, "train")
    directory.parent.mkdir(parents=True, exist_ok=True)
    file = directory.parent / f"{directory.name}.tokens"
    tokens = Tokenizer.learn((text for pair in texts for text in pair), 600, file)
    files = {"tokens.model": file.read_bytes()}
    if shortlist:
        encoded = zip(
            tokens.encode_batch([source for source, _ in texts]),
            tokens.encode_batch([target for _, target in texts]),
            strict=True,
        )
        size = tokens.vocab_size
        files[FILE] = learn_shortlist(encoded, size, range(4)).to_bytes()
    model = untrained(tokens.vocab_size, seed, eos, **settings)
    write_model(directory, model, max_length=60, files=files)
    return directory
