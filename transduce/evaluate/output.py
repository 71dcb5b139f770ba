"""What a system made of the sentences, and how likely it finds the references."""

import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from transduce import atomic
from transduce.errors import InputError
from transduce.search import Search
from transduce.translate.translator import Translator


@dataclass(frozen=True)
class SystemOutput:
    """One translation a line; the rest is None or empty where nothing was translated now."""

    lines: list[str]
    seconds: float | None = None
    engine: str | None = None
    flags: tuple[tuple[str, int], ...] = ()  # what guards flagged, and how often


def translate(
    translator: Translator, sources: Sequence[str], search: Search, batch_size: int
) -> SystemOutput:
    start = time.perf_counter()
    results = translator.results(sources, search, batch_size)
    seconds = time.perf_counter() - start
    flags = Counter(flag for result in results for flag in result.flags)
    # as the sacrebleu command will read them back from a file
    lines = [result.translation.replace("\n", " ").rstrip() for result in results]
    return SystemOutput(lines, seconds, translator.engine.name, tuple(flags.most_common()))


def write_output(lines: Sequence[str], file: Path) -> None:
    text = "".join(f"{line}\n" for line in lines)
    try:
        with atomic.file(file) as aside:
            aside.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}") from None


def perplexity(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[Sequence[str]],
    batch_size: int,
) -> float | None:
    """e to the −log p of a reference's token, EOS included; None if there is nothing to score.

    Pairs of which one side is blank take no part: training never sees any.
    """
    pairs = [
        (source, target)
        for targets in references
        for source, target in zip(sources, targets, strict=True)
        if source.strip() and target.strip()
    ]
    if not pairs:
        return None
    scored = translator.score([s for s, _ in pairs], [t for _, t in pairs], batch_size)
    tokens = sum(len(log_probs) for log_probs in scored)
    nll = -math.fsum(p for log_probs in scored for p in log_probs) / tokens
    return math.exp(min(nll, 700))
