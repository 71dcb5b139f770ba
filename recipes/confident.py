"""Prints the better half of the trees of `transduce parse --json`, by the score per word."""

import json
import sys
from pathlib import Path


def score_per_word(line: dict) -> float:
    return line["score"] / len(line["words"])


lines = [json.loads(line) for line in Path(sys.argv[1]).read_text("utf-8").splitlines()]
parsed = sorted((line for line in lines if line["words"]), key=score_per_word, reverse=True)
print("\n".join(line["tree"] for line in parsed[: len(parsed) // 2]))
