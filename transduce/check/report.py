"""The preflight on a page, and as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict

from transduce.check.advice import duration, hopeless_of, warnings_of
from transduce.check.overlap import RUN
from transduce.check.preflight import Preflight
from transduce.check.text import Example
from transduce.check.vocabulary import RARE
from transduce.log import plural
from transduce.table import paragraph, render_list, render_table, terminal_width
from transduce.train.run import flat

FORMAT_VERSION = 1
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def to_json(preflight: Preflight) -> str:
    """The same facts under stable names."""
    facts = {
        **asdict(preflight),
        "settings": flat(preflight.settings),
        "warnings": warnings_of(preflight),
    }
    return json.dumps({"format_version": FORMAT_VERSION, **facts}, indent=2, ensure_ascii=False)


def render(preflight: Preflight) -> str:
    """Sections of aligned numbers, then the warnings, then the verdict."""
    timing, steps = preflight.timing, plural(preflight.batching.steps, "step")
    when = f" would finish in about {duration(timing.hours)} on this machine" if timing else ""
    hopeless = " That is hopeless: see the warning." if hopeless_of(preflight) else ""
    parts = [
        _counts(preflight),
        _lengths(preflight),
        _pairs(preflight),
        _unusual(preflight),
        _overlap(preflight),
        render_list("Training", {**_network(preflight), **_cost(preflight)}),
        "\n".join(paragraph(f"warning: {w}", rest="  ") for w in warnings_of(preflight)),
        paragraph(f"This would train: {steps}{when}.{hopeless}"),
    ]
    return "\n\n".join(filter(None, parts))


def _counts(preflight: Preflight) -> str:
    rows = [
        (corpus, file.file, file.side, f"{file.lines:,}", f"{file.characters:,}")
        for corpus, survey in preflight.corpora.items()
        for file in survey.files
    ]
    headings = ("", "file", "side", "lines", "characters")
    return render_table("Text", headings, "<<<>>", once(rows))


def _lengths(preflight: Preflight) -> str:
    rows = [
        (
            corpus,
            f"{side} {unit}",
            f"{of.mean:,.1f}",
            *numbers(of.median, of.p95, of.p99, of.longest),
        )
        for corpus, survey in preflight.corpora.items()
        for unit, sides in (("characters", survey.characters), ("tokens", survey.tokens))
        for side, of in sides.items()
    ]
    headings = ("", "", "mean", "median", "95 %", "99 %", "longest")
    return render_table("Length", headings, "<<>>>>>", once(rows))


def once(rows: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """The rows, of which the first cell is left empty where it repeats the one above."""
    above = ["", *(row[0] for row in rows)]
    return [("" if row[0] == a else row[0], *row[1:]) for row, a in zip(rows, above, strict=False)]


def numbers(*counts: int) -> list[str]:
    return [f"{count:,}" for count in counts]


def _pairs(preflight: Preflight) -> str:
    lines = ["Pairs"]
    for name, survey in preflight.corpora.items():
        held = f", {survey.held_out:,} held out for validation" if survey.held_out else ""
        options = [f"weight {survey.weight:g}"] * (survey.weight != 1)
        options += [f"tag {survey.tag}"] * bool(survey.tag)
        how = f" ({', '.join(options)})" * bool(options)
        lines.append(f"  {name:<11} {survey.read:,} read, {survey.kept:,} kept{held}{how}")
        lines += [
            f"    {count:,} added by noise: {kind.replace('_', ' ')}"
            for kind, count in survey.noise.items()
        ]
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
    return "\n".join(lines)


def _shown(example: Example) -> str:
    tokens = f" ({example.tokens:,} tokens)" if example.tokens else ""
    start = f"{example.where}{tokens}: "
    room = (terminal_width() - 6 - len(start) - 7) // 2
    return f"{start}{cut(example.source, room)!r} | {cut(example.target, room)!r}"


def cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(1, width - 1)] + "…"


def _unusual(preflight: Preflight) -> str:
    notes = [
        paragraph(note, "  ", "    ")
        for survey in preflight.corpora.values()
        for note in survey.notes
    ]
    rows = [
        (corpus, line.side, line.what, f"{line.lines:,}", f"{100 * line.share:.2f} %", line.first)
        for corpus, survey in preflight.corpora.items()
        for line in survey.unusual
    ]
    if not rows:
        return "\n".join(["Unusual", *(notes or ["  nothing"])])
    headings = ("", "side", "lines with", "lines", "share", "first")
    return "\n".join([render_table("Unusual", headings, "<<<>><", once(rows)), *notes])


def _overlap(preflight: Preflight) -> str:
    title, found = "Overlap with the training data", preflight.overlaps
    if not found:
        return f"{title}\n  none: validation data is held out from it"
    what = {
        "sentences": "sentences",
        "source": "source is there",
        "target": "target is there",
        "pair": "the whole pair is there",
        "near": f"others that share {RUN} words in a row",
        "long_enough": f"have {RUN} words in a row at all",
    }
    rows = [
        (text, *numbers(*(getattr(overlap, name) for overlap in found.values())))
        for name, text in what.items()
    ]
    lines = [render_table(title, ("", *found), "<" + ">" * len(found), rows)]
    for overlap in found.values():
        for example in overlap.examples:
            sign = "≈" if example.match == "near" else "="
            start = f"    {example.where} {sign} {example.training}: "
            lines.append(start + repr(cut(example.text, terminal_width() - len(start) - 2)))
    return "\n".join(lines)


def _network(preflight: Preflight) -> dict[str, list[str]]:
    vocabulary, epoch, network = preflight.vocabulary, preflight.batching, preflight.network
    assert network
    settings, model = preflight.settings.train, preflight.settings.model
    asked = f", not {vocabulary.asked:,}: all that the corpus supports"
    return {
        "vocabulary": [
            f"{vocabulary.size:,} tokens{asked if vocabulary.size != vocabulary.asked else ''}",
            f"{vocabulary.rare:,} of them are seen fewer than {RARE} times; single bytes are "
            f"{100 * vocabulary.bytes_in_training:.2f} % of the text",
            *vocabulary.notes,
        ],
        "model": [
            f"{network.parameters:,} parameters: {model.encoder_depth} + {model.decoder_depth} "
            f"layers, d_model {model.d_model}, d_ff {model.d_ff}, {model.n_heads} heads"
        ],
        "batches": [
            f"{epoch.batches:,} an epoch, each of {epoch.sentences:,.0f} pairs, "
            f"{epoch.source_tokens:,.0f} source and {epoch.target_tokens:,.0f} target tokens",
            f"{100 * epoch.padding:.1f} % of what is computed is padding",
        ],
        "steps": [
            f"{epoch.steps:,}, which is {epoch.epochs:,.1f} epochs; warm-up "
            f"{settings.warmup_steps:,}; checkpoints {epoch.checkpoints:,}, of which the last "
            f"{min(settings.average, epoch.checkpoints):,} are averaged"
        ],
    }


def _cost(preflight: Preflight) -> dict[str, list[str]]:
    """Memory, disk, time and operations."""
    assert preflight.network
    memory, timing, operations = preflight.network.memory, preflight.timing, preflight.operations
    peak = f"about {size(memory.estimated_peak)} at most, estimated"
    if timing and timing.peak_memory:
        peak = f"{size(timing.peak_memory)} at most, measured in these steps and in preparing"
    state = memory.weights + memory.gradients + memory.moments + memory.moving_average
    lines = {
        "memory": [
            peak,
            f"weights, gradients and moments {size(state)}, activations of the largest batch "
            f"{size(memory.activations)}",
        ],
        "disk": [f"{size(memory.checkpoints)} of checkpoints"],
        "time": [],
        "FLOPs": [
            f"{power(operations.counted)} counted in its matrix products, as in the model's card"
        ],
    }
    if timing:
        parts = "" if timing.share_timed == 1 else "parts of "
        lines["time"] = [
            f"{timing.seconds_per_step:,.2f} s a step, {timing.tokens_per_second:,.0f} target "
            f"tokens/s, measured on {parts}{plural(timing.steps_timed, 'step')} ({timing.device}, "
            f"{plural(timing.threads, 'thread')})",
            f"{duration(timing.hours)} for all steps; validation comes on top",
        ]
        if timing.busy:
            lines["time"].append("other work has kept the machine busy: alone it may be faster")
    if timing and operations.by_time:
        lines["FLOPs"].append(
            f"{power(operations.by_time)} by Table 2's method: the time × "
            f"{timing.machine_flops / 1e9:,.0f} GFLOP/s, this machine's best matrix product"
        )
    return lines


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
