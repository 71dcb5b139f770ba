"""Small runs of `transduce train` for tests, and what they have on disk."""

import hashlib
import json
import sys
from pathlib import Path

import digits
from click.testing import CliRunner

from transduce.cli import main
from transduce.train.run import read_metrics

QUICK = ["train.steps=30", "train.checkpoint_steps=5", "train.validate_steps=10"]


def write_corpus(folder: Path) -> list[str]:
    """The options of `transduce train` for a corpus of digits."""
    train = digits.write(folder / "train.tsv", digits.pairs(600, seed=1))
    valid = digits.write(folder / "valid.tsv", digits.pairs(40, seed=2))
    return ["--train", str(train), "--valid", str(valid)]


def words(run: Path, corpus: list[str], *settings: str) -> list[str]:
    return ["train", str(run), *corpus, *digits.settings(*digits.SMALL, *settings)]


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "transduce", *args]


def train(run: Path, corpus: list[str], *settings: str):
    result = CliRunner().invoke(main, words(run, corpus, *settings))
    assert result.exit_code == 0, result.output
    return result


def final_weights(run: Path) -> bytes:
    return (run / "model" / "model.safetensors").read_bytes()


def step_reached(run: Path) -> int:
    return max((entry["step"] for entry in read_metrics(run / "metrics.jsonl")), default=0)


def contents(run: Path) -> dict[str, bytes]:
    """Every file of a run but the lock, which holds the number of the last process."""
    files = (path for path in run.rglob("*") if path.is_file() and path.name != "lock")
    return {str(path.relative_to(run)): path.read_bytes() for path in files}


def sign(folder: Path) -> None:
    """Makes the checksums of a checkpoint agree with its files."""
    files = [path for path in folder.iterdir() if path.name != "checksums.json"]
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    (folder / "checksums.json").write_text(json.dumps(sums), "utf-8")
