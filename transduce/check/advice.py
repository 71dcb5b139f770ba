"""Warnings about a run that is about to start."""

from dataclasses import dataclass

from transduce.check.overlap import RUN, Overlap
from transduce.check.preflight import Preflight
from transduce.check.vocabulary import RARE
from transduce.config import LARGEST_CORPUS, Config, preset_for, resolve
from transduce.log import plural
from transduce.machine import memory
from transduce.shapes import parameter_count, parameter_shapes

MUCH = 0.1  # of the pairs dropped
LONGEST = 7 * 24  # hours that a newcomer may wait
MOST_EPOCHS = 1000  # after which a model has nothing left to learn from the same text


@dataclass(frozen=True)
class Hopeless:
    """Why a run will not end in time or is of no use, and a preset that suits it better."""

    hours: float | None  # None if time is not the reason
    epochs: float
    preset: str | None
    preset_hours: float | None


def warnings_of(found: Preflight) -> list[str]:
    """Sentences, the gravest first."""
    warnings = []
    for name, survey in found.corpora.items():
        warnings += [
            f"{name} data: {plural(shift.pairs, 'pair')} from {shift.first} on look shifted: each "
            f"source seems to belong to the target {plural(abs(shift.by), 'line')} further "
            f"{'down' if shift.by > 0 else 'up'}; look for a missing or an extra line"
            for shift in survey.shifts
        ]
    if hopeless := hopeless_of(found):
        warnings.append(describe(hopeless, found))
    for name, overlap in found.overlaps.items():
        warnings += _of_overlap(name, overlap)
    for name, survey in found.corpora.items():
        dropped = survey.read - survey.kept
        if dropped > MUCH * survey.read:
            warnings.append(f"{dropped:,} of {survey.read:,} {name} pairs would be dropped")
        warnings += [f"{name} data: {line.warning}" for line in survey.unusual if line.warning]
    vocabulary = found.vocabulary
    if 2 * vocabulary.rare > vocabulary.size:
        warnings.append(
            f"{vocabulary.rare:,} of the {vocabulary.size:,} tokens are seen fewer than {RARE} "
            "times: a smaller data.vocab_size suits so little text better"
        )
    warnings += warnings_of_settings(found.settings)
    epochs = found.batching.epochs
    if epochs < 1:
        warnings.append(
            f"{found.batching.steps:,} steps see only {100 * epochs:.0f} % of the training data"
        )
    return warnings + _of_memory(found)


def _of_memory(found: Preflight) -> list[str]:
    timing, here = found.timing, memory()
    peak = found.network.memory.estimated_peak if found.network else 0
    if timing and timing.peak_memory:
        peak = timing.peak_memory
    if (timing and timing.device != "cpu") or peak <= 0.9 * here:
        return []
    return [
        f"training would take about {peak / 2**30:.1f} GiB of memory, and this machine has "
        f"{here / 2**30:.1f}: halve train.tokens_per_batch and double train.accumulate"
    ]


def warnings_of_settings(config: Config) -> list[str]:
    """What is wrong whatever the data is."""
    warnings, settings = [], config.train
    if settings.warmup_steps >= settings.steps:
        warnings.append(
            f"the learning rate still rises when training ends: train.warmup_steps = "
            f"{settings.warmup_steps:,}, train.steps = {settings.steps:,}"
        )
    if settings.consistency and not config.model.has_dropout:
        warnings.append(
            "train.consistency takes twice the time for nothing without dropout, as both "
            "predictions of a sentence are the same: set model.p_drop"
        )
    return warnings


def hopeless_of(found: Preflight) -> Hopeless | None:
    """Whether the run takes longer than a week here or sees its text too often to learn from it."""
    hours = found.timing.hours if found.timing else found.operations.least_hours
    slow, epochs = hours is not None and hours > LONGEST, found.batching.epochs
    if not slow and epochs <= MOST_EPOCHS:
        return None
    pairs = sum(s.kept for name, s in found.corpora.items() if name.startswith("training"))
    suited = preset_for(pairs)
    names = [*LARGEST_CORPUS, "base"]
    for name in reversed(names[: names.index(suited) + 1]):
        share = _work(resolve(name)) / _work(found.settings)
        if share < 1 and not (hours is not None and share * hours > LONGEST):
            return Hopeless(hours if slow else None, epochs, name, hours and share * hours)
    return Hopeless(hours if slow else None, epochs, None, None)


def describe(hopeless: Hopeless, found: Preflight) -> str:
    """The reasons and the advice as a sentence."""
    reasons = []
    if hopeless.hours is not None:
        about = "about" if found.timing else "at least"
        reasons.append(f"it would take {about} {duration(hopeless.hours)} on this machine")
    if hopeless.epochs > MOST_EPOCHS:
        reasons.append(f"it would see the training data {hopeless.epochs:,.0f} times")
    advice = "lower train.steps or make the network smaller"
    if hopeless.preset is not None:
        rough = hopeless.preset_hours
        advice = f"take --preset {hopeless.preset}"
        if rough is not None:
            advice += f", {'roughly' if found.timing else 'at least'} {duration(rough)}"
    return f"this run is hopeless: {' and '.join(reasons)}; {advice}"


def _work(config: Config) -> int:
    """About proportional to the operations of a training."""
    tokens = config.train.tokens_per_batch * config.train.accumulate
    return config.train.steps * tokens * parameter_count(parameter_shapes(config.model))


def duration(hours: float) -> str:
    """A time in words, as exact as a guess can be.

    >>> duration(2.164)
    '2 h 10 min'
    """
    if hours < 90 / 3600:
        return f"{3600 * hours:.0f} s"
    whole, minutes = divmod(round(60 * hours), 60)
    if whole >= 48:
        return f"{whole / 24:,.1f} days"
    return " ".join([*([f"{whole} h"] if whole else []), *([f"{minutes} min"] if minutes else [])])


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
