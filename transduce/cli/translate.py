"""`transduce translate`: text to text."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from transduce.cli.options import (
    PATH,
    as_json,
    at_least_one,
    decoding,
    log,
    open_translator,
    searching,
)
from transduce.errors import InputError

NO_TEXT = "no-text"  # the flag of a JSON object whose "text" is missing or not a string
DEEPEST = 100  # levels of nesting; a deeper JSON line is translated as text

if TYPE_CHECKING:
    from transduce.translate.join import Alternative, Translation
    from transduce.translate.options import TranslateOptions


@click.command("translate", short_help="Translate text: arguments, standard input, or a file.")
@click.argument("text", nargs=-1)
@click.option(
    "--input",
    "source",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Translate the lines of this file; gzip and xz are detected.",
)
@click.option("--output", type=PATH, help="Write the translations to this file.")
@click.option("--resume", is_flag=True, help="Continue an incomplete --output.")
@decoding
@click.option(
    "--to", metavar="CODE", help="Target language of a bundled model [default: de, from English]."
)
@searching
@click.option("--n-best", type=at_least_one, default=1, help="Number of translations per line.")
@click.option("--prefix", default="", help="Every translation must begin with this text.")
@click.option(
    "--sentences", is_flag=True, help="Split lines into sentences and translate them separately."
)
@click.option("--alignments", is_flag=True, help="With --json: word alignments.")
@as_json
def translate_command(
    text: tuple[str, ...],
    source: Path | None,
    output: Path | None,
    resume: bool,
    model: str | None,
    engine: str,
    device: str,
    compute: str,
    batch_size: int,
    to: str | None,
    beam: int,
    alpha: float,
    penalty: str,
    n_best: int,
    prefix: str,
    sentences: bool,
    alignments: bool,
    as_json: bool,
) -> None:
    """Translate TEXT, or each line of standard input or of a file.

    Every input line gives one output line, in order. A blank line stays blank, and a line that is
    too long for the model is translated in pieces. With --json an output line is an object with
    text, translation, score, tokens and flags; if an input line is a JSON object, its "text" is
    translated and its other fields are kept; one without a "text" is flagged "no-text" and has an
    empty translation. With --n-best, an output line is the number of the
    input line, a translation and its score, separated by " ||| ".
    """
    from transduce.model_names import bundled_hint, model_path
    from transduce.search import Search
    from transduce.translate.language import mostly
    from transduce.translate.lines import OutputFile, chunks
    from transduce.translate.options import TranslateOptions
    from transduce.translate.progress import Progress
    from transduce.translate.translator import CHUNK

    if text and source:
        raise InputError("TEXT and --input are both given: translate one or the other")
    if resume and not output:
        raise InputError("--resume continues a file: name it with --output")
    if n_best > beam:
        raise InputError(f"--n-best {n_best} needs a beam at least as wide: add --beam {n_best}")
    if resume and n_best > 1 and not as_json:
        raise InputError("--resume needs one output line per input line: with --n-best, add --json")
    if alignments and not as_json:
        raise InputError("--alignments are a field of the JSON output: add --json")
    options = TranslateOptions(
        Search(beam=beam, alpha=alpha, penalty=penalty, n_best=n_best),  # type: ignore[arg-type]
        batch_size,
        scores=as_json or n_best > 1,
        alignments=alignments,
        prefix=prefix,
        by_sentence=sentences,
    )
    if not text:
        _check_source(source)
    translator = open_translator(model_path(model, to, log), engine, device, compute)
    unasked = model is None and to is None
    with ExitStack() as stack:
        lines, ready = _lines(text, source, stack)
        records = (_record(line, as_json) for line in lines)
        out = stack.enter_context(OutputFile(output, resume)) if output else None
        if out:
            out.skip(records)
        number = out.done if out else 0
        progress = stack.enter_context(Progress(quiet=bool(text)))
        for some in chunks(records, CHUNK, ready):
            texts = [_text(record) or "" for record in some]
            if unasked and mostly("de", texts):
                log(f"the text is German, but the model translates English{bundled_hint('de')}")
                unasked = False
            results = translator.results(texts, options)
            for record, result in zip(some, results, strict=True):
                if _text(record) is None:
                    result = replace(result, flags=(NO_TEXT,))
                for line in _written(number, record, result, options, as_json):
                    out.write(line) if out else click.echo(line)
                number += 1
                progress.count(result)


def _written(
    number: int,
    record: dict[str, Any],
    result: "Translation",
    options: "TranslateOptions",
    as_json: bool,
) -> list[str]:
    """The output lines of one input."""
    from transduce.translate.lines import json_line

    if as_json:
        entry = {**record, "translation": result.translation, "score": result.score}
        entry |= {"tokens": list(result.tokens), "flags": list(result.flags)}
        entry["token_scores"] = list(result.token_scores)
        if options.search.n_best > 1:
            entry["alternatives"] = [_entry(alternative) for alternative in result.alternatives]
        if options.alignments:
            entry["alignment"] = result.alignment
        return [json_line(entry)]
    if options.search.n_best == 1:
        return [result.translation]
    ranked = result.alternatives or (result,)
    return [f"{number} ||| {one.translation} ||| {one.score:.4f}" for one in ranked]


def _entry(alternative: "Alternative") -> dict[str, Any]:
    return {
        "translation": alternative.translation,
        "score": alternative.score,
        "tokens": list(alternative.tokens),
    }


def _record(line: str, as_json: bool) -> dict[str, Any]:
    """The fields of an input: those of a JSON object, or the line as "text"."""
    if as_json and line.lstrip().startswith("{"):
        try:
            fields = json.loads(line)
        except (ValueError, RecursionError):
            fields = None
        if isinstance(fields, dict) and _flat(fields):
            return fields
    return {"text": line}


def _text(record: dict[str, Any]) -> str | None:
    """The text of a record, if it has one."""
    text = record.get("text")
    return text if isinstance(text, str) else None


def _flat(value: object) -> bool:
    """Whether a JSON value is not nested too deeply to be written again."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return not level


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
