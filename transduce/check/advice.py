"""What a careful colleague would say before the run is started."""

from collections.abc import Mapping

from transduce.check.overlap import RUN, Overlap
from transduce.check.sizes import Epoch, Network
from transduce.check.text import Survey
from transduce.check.timing import Timing
from transduce.check.vocabulary import RARE, Vocabulary
from transduce.config import Config
from transduce.machine import memory

MUCH = 0.1  # of the pairs dropped, or of a side's text in single bytes


def warnings_of(
    config: Config,
    corpora: Mapping[str, Survey],
    overlaps: Mapping[str, Overlap],
    vocabulary: Vocabulary,
    batching: Epoch,
    network: Network,
    timing: Timing | None,
) -> list[str]:
    """Sentences, the gravest first."""
    warnings = []
    for name, overlap in overlaps.items():
        warnings += _of_overlap(name, overlap)
    for name, survey in corpora.items():
        dropped = survey.read - survey.kept
        if dropped > MUCH * survey.read:
            warnings.append(f"{dropped:,} of {survey.read:,} {name} pairs would be dropped")
        warnings += [f"{name} data: {found.warning}" for found in survey.unusual if found.warning]
    if 2 * vocabulary.rare > vocabulary.size:
        warnings.append(
            f"{vocabulary.rare:,} of the {vocabulary.size:,} tokens are seen fewer than {RARE} "
            "times: a smaller data.vocab_size suits so little text better"
        )
    settings = config.train
    if settings.warmup_steps >= settings.steps:
        warnings.append(
            f"the learning rate still rises when training ends: train.warmup_steps = "
            f"{settings.warmup_steps:,}, train.steps = {settings.steps:,}"
        )
    if batching.epochs < 1:
        warnings.append(
            f"{settings.steps:,} steps see only {100 * batching.epochs:.0f} % of the training data"
        )
    peak = network.memory.estimated_peak
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
