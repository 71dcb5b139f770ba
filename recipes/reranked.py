"""Chooses among the n best translations of each sentence by the reverse model as well.

With one argument, the output of `transduce translate --n-best --json`: prints every pair,
translation TAB text, for `transduce score --json` by the reverse model. With its output as the
second argument: prints text TAB translation of the best candidate of each sentence.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

REVERSE = 1 / 8  # weight of log p(text | translation) beside the score of the search
HARMLESS = {"inserted", "repaired"}  # flags of translations whose faults were mended


def lines(path: str) -> Iterator[dict]:
    with Path(path).open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def candidates(line: dict) -> dict[str, float]:
    """The translations of a line and their scores; none if it has a serious flag or two cells."""
    if set(line["flags"]) - HARMLESS or "\t" in line["text"]:
        return {}
    found = line["alternatives"]
    return {one["translation"]: one["score"] for one in found if "\t" not in one["translation"]}


def main(translations: str, scores: str | None = None) -> None:
    reverse = lines(scores) if scores else None
    for line in lines(translations):
        found = candidates(line)
        if reverse is None:
            for translation in found:
                print(translation, line["text"], sep="\t")
        elif found:
            logs = {text: next(reverse)["log_prob"] for text in found}
            known = [text for text in found if logs[text] is not None]  # None: it is too long
            best = max(known or found, key=lambda text: found[text] + REVERSE * (logs[text] or 0))
            print(line["text"], best, sep="\t")


main(*sys.argv[1:])
