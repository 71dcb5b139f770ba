"""Scores in the model card."""

import json
import re
import shutil
from pathlib import Path

from transduce import atomic
from transduce.directory import read_json, sha256
from transduce.evaluate.report import NAMES, Evaluation
from transduce.log import plural
from transduce.search import Search
from transduce.train.inputs import model_name


def write_scores(
    model: Path, title: str, evaluation: Evaluation, search: Search, reverse: str | None = None
) -> None:
    """Writes the scores into card.md under this title; replaces earlier ones."""
    with atomic.directory(model) as aside:
        shutil.copytree(model, aside, dirs_exist_ok=True)
        card = aside / "card.md"
        card.write_text(
            replaced(card.read_text("utf-8"), title, section(evaluation, search, reverse)), "utf-8"
        )
        sums = {**read_json(aside, "checksums.json"), card.name: sha256(card)}
        (aside / "checksums.json").write_text(json.dumps(sums, indent=2) + "\n", "utf-8")


def section(evaluation: Evaluation, search: Search, reverse: str | None = None) -> str:
    """The scores as a Markdown list."""
    scores = evaluation.scores
    how = f"beam {search.beam}, α {search.alpha:g}, engine {evaluation.output.engine}"
    if reverse:
        how += f", chosen by {model_name(reverse)} too"
    lines = [f"{plural(scores.sentences, 'sentence')}, {how}:\n"]
    for key, name in NAMES.items():
        score = getattr(scores, key)
        lines.append(f"- {name} {score.value:.2f} (`{score.signature}`)")
    if evaluation.perplexity is not None:
        lines.append(f"- perplexity {evaluation.perplexity:.2f} per token of the references")
    lines.append(f"- exact match {100 * scores.exact_match:.1f} %")
    return "\n".join(lines) + "\n"


def replaced(card: str, title: str, text: str) -> str:
    """The card with this section, which replaces one with the same title or is appended."""
    heading = f"## Scores on {title}\n"
    new = f"{heading}\n{text}"
    old = re.compile(rf"^{re.escape(heading)}.*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
    if not old.search(card):
        return f"{card.rstrip()}\n\n{new}"
    return old.sub(lambda _: f"{new}\n", card).rstrip() + "\n"
