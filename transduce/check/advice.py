"""Warnings about a run that is about to start."""

from transduce.check.overlap import RUN, Overlap
from transduce.check.preflight import Preflight
from transduce.check.vocabulary import RARE
from transduce.machine import memory

MUCH = 0.1  # of the pairs dropped


def warnings_of(found: Preflight) -> list[str]:
    """Sentences, the gravest first."""
    warnings = []
    for name, overlap in found.overlaps.items():
        warnings += _of_overlap(name, overlap)
    for name, survey in found.corpora.items():
        dropped = survey.read - survey.kept
        if dropped > MUCH * survey.read:
            warnings.append(f"{dropped:,} of {survey.read:,} {name} pairs would be dropped")
        warnings += [f"{name} data: {line.warning}" for line in survey.unusual if line.warning]
    vocabulary, settings, timing = found.vocabulary, found.settings.train, found.timing
    if 2 * vocabulary.rare > vocabulary.size:
        warnings.append(
            f"{vocabulary.rare:,} of the {vocabulary.size:,} tokens are seen fewer than {RARE} "
            "times: a smaller data.vocab_size suits so little text better"
        )
    if settings.warmup_steps >= settings.steps:
        warnings.append(
            f"the learning rate still rises when training ends: train.warmup_steps = "
            f"{settings.warmup_steps:,}, train.steps = {settings.steps:,}"
        )
    epochs = found.batching.epochs
    if epochs < 1:
        warnings.append(
            f"{settings.steps:,} steps see only {100 * epochs:.0f} % of the training data"
        )
    peak = found.network.memory.estimated_peak
    if timing and timing.peak_memory:
        peak = timing.peak_memory
    here = memory()
    if (timing is None or timing.device == "cpu") and peak > 0.9 * here:
        warnings.append(
            f"training would take about {peak / 2**30:.1f} GiB of memory, and this machine has "
            f"{here / 2**30:.1f}: halve train.tokens_per_batch and double train.accumulate"
        )
    return warnings


def _of_overlap(name: str, overlap: Overlap) -> list[str]:
    warnings = []
    if overlap.seen:
        warnings.append(
            f"{overlap.seen:,} of {overlap.sentences:,} {name} sentences are in the training data: "
            f"{overlap.source:,} by source, {overlap.target:,} by target, {overlap.pair:,} whole"
        )
    if overlap.near:
        warnings.append(
            f"{overlap.near:,} other {name} sentences share {RUN} words in a row with the "
            "training data"
        )
    return warnings
