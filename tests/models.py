"""Small model directories for tests."""

from pathlib import Path

import numpy as np
import torch

from transduce.config import ModelConfig
from transduce.directory import write_model
from transduce.engines import Request
from transduce.grammar import sentences
from transduce.model import Transformer, build_network
from transduce.search import PAPER
from transduce.shortlist import FILE, learn_shortlist
from transduce.store import Side
from transduce.tokenizer import Tokenizer


def pairs(count, split="test", seed=1):
    return [(pair.source, pair.target) for pair in sentences(split, count, seed)]


def untrained(vocab_size, seed=0, eos=3.5, **settings):
    """An untrained network with varied outputs; a larger `eos` makes them shorter."""
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


def side(sentences) -> Side:
    """Encoded sentences as a side of a store."""
    lengths = np.array([len(ids) for ids in sentences], dtype=np.int64)
    ids = np.concatenate([np.asarray(ids, dtype=np.int64) for ids in sentences] or [lengths])
    return Side(ids, np.concatenate([[0], lengths.cumsum()]), lengths)


def model_directory(directory: Path, shortlist=True, seed=0, eos=3.5, **settings) -> Path:
    """A complete model directory with a vocabulary of the built-in corpus."""
    texts = pairs(400, "train")
    directory.parent.mkdir(parents=True, exist_ok=True)
    file = directory.parent / f"{directory.name}.tokens"
    tokens = Tokenizer.learn((text for pair in texts for text in pair), 600, file)
    files = {"tokens.model": file.read_bytes()}
    if shortlist:
        source, target = (side(tokens.encode_batch([p[i] for p in texts])) for i in (0, 1))
        files[FILE] = learn_shortlist(source, target, tokens.vocab_size, range(4)).to_bytes()
    model = untrained(tokens.vocab_size, seed, eos, **settings)
    write_model(directory, model, max_length=60, files=files)
    return directory


def search(engine, sources, settings=PAPER, batch_size=64):
    """The hypotheses that an engine finds for each source."""
    return engine.search([Request(source, settings) for source in sources], batch_size)


def best(engine, sources, settings=PAPER, batch_size=64):
    """The tokens of the best of them."""
    return [found[0].tokens for found in search(engine, sources, settings, batch_size)]


def language_model(folder: Path, task: str = "lm", **settings) -> Path:
    """A directory of a language model with random weights that write varied text."""
    names = "".join(f"{a} and {b} saw {c}.\n" for a in "abcde" for b in "fghij" for c in "klmno")
    file = folder / "tokens"
    tokenizer = Tokenizer.learn([names[:999]], 400, file, characters=True, leading_space=False)
    config = ModelConfig(
        **{
            "kind": "lm",
            "vocab_size": tokenizer.vocab_size,
            "d_model": 32,
            "d_ff": 48,
            "n_heads": 4,
            "n_layers": 2,
            "norm": "pre",
            "positions": "learned",
            "max_positions": 12,
            "activation": "gelu",
            **settings,
        }
    )
    torch.manual_seed(3)
    network = build_network(config)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    write_model(folder / "model", network, task=task, files={"tokens.model": file.read_bytes()})
    return folder / "model"
