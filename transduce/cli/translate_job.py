"""What `transduce translate` does with lines and with HTML documents."""

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from transduce.cli.options import log

if TYPE_CHECKING:
    from transduce.translate.cluster import RayTranslator
    from transduce.translate.join import Translation
    from transduce.translate.lines import Pace
    from transduce.translate.options import TranslateOptions
    from transduce.translate.output import Mode, OutputFile
    from transduce.translate.shards import Part
    from transduce.translate.translator import Translator


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
    part: "Part | None" = None  # of the source
    processes: int = 1  # that translate at the same time


def translate_html_documents(translator: "Translator | RayTranslator", job: Job) -> None:
    """Translates each argument, or the whole input, as an HTML document."""
    from transduce import atomic
    from transduce.corpus.reading import TextFile
    from transduce.translate.html import translate_html
    from transduce.translate.output import compressed_file

    documents = list(job.text)
    if not documents:
        with TextFile("-" if job.source is None else str(job.source)) as file, file.reading():
            content = file.stream.read()
        documents = [content.decode("utf-8", "replace")]
        if "\ufffd" in documents[0] and "\ufffd".encode() not in content:
            log("the input is not UTF-8; invalid bytes are replaced by U+FFFD: convert it first")
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(translate_html, translator, documents, job.options).result()
    if not job.output:
        for text in found:
            click.echo(text, nl=bool(job.text))
        return
    html = "".join(f"{text}\n" for text in found) if job.text else found[0]
    with atomic.file(job.output) as aside, compressed_file(job.output, aside) as stream:
        stream.write(html.encode("utf-8", "replace"))


def translate_shard(translator: "Translator | RayTranslator", job: Job) -> None:
    """Translates a part of the lines of a file, unless that is done already."""
    from transduce.translate.shards import finish_shard, shard_record

    assert job.part
    assert job.output
    done = shard_record(job.output)
    if done and done["settings"] == job.settings and job.mode != "restart":
        log(f"{job.output} is complete already")
        return
    finish_shard(job.output, job.settings, translate_lines(translator, job))


def translate_lines(translator: "Translator | RayTranslator", job: Job) -> int:
    """Translates in chunks of a few seconds, and returns the number of inputs.

    Ctrl-C ends the process at once.
    """
    from transduce.model_names import bundled_hint
    from transduce.translate.language import mostly
    from transduce.translate.lines import Pace, chunks, count_lines
    from transduce.translate.output import OutputFile
    from transduce.translate.progress import Progress
    from transduce.translate.records import output_lines, read_records, text_of, with_flag
    from transduce.translate.translator import CHUNK

    number, out, pace, unasked, hint = 0, None, Pace(), job.unasked, bundled_hint("de")
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
            lines, ready = _lines(job, stack)
            records = read_records(lines, job.as_json, job.paragraphs)
            if job.output:
                out = stack.enter_context(OutputFile(job.output, job.mode, job.settings))
                if kept := out.skip(records):
                    out.compare([line for _, some in outputs(kept) for line in some])
                number = out.done
            file = job.source if job.source and job.source.is_file() else None
            total = (
                job.part.count if job.part else partial(count_lines, str(file)) if file else None
            )
            typed = not job.text and not file and sys.stdin.isatty()
            progress = stack.enter_context(Progress(bool(job.text), total, number, not typed))
            counted = _counted(records, pace)
            for some in chunks(counted, CHUNK * job.processes, lambda: pace.room() and ready()):
                if unasked and mostly("de", (text_of(record) or "" for record in some)):
                    with progress.hidden():
                        log(f"the text is German, but the model translates English{hint}")
                    unasked = False
                made = outputs(some)
                with nullcontext() if out else progress.hidden():
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
    return number


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


def _lines(job: Job, stack: ExitStack) -> tuple[Iterator[str], Callable[[], bool]]:
    """The lines to translate, and whether the next one can be read without waiting."""
    from transduce.corpus.reading import TextFile
    from transduce.translate.lines import ArrivingLines, decode_lines

    if job.text:
        return iter(job.text), lambda: True
    file = stack.enter_context(TextFile("-" if job.source is None else str(job.source)))
    if job.part:
        return decode_lines(job.part.lines(file), log, job.part.first), lambda: True
    lines = ArrivingLines(file)
    return decode_lines(lines, log), lines.ready
