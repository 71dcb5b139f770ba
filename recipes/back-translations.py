"""Prints pairs, translation TAB text, of `transduce translate --json`: those the model was sure of.

The first argument is its output, the second the least mean log-probability of a token.
"""

import json
import sys
from pathlib import Path

HARMLESS = {"inserted", "repaired"}  # flags of translations whose faults were mended


def mean_score(line: dict) -> float:
    scores = line["token_scores"]
    return sum(scores) / len(scores) if scores else float("-inf")


least = float(sys.argv[2])
with Path(sys.argv[1]).open(encoding="utf-8") as lines:
    for line in map(json.loads, lines):
        pair = line["translation"], line["text"]
        certain = mean_score(line) > least and not set(line["flags"]) - HARMLESS
        if certain and not any("\t" in side for side in pair):
            print(*pair, sep="\t")
