"""`transduce evaluate`: translate once, report every metric."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import click

from transduce.cli.options import (
    PATH,
    as_json,
    decoding,
    log,
    open_translator,
    reverse_option,
    searching,
)
from transduce.errors import InputError

FILE = click.Path(allow_dash=True)


@click.command("evaluate", short_help="Translate once and report every metric.")
@click.argument("src", type=FILE)
@click.argument("ref", type=FILE)
@click.option("--ref", "more", type=FILE, multiple=True, help="Another reference; may be repeated.")
@decoding
@searching
@reverse_option
@click.option("--translations", type=FILE, help="Score these translations instead of translating.")
@click.option("--against", type=FILE, help="Another system's translations, or a model.")
@click.option("--output", type=PATH, help="Save the translations here.")
@click.option("--record", type=PATH, help="Also write a result record, FILE.json.")
@click.option("--card", is_flag=True, help="Also write the scores into the model card.")
@click.option("--title", help="Title of the record and the card [default: the file name].")
@click.option(
    "--language",
    metavar="CODE",
    help="Language of the Moses tokenizer [default: from REF's name, or en].",
)
@as_json
def evaluate_command(
    src: str,
    ref: str,
    more: tuple[str, ...],
    model: str | tuple[str, ...] | None,
    engine: str,
    device: str,
    compute: str,
    beam: int,
    alpha: float,
    penalty: str,
    reverse: str | None,
    batch_size: int,
    translations: str | None,
    against: str | None,
    output: Path | None,
    record: Path | None,
    card: bool,
    title: str | None,
    language: str | None,
    as_json: bool,
) -> None:
    """Translate SRC once and compare the translations with the references REF.

    Prints BLEU, chrF2 and TER by sacreBLEU with their signatures; lowercased BLEU, detokenised and,
    as in papers on Multi30k, tokenised; the tokenised and compound-split BLEU of "Attention Is All
    You Need"; and the perplexity of the references. `sacrebleu REF -i FILE` on the file of --output
    gives the same numbers. --against adds paired bootstrap significance. --record writes the scores
    with search settings, model, checksums of the data, training, commit and machine.

    All files have one sentence per line; gzip and xz are detected, and one may be - (stdin).
    """
    from transduce.evaluate import report
    from transduce.evaluate.comparison import SAMPLES, compare
    from transduce.evaluate.inputs import check_record, check_writable, read_inputs
    from transduce.evaluate.metrics import corpus_scores
    from transduce.evaluate.output import SystemOutput, perplexity, translate, write_text
    from transduce.evaluate.text_checks import check_text
    from transduce.evaluate.tokenised import check_language, language_of
    from transduce.model_names import is_model, model_path
    from transduce.search import Search

    if translations and (model or output or reverse):
        raise InputError(
            f"{translations} has translations already: leave out --model, --reverse and --output, "
            "or --translations"
        )
    if reverse is not None and beam == 1:
        raise InputError("--reverse chooses among the translations of a beam of 2 or more")
    if card and not model:
        raise InputError("--card writes into a model directory: name it with --model")
    if language:
        check_language(language)
    read = [src, ref, *more, *(file for file in (translations, against) if file)]
    if output:
        check_writable(output, read)
    if record:
        check_record(record, [*read, *([str(output)] if output else [])])
    elif title and not card:
        raise InputError("--title is for --record or --card: give one of them")
    if isinstance(model, tuple) and (record or card):
        raise InputError("--record and --card describe one model: leave them out for an ensemble")
    path = None if translations or isinstance(model, tuple) else model_path(model, log=log)
    rival_model = model_path(against, log=log) if against and is_model(against) else None
    inputs = read_inputs(src, (ref, *more), translations, None if rival_model else against, log)
    load = partial(open_translator, engine=engine, device=device, compute=compute)
    used = " + ".join(model) if isinstance(model, tuple) else model or "en-de"
    translator = None if translations else load(path or model, reverse=reverse)
    rival = load(rival_model) if rival_model else None

    search = Search(beam=beam, alpha=alpha, penalty=penalty)  # type: ignore[arg-type]
    ours = SystemOutput(inputs.translations or [])
    if translator:
        with _counting("translating", len(inputs.sources)) as progress:
            ours = translate(translator, inputs.sources, search, batch_size, progress)
    if output:
        write_text(output, "".join(f"{line}\n" for line in ours.lines))
    texts = {
        "the references": [line for lines in inputs.references for line in lines],
        "the translations": ours.lines,
    }
    comparison = None
    if against:
        others = inputs.others or []
        if rival:
            with _counting(f"translating by {against}", len(inputs.sources)) as progress:
                others = translate(rival, inputs.sources, search, batch_size, progress).lines
        with _counting(f"comparing with {against}: {SAMPLES:,} resamples"):
            comparison = compare(ours.lines, others, inputs.references, against)
        texts[f"the translations of {against}"] = others
    for name, lines in texts.items():
        for warning in check_text(name, lines):
            log(f"warning: {warning}")
    likelihood = None
    if translator:
        pairs = len(inputs.sources) * len(inputs.references)
        with _counting("scoring the references", pairs) as progress:
            likelihood = perplexity(
                translator, inputs.sources, inputs.references, batch_size, log, progress
            )
    with _counting("computing BLEU, chrF2 and TER"):
        scores = corpus_scores(ours.lines, inputs.references, language or language_of(ref))
    system_name = None if translations else used
    evaluation = report.Evaluation(
        system_name or str(translations), system_name, ours, scores, likelihood, comparison
    )
    if record:
        from transduce.evaluate.record import System, record_of, write_record

        system = System(path, search, reverse) if path else None
        facts = report.facts_of(evaluation)
        stem, today = record.stem, datetime.now(UTC).date()
        found = record_of(stem, title or stem, facts, src, (ref, *more), system, today)
        write_record(record, found)
    if card and path:
        from transduce.evaluate.card import write_scores

        write_scores(path, title or Path(ref).name, evaluation, search, reverse)
    click.echo(report.to_json(evaluation) if as_json else report.render(evaluation))


@contextmanager
def _counting(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A bar with a count and the time left, on a terminal only; called with what is done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Left

    console, text = Console(stderr=True), TextColumn("{task.description}", markup=False)
    counts = (MofNCompleteColumn(), Left(), TextColumn("left")) if total else ()
    columns, hidden = (text, BarColumn(bar_width=20), *counts), not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.update(task, completed=done)
