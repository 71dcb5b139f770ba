"""Why the paper's choices: questions of its readers, answered by small experiments."""

import importlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from transduce.charts import Chart
from transduce.errors import InputError
from transduce.log import Log, silent
from transduce.table import paragraph, render_table


@dataclass(frozen=True)
class Question:
    """What is asked, where the paper speaks of it, and how long the answer takes."""

    text: str
    section: str
    seconds: str  # on one thread


@dataclass(frozen=True)
class Answer:
    """Three sentences, the numbers behind them as a table and as values, and charts."""

    sentences: tuple[str, str, str]
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: Mapping[str, Any]
    charts: Sequence[Chart]


QUESTIONS = {
    "scaling": Question("Why are scores divided by √d_k?", "3.2.1", "5 s"),
    "embedding": Question("Why are embeddings multiplied by √d_model?", "3.4", "5 s"),
    "positions": Question(
        "Why sinusoids, why added, and what if they were learned?", "3.5", "1 min"
    ),
    "norm": Question(
        "Why LayerNorm and not BatchNorm, and after or before a sub-layer?", "3.1", "1 min"
    ),
    "masks": Question("What does the decoder's mask hide, and what if it leaks?", "3.2.3", "20 s"),
    "smoothing": Question(
        "Why does label smoothing make perplexity worse and BLEU better?", "5.4", "1 min"
    ),
    "heads": Question("Why several heads and not one?", "3.2.2", "20 s"),
    "warmup": Question("Why does the learning rate rise before it falls?", "5.3", "1 min"),
}


def answer(what: str, quick: bool = False, seed: int = 1, log: Log = silent) -> Answer:
    """Runs the experiment of a question; `quick` makes it smaller."""
    if what not in QUESTIONS:
        raise InputError(f"paper why {what}: the questions are {', '.join(QUESTIONS)}")
    module = importlib.import_module(f"transduce.paper.why.{what}")
    found: Answer = module.answer(quick, seed, log)
    return found


def render_questions() -> str:
    rows = [(name, f"§{q.section}", q.text, q.seconds) for name, q in QUESTIONS.items()]
    return render_table(
        "transduce paper why WHAT", ("WHAT", "", "question", "takes about"), "<<<>", rows
    )


def render(what: str, found: Answer) -> str:
    question = QUESTIONS[what]
    sides = "<" + ">" * (len(found.headings) - 1)
    table = render_table("", found.headings, sides, found.rows)
    sentences = [paragraph(sentence) for sentence in found.sentences]
    return "\n\n".join([f"{question.text} (§{question.section})", table, *sentences])


def to_json(what: str, found: Answer) -> str:
    parts = {"what": what, "sentences": found.sentences, **found.numbers}
    return json.dumps(parts, indent=2, ensure_ascii=False)
