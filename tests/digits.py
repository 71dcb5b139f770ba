"""Small languages of digits, for runs that learn something in seconds."""

import random
from pathlib import Path

SMALL = [
    "model.d_model=32",
    "model.d_ff=64",
    "model.n_heads=4",
    "model.n_layers=1",
    "data.vocab_size=300",
    "data.drop_identical=false",
    "train.tokens_per_batch=512",
    "train.warmup_steps=40",
    "train.log_steps=1",
    "train.bleu_sentences=0",
]


def pairs(count: int, seed: int, longest: int = 8, task: str = "reverse") -> list[tuple[str, str]]:
    """Digits, and the same digits copied or reversed."""
    rng = random.Random(seed)
    lines = []
    for _ in range(count):
        digits = [str(rng.randrange(10)) for _ in range(rng.randint(2, longest))]
        answer = digits if task == "copy" else digits[::-1]
        lines.append((" ".join(digits), " ".join(answer)))
    return lines


def write(file: Path, lines: list[tuple[str, str]]) -> Path:
    file.write_text("".join(f"{source}\t{target}\n" for source, target in lines), "utf-8")
    return file


def settings(*items: str) -> list[str]:
    """`--set` for each item."""
    return [word for item in items for word in ("--set", item)]
