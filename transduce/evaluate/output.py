"""A system's translations, and the perplexity of the references under its model."""

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from transduce import atomic
from transduce.errors import InputError
from transduce.log import Log, silent
from transduce.search import Search
from transduce.translate.join import Translation
from transduce.translate.lines import chunks
from transduce.translate.options import TranslateOptions
from transduce.translate.translator import Translator

CHUNK = 256  # lines between two calls of a `Progress`

Progress = Callable[[int], None]


@dataclass(frozen=True)
class SystemOutput:
    """Translations, one per line; other fields are None or empty if they are from a file."""

    lines: list[str]
    seconds: float | None = None
    engine: str | None = None
    compute: str | None = None  # dtype
    device: str | None = None
    flags: tuple[tuple[str, int], ...] = ()  # flags of `translate` with their counts


def translate(
    translator: Translator,
    sources: Sequence[str],
    search: Search,
    batch_size: int,
    progress: Progress = lambda _: None,
) -> SystemOutput:
    """The model's own translations: lines are kept whole and nothing is inserted.

    `progress` is called with the number of lines that are done, now and then.
    """
    start = time.perf_counter()
    options = TranslateOptions(search, batch_size, by_sentence=False, insert=False)
    results = dict[int, Translation]()
    # by length, so that a batch has the lines of similar length of all, not only of a chunk
    for some in chunks(sorted(range(len(sources)), key=lambda i: -len(sources[i])), CHUNK):
        found = translator.results([sources[i] for i in some], options)
        results |= zip(some, found, strict=True)
        progress(len(results))
    seconds = time.perf_counter() - start
    flags = Counter(flag for result in results.values() for flag in result.flags)
    # as the sacrebleu command reads them from a file
    lines = [results[i].translation.replace("\n", " ").rstrip() for i in range(len(sources))]
    engine = translator.engine
    runs = engine.name, engine.compute, engine.device
    return SystemOutput(lines, seconds, *runs, tuple(flags.most_common()))


def write_text(file: Path, text: str) -> None:
    """Writes a file with an atomic rename."""
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
    log: Log = silent,
    progress: Progress = lambda _: None,
) -> float | None:
    """Perplexity per token of the references, EOS included; None if none can be scored.

    Pairs with a blank side are left out, as training leaves them out, and so are pairs that are
    too long for the model, whose number is logged.
    """
    pairs = [
        (source, target)
        for targets in references
        for source, target in zip(sources, targets, strict=True)
        if source.strip() and target.strip()
    ]
    scored: list[tuple[float, ...] | None] = []
    for some in chunks(pairs, CHUNK):
        scored += translator.score([s for s, _ in some], [t for _, t in some], batch_size)
        progress(len(scored))
    log_probs = [log_prob for of_pair in scored for log_prob in of_pair or ()]
    if None in scored:
        log(f"perplexity leaves out pairs too long for the model: {scored.count(None):,}")
    return math.exp(min(-math.fsum(log_probs) / len(log_probs), 700)) if log_probs else None
