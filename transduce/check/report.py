"""The preflight on a page, and as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from transduce.check.overlap import RUN
from transduce.check.preflight import Preflight
from transduce.check.text import Example, Survey
from transduce.check.vocabulary import RARE
from transduce.table import render_table
from transduce.train.run import flat

WIDTH = 100
FORMAT_VERSION = 1
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def to_json(preflight: Preflight) -> str:
    """The same facts under stable names."""
    facts = asdict(preflight)
    del facts["settings"]
    return json.dumps(
        {
            "format_version": FORMAT_VERSION,
            "settings": flat(preflight.settings),
            **facts,
        },
        indent=2,
        ensure_ascii=False,
    )


def render(preflight: Preflight) -> str:
    """Sections of aligned numbers, then the warnings, then the verdict."""
    parts = [
        _text(preflight),
        _pairs(preflight),
        _unusual(preflight),
        _overlap(preflight),
        _training(preflight),
        [f"warning: {warning}" for warning in preflight.warnings],
        [_verdict(preflight)],
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


def section(columns: str, rows: Sequence[Sequence[str]]) -> list[str]:
    """A table whose first row has its title and headings."""
    (title, *headings), *others = rows
    return render_table(title, ("", *headings), columns, others, WIDTH).split("\n")


def _text(preflight: Preflight) -> list[str]:
    counts: list[Sequence[str]] = [("Text", "file", "lines", "characters")]
    lengths: list[Sequence[str]] = [("Length", "", "mean", "median", "95 %", "99 %", "longest")]
    for name, survey in preflight.corpora.items():
        title = name
        for file in survey.files:
            label = f"{file.file} ({file.side})" if _has_both_sides(survey) else file.file
            counts.append((title, label, f"{file.lines:,}", f"{file.characters:,}"))
            title = ""
        title = name
        for what, sides in (("characters", survey.characters), ("tokens", survey.tokens)):
            for side, of in sides.items():
                numbers = (f"{n:,}" for n in (of.median, of.p95, of.p99, of.longest))
                lengths.append((title, f"{side} {what}", f"{of.mean:,.1f}", *numbers))
                title = ""
    return [*section("<<>>", counts), "", *section("<<>>>>>", lengths)]


def _has_both_sides(survey: Survey) -> bool:
    return len({file.file for file in survey.files}) < len(survey.files)


def _pairs(preflight: Preflight) -> list[str]:
    lines = ["Pairs"]
    for name, survey in preflight.corpora.items():
        held = f", {survey.held_out:,} held out for validation" if survey.held_out else ""
        lines.append(f"  {name:<11} {survey.read:,} read, {survey.kept:,} kept{held}")
        for reason, count in sorted(survey.dropped.items(), key=lambda item: -item[1]):
            share = 100 * count / survey.read
            lines.append(f"    {count:,} dropped: {reason} ({share:.2f} %)")
            lines += [f"      {_shown(example)}" for example in survey.examples.get(reason, [])]
        kept_twice = survey.duplicates - survey.dropped.get("duplicate", 0)
        kept_same = survey.identical - survey.dropped.get("identical", 0)
        if kept_twice > 0:
            lines.append(f"    {kept_twice:,} there before, and kept")
        if kept_same > 0:
            lines.append(f"    {kept_same:,} with the same text on both sides, and kept")
    return lines


def _shown(example: Example) -> str:
    tokens = f" ({example.tokens:,} tokens)" if example.tokens else ""
    start = f"{example.where}{tokens}: "
    room = (WIDTH - 6 - len(start) - 5) // 2
    return f"{start}{cut(example.source, room)!r} | {cut(example.target, room)!r}"


def cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(1, width - 1)] + "…"


def _unusual(preflight: Preflight) -> list[str]:
    rows: list[Sequence[str]] = []
    notes = []
    for name, survey in preflight.corpora.items():
        title = name
        notes += [f"  {note}" for note in survey.notes]
        for odd in survey.unusual:
            share = f"{100 * odd.share:.2f} %"
            rows.append((title, odd.side, odd.what, f"{odd.lines:,}", share, odd.first))
            title = ""
    if not rows:
        return ["Unusual", *(notes or ["  nothing"])]
    heading = ("Unusual", "", "lines with", "lines", "share", "first")
    return [*section("<<<>><", [heading, *rows]), *notes]


def _overlap(preflight: Preflight) -> list[str]:
    if not preflight.overlaps:
        return ["Overlap with the training data", "  none: validation data is held out from it"]
    found = preflight.overlaps
    rows: list[Sequence[str]] = [
        ("Overlap with the training data", *found),
        ("sentences", *(f"{o.sentences:,}" for o in found.values())),
        ("source is there", *(f"{o.source:,}" for o in found.values())),
        ("target is there", *(f"{o.target:,}" for o in found.values())),
        ("the whole pair is there", *(f"{o.pair:,}" for o in found.values())),
        (
            f"others that share {RUN} words in a row",
            *(f"{o.near:,}" for o in found.values()),
        ),
        (f"have {RUN} words in a row at all", *(f"{o.long_enough:,}" for o in found.values())),
    ]
    lines = section("<" + ">" * len(found), rows)
    for overlap in found.values():
        for example in overlap.examples:
            sign = "≈" if example.match == "near" else "="
            start = f"    {example.where} {sign} {example.training}: "
            lines.append(start + repr(cut(example.text, WIDTH - len(start) - 2)))
    return lines


def _training(preflight: Preflight) -> list[str]:
    vocabulary, batching, network = preflight.vocabulary, preflight.batching, preflight.network
    timing, memory = preflight.timing, network.memory
    settings, model = preflight.settings.train, preflight.settings.model
    asked = "" if vocabulary.size == vocabulary.asked else f", not {vocabulary.asked:,}: "
    asked += "all that the corpus supports" if asked else ""
    rows = [
        ("vocabulary", f"{vocabulary.size:,} tokens{asked}"),
        (
            "",
            f"{vocabulary.rare:,} of them are seen fewer than {RARE} times; single bytes are "
            f"{100 * vocabulary.bytes_in_training:.2f} % of the text",
        ),
        *(("", note) for note in vocabulary.notes),
        (
            "model",
            f"{network.parameters:,} parameters: {model.encoder_depth} + {model.decoder_depth} "
            f"layers, d_model {model.d_model}, d_ff {model.d_ff}, {model.n_heads} heads",
        ),
        (
            "batches",
            f"{batching.batches:,} an epoch, each of {batching.sentences:,.0f} pairs, "
            f"{batching.source_tokens:,.0f} source and {batching.target_tokens:,.0f} target tokens",
        ),
        ("", f"{100 * batching.padding:.1f} % of what is computed is padding"),
        (
            "steps",
            f"{batching.steps:,}, which is {batching.epochs:,.1f} epochs; warm-up "
            f"{settings.warmup_steps:,}; checkpoints {batching.checkpoints:,}, of which the last "
            f"{min(settings.average, batching.checkpoints):,} are averaged",
        ),
        *_memory(preflight),
    ]
    rows.append(("disk", f"{size(memory.checkpoints)} of checkpoints"))
    if timing:
        rows += _time(preflight)
    rows += _operations(preflight)
    return section("<<", [("Training", ""), *rows])


def _memory(preflight: Preflight) -> list[tuple[str, str]]:
    memory, timing = preflight.network.memory, preflight.timing
    peak = f"about {size(memory.estimated_peak)} at most, estimated"
    if timing and timing.peak_memory:
        peak = f"{size(timing.peak_memory)} at most, measured in these steps and in preparing"
    state = memory.weights + memory.gradients + memory.moments + memory.moving_average
    return [
        ("memory", peak),
        (
            "",
            f"weights, gradients and moments {size(state)}, activations of the largest batch "
            f"{size(memory.activations)}",
        ),
    ]


def _time(preflight: Preflight) -> list[tuple[str, str]]:
    timing = preflight.timing
    assert timing
    parts = "" if timing.share_timed == 1 else "parts of "
    rows = [
        (
            "time",
            f"{timing.seconds_per_step:,.2f} s a step, {timing.tokens_per_second:,.0f} target "
            f"tokens/s, measured on {parts}{timing.steps_timed} steps ({timing.device}, "
            f"{timing.threads} threads)",
        ),
        ("", f"{duration(3600 * timing.hours)} for all steps; validation comes on top"),
    ]
    if timing.busy:
        rows.append(("", "other work has kept the machine busy: alone it may be faster"))
    return rows


def _operations(preflight: Preflight) -> list[tuple[str, str]]:
    timing, operations = preflight.timing, preflight.operations
    rows = [
        (
            "FLOPs",
            f"{power(operations.counted)} counted in its matrix products, as the model's card does",
        ),
    ]
    if timing and operations.by_time:
        rows.append(
            (
                "",
                f"{power(operations.by_time)} by Table 2's method: the time × "
                f"{timing.machine_flops / 1e9:,.0f} GFLOP/s, this machine's best matrix product",
            )
        )
    return rows


def _verdict(preflight: Preflight) -> str:
    timing = preflight.timing
    steps = f"{preflight.batching.steps:,} steps"
    if timing is None:
        return f"This would train: {steps}."
    return (
        f"This would train: {steps} would finish in about {duration(3600 * timing.hours)} "
        "on this machine."
    )


def size(count: int) -> str:
    """Bytes in words.

    >>> size(1_610_612_736)
    '1.5 GiB'
    """
    if count < 2**30:
        return f"{count / 2**20:,.0f} MiB"
    return f"{count / 2**30:,.1f} GiB"


def power(number: float) -> str:
    """A large number as the paper writes it.

    >>> power(3.3e18)
    '3.3 · 10¹⁸'
    """
    mantissa, exponent = f"{number:.1e}".split("e")
    return f"{mantissa} · 10{str(int(exponent)).translate(SUPERSCRIPTS)}"


def duration(seconds: float) -> str:
    """A time in words, as exact as a guess can be.

    >>> duration(7790)
    '2 h 10 min'
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{hours / 24:,.1f} days"
