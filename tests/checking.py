"""`transduce check` on a small corpus, for tests."""

import json
from pathlib import Path

import digits
from click.testing import CliRunner

from transduce.cli import main

TINY = digits.settings(
    "model.d_model=16",
    "model.d_ff=16",
    "model.n_heads=2",
    "model.n_layers=1",
    "data.vocab_size=300",
    "train.tokens_per_batch=512",
    "train.bleu_sentences=0",
    "train.warmup_steps=2",
    "train.steps=4",
)
LONG = " ".join("0123456789" * 20)


def invoke(*args: str):
    return CliRunner().invoke(main, [*args])


def check(*args: str) -> dict:
    """The facts, untimed."""
    result = invoke("check", *TINY, *args, "--no-timing", "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def dirty(count: int = 200) -> list[tuple[str, str]]:
    """Pairs among which there is one or more for each reason to be dropped."""
    lines = digits.pairs(count, seed=1, longest=14)
    lines[10] = ("", "5 6")
    lines[20] = ("7 7 7", "7 7 7")
    lines[30] = ("1 2", LONG)
    lines[40] = lines[50] = ("1 2 3 4 5", "5 4 3 2 1")
    lines[60] = (LONG, LONG[::-1] + " 1")
    return lines


def write_corpus(folder: Path) -> list[str]:
    """The options for a corpus with such pairs."""
    train = digits.write(folder / "train.tsv", dirty())
    valid = digits.write(folder / "valid.tsv", digits.pairs(20, seed=2, longest=14))
    return ["--train", str(train), "--valid", str(valid), "--set", "data.max_length=100"]
