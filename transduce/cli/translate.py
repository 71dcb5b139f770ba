"""`transduce translate`: text to text."""

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from transduce.cli.options import (
    PATH,
    as_json,
    at_least_one,
    decoding,
    log,
    open_translator,
    sampling,
    searching,
)
from transduce.errors import InputError

SENTENCES = {"auto": None, "on": True, "off": False}

if TYPE_CHECKING:
    from transduce.translate.join import Translation
    from transduce.translate.lines import Pace
    from transduce.translate.options import TranslateOptions
    from transduce.translate.output import Mode, OutputFile
    from transduce.translate.translator import Translator


class SentencesCommand(click.Command):
    """Lets --sentences stand without a value, for "on"."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        spread: list[str] = []
        for word, following in zip_longest(args, args[1:], fillvalue=""):
            spread.append(word)
            if word == "--sentences" and following not in SENTENCES and "--" not in spread:
                spread.append("on")
        return super().parse_args(ctx, spread)


@click.command(
    "translate",
    cls=SentencesCommand,
    short_help="Translate text: arguments, standard input, or a file.",
)
@click.argument("text", nargs=-1)
@click.option(
    "--input",
    "source",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Translate the lines of this file; gzip and xz are detected.",
)
@click.option(
    "--output",
    type=PATH,
    help="Write the translations to this file, compressed if it ends in .gz or .xz. "
    "If the command is interrupted, the same command continues.",
)
@click.option("--restart", is_flag=True, help="Discard an incomplete --output and begin anew.")
@click.option(
    "--resume",
    is_flag=True,
    help="Continue also a complete --output, for an input that has grown.",
)
@decoding
@click.option(
    "--to", metavar="CODE", help="Target language of a bundled model [default: de, from English]."
)
@searching
@click.option("--n-best", type=at_least_one, default=1, help="Number of translations per line.")
@click.option("--sample", is_flag=True, help="Sample translations instead of searching.")
@sampling
@click.option("--prefix", default="", help="Every translation must begin with this text.")
@click.option(
    "--sentences",
    type=click.Choice(list(SENTENCES)),
    default="auto",
    show_default=True,
    help="Split lines into sentences and translate them separately; auto does so if the lines "
    "that the model was trained on were single sentences.",
)
@click.option(
    "--paragraphs",
    is_flag=True,
    help="Join the lines of a paragraph, up to the next blank line: one output line per paragraph.",
)
@click.option("--alignments", is_flag=True, help="With --json: word alignments.")
@as_json
def translate_command(
    text: tuple[str, ...],
    source: Path | None,
    output: Path | None,
    restart: bool,
    resume: bool,
    model: str | tuple[str, ...] | None,
    engine: str,
    device: str,
    compute: str,
    batch_size: int,
    to: str | None,
    beam: int,
    alpha: float,
    penalty: str,
    n_best: int,
    sample: bool,
    temperature: float,
    top_k: int | None,
    top_p: float,
    seed: int,
    prefix: str,
    sentences: str,
    paragraphs: bool,
    alignments: bool,
    as_json: bool,
) -> None:
    """Translate TEXT, or each line of standard input or of a file.

    Every input line gives one output line, in order. A blank line stays blank, and a line that is
    too long for the model is translated in pieces. With --json an output line is an object with
    text, translation, score, tokens and flags; if an input line is a JSON object, its "text" is
    translated and its other fields are kept. With --n-best, an output line is the number of the
    input line, a translation and its score, separated by " ||| ". docs/output.md explains every
    field and flag.

    The bundled models translate short everyday sentences; they are not made for news, law or
    technical text.
    """
    from transduce.model_names import model_path
    from transduce.search import Sampling, Search
    from transduce.translate.options import TranslateOptions

    if text and source:
        raise InputError("TEXT and --input are both given: translate one or the other")
    if resume and restart:
        raise InputError("--resume and --restart are both given: continue or begin anew")
    for option, given in (("--resume", resume), ("--restart", restart)):
        if given and not output:
            verb = "continues" if resume else "begins"
            raise InputError(f"{option} {verb} a file: name it with --output")
    if not sample and (temperature != 1 or top_k or top_p != 1 or seed != 1):
        raise InputError("--temperature, --top-k, --top-p and --seed need --sample: add it")
    if n_best > beam and not sample:
        raise InputError(f"--n-best {n_best} needs a beam at least as wide: add --beam {n_best}")
    if resume and n_best > 1 and not as_json:
        raise InputError("--resume needs one output line per input line: with --n-best, add --json")
    if alignments and not as_json:
        raise InputError("--alignments are a field of the JSON output: add --json")
    options = TranslateOptions(
        Search(
            beam=1 if sample else beam,
            alpha=alpha,
            penalty=penalty,  # type: ignore[arg-type]
            n_best=n_best,
            sampling=Sampling(temperature, top_k, top_p) if sample else None,
            seed=seed,
        ),
        batch_size,
        scores=as_json or n_best > 1,
        alignments=alignments,
        prefix=prefix,
        by_sentence=SENTENCES[sentences],
    )
    if not text:
        _check_source(source)
        if source is None and sys.stdin.isatty():
            log("type text to translate, a line at a time; Ctrl-D ends")
    if isinstance(model, tuple):
        if to is not None:
            raise InputError("--to chooses a bundled model: leave out --to or --model")
        translator = open_translator(model, engine, device, compute)
    else:
        translator = open_translator(model_path(model, to, log), engine, device, compute)
    settings = {
        "model": translator.fingerprint,
        "engine": f"{translator.engine.name} {translator.engine.compute}",
        "--beam": str(beam),
        "--alpha": str(alpha),
        "--penalty": penalty,
        "--n-best": str(n_best),
        "--sample": f"{temperature} {top_k} {top_p} {seed}" if sample else "off",
        "--prefix": repr(prefix),
        "--sentences": sentences,
        "--paragraphs": _on(paragraphs),
        "--alignments": _on(alignments),
        "--json": _on(as_json),
    }
    mode: Mode = "restart" if restart else "resume" if resume else "continue"
    unasked = model is None and to is None
    job = Job(text, source, output, mode, settings, options, paragraphs, as_json, unasked)
    _translate(translator, job)


@dataclass(frozen=True)
class Job:
    """What to translate, where to and how."""

    text: tuple[str, ...]
    source: Path | None
    output: Path | None
    mode: "Mode"
    settings: dict[str, str]
    options: "TranslateOptions"
    paragraphs: bool
    as_json: bool
    unasked: bool  # neither a model nor a language was named


def _translate(translator: "Translator", job: Job) -> None:
    """Translates in chunks of a few seconds; Ctrl-C ends the process at once."""
    from transduce.model_names import bundled_hint
    from transduce.translate.language import mostly
    from transduce.translate.lines import Pace, chunks, count_lines
    from transduce.translate.output import OutputFile
    from transduce.translate.progress import Progress
    from transduce.translate.records import output_lines, read_records, text_of, with_flag
    from transduce.translate.translator import CHUNK

    number, out, pace, unasked = 0, None, Pace(), job.unasked
    written = partial(output_lines, options=job.options, as_json=job.as_json)
    # in a thread, because Ctrl-C cannot interrupt a call of the engine
    pool = ThreadPoolExecutor(1)

    def outputs(records: list[dict[str, Any]]) -> list[tuple["Translation", list[str]]]:
        texts = [text_of(record) or "" for record in records]
        results = pool.submit(translator.results, texts, job.options).result()
        found = [with_flag(*pair) for pair in zip(records, results, strict=True)]
        rows = enumerate(zip(records, found, strict=True))
        return [(result, written(number + n, record, result)) for n, (record, result) in rows]

    try:
        with ExitStack() as stack:
            lines, ready = _lines(job.text, job.source, stack)
            records = read_records(lines, job.as_json, job.paragraphs)
            if job.output:
                out = stack.enter_context(OutputFile(job.output, job.mode, job.settings))
                if kept := out.skip(records):
                    out.compare([line for _, some in outputs(kept) for line in some])
                number = out.done
            file = job.source if job.source and job.source.is_file() else None
            total = partial(count_lines, str(file)) if file else None
            typed = not job.text and not file and sys.stdin.isatty()
            progress = stack.enter_context(Progress(bool(job.text), total, number, not typed))
            counted = _counted(records, pace)
            for some in chunks(counted, CHUNK, lambda: pace.room() and ready()):
                if unasked and mostly("de", (text_of(record) or "" for record in some)):
                    log(f"the text is German, but the model translates English{bundled_hint('de')}")
                    unasked = False
                made = outputs(some)
                with progress.hidden():
                    for line in (line for _, some_lines in made for line in some_lines):
                        out.write(line) if out else click.echo(line)
                if out:
                    out.finish(some)
                for record, (result, _) in zip(some, made, strict=True):
                    number += 1
                    progress.count(result, record["lines"][1] if job.paragraphs else number)
                pace.end()
    except KeyboardInterrupt:
        _stop(job, out)
    pool.shutdown()


def _stop(job: Job, out: "OutputFile | None") -> NoReturn:
    """Ends the process without waiting for the engine."""
    if out and out.done:
        partial_file = out.file.with_name(out.partial.name)
        finished = f"{out.done:,} finished line{'s are' if out.done > 1 else ' is'} in"
        log(f"stopped; {finished} {partial_file}: the same command continues")
    elif job.source:
        log("stopped; with --output FILE the same command would continue here")
    with suppress(OSError):
        sys.stdout.flush()
    os._exit(130)


def _counted(records: Iterator[dict[str, Any]], pace: "Pace") -> Iterator[dict[str, Any]]:
    from transduce.translate.records import text_of

    for record in records:
        pace.add(text_of(record) or "")
        yield record


def _on(flag: bool) -> str:
    return "on" if flag else "off"


def _check_source(source: Path | None) -> None:
    if source is None or str(source) == "-":
        return
    if source.is_dir():
        raise InputError(f"{source} is a directory: give a file")
    if not source.exists():
        raise InputError(f"there is no file {source}")


def _lines(
    text: tuple[str, ...], source: Path | None, stack: ExitStack
) -> tuple[Iterator[str], Callable[[], bool]]:
    """The lines to translate, and whether the next one can be read without waiting."""
    from transduce.corpus.reading import TextFile
    from transduce.translate.lines import ArrivingLines, decode_lines

    if text:
        return iter(text), lambda: True
    lines = ArrivingLines(stack.enter_context(TextFile("-" if source is None else str(source))))
    return decode_lines(lines, log), lines.ready
