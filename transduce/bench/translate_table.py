"""What `transduce bench translate` prints."""

import json
from dataclasses import asdict
from itertools import groupby
from textwrap import fill

from transduce.bench.table import Column, render_table
from transduce.bench.translate import WARM_UP, Report, Speed
from transduce.bench.translators import OURS, TORCH
from transduce.search import PAPER

COLUMNS: list[Column] = [
    ("system", "left"),
    ("lines/s", "right"),
    ("tokens/s", "right"),
    ("ours ÷ it", "right"),
    ("torch ÷ it", "right"),
    ("p50 / p99 ms", "right"),
    ("MB", "right"),
    ("BLEU", "right"),
]


def to_json(report: Report) -> str:
    return json.dumps(asdict(report), indent=2)


def render(report: Report) -> str:
    """A table for each model, how its systems ran, and what the figures mean."""
    parts = []
    for model, some in groupby(report.results, lambda speed: speed.model):
        speeds = list(some)
        parts.append(render_table(f"{model}, text to text", COLUMNS, map(row, speeds)))
        parts += [f"{speed.system}: {speed.runs}\n" for speed in speeds]
        parts.append("\n")
    return "".join(parts) + notes(report) + report.machine


def row(speed: Speed) -> list[str]:
    return [
        speed.system,
        short(speed.lines_per_second),
        f"{speed.tokens_per_second:,.0f}",
        "" if speed.system == OURS else f"{speed.ratio:.2f}",
        "" if speed.system in (OURS, TORCH) else f"{speed.torch_ratio:.2f}",
        f"{short(speed.p50_ms)} / {short(speed.p99_ms)}",
        f"{speed.peak_memory_mb:,.0f}",
        "" if speed.bleu is None else f"{speed.bleu:.2f}",
    ]


def short(figure: float) -> str:
    return f"{figure:.1f}" if figure < 100 else f"{figure:,.0f}"


def notes(report: Report) -> str:
    """What the figures mean."""
    rounds = len(report.results[0].rounds)
    sentences = [
        f"{report.data}: {report.lines:,} lines, beam {report.beam}, batches of up to "
        f"{report.batch_size:,}, rounds: {rounds:,}, after {min(WARM_UP, report.lines)} lines that "
        "are not timed.",
        f"Of the lines {report.distinct:,} are distinct: transduce translates a line only once."
        if report.distinct < report.lines
        else "",
        "The same weights in every system; they take turns, each in its own process. lines/s: from "
        "text to text, with tokenising, search and detokenising. tokens/s: of the output, cut up "
        "by the model's own vocabulary. Both are medians of the rounds.",
        "ours ÷ it: transduce's lines/s over this system's in the same round, the median; "
        "torch ÷ it: transduce-torch's.",
        "Each searches as it does by itself: transduce with the length penalty of §6.1, and again "
        f"where a translation looks wrong; huggingface with α = {PAPER.alpha}, batches in the "
        "order of the input; ctranslate2 with its defaults. No output is longer than the longest "
        f"source beside it + {PAPER.extra_length} tokens.",
        f"p50, p99: milliseconds of one line alone, of {report.alone:,}. "
        "MB: the most memory that the process held.",
        f"BLEU: {report.bleu_signature}." if report.bleu_signature else "",
        f"{report.load:.1f} processes were running before: on a quiet machine it is 0."
        if report.load > 0.5
        else "",
    ]
    return "".join(fill(sentence, 100) + "\n" for sentence in sentences if sentence)
