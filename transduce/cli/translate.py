"""`transduce translate`: text to text."""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from transduce.cli.options import as_json, decoding, searching
from transduce.errors import InputError

_LINE_END = re.compile("[\x7f-\x9f\u2028\u2029]")

if TYPE_CHECKING:
    from transduce.translate.translator import Alternative, Translation


@click.command("translate", short_help="Translate text: arguments, standard input, or a file.")
@click.argument("text", nargs=-1)
@click.option(
    "--input",
    "source",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Translate each line of this file; it may be gzip or xz.",
)
@click.option("--output", type=click.Path(path_type=Path), help="Write the translations here.")
@click.option("--resume", is_flag=True, help="Go on with a half-written --output.")
@decoding
@searching
@click.option("--n-best", type=click.IntRange(min=1), default=1, help="Give so many of each.")
@click.option("--prefix", default="", help="How every translation must begin.")
@click.option("--sentences", is_flag=True, help="Translate each sentence of a line by itself.")
@click.option("--alignments", is_flag=True, help="With --json: which words belong together.")
@as_json
def translate_command(
    text: tuple[str, ...],
    source: Path | None,
    output: Path | None,
    resume: bool,
    model: Path | None,
    engine: str,
    batch_size: int,
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

    As many lines come out as went in, in order; a blank line stays blank, and a line that is too
    long for the model is translated in pieces and joined again. With --json a line becomes an
    object with text, translation, score, tokens and flags; where a line of the input is an object
    itself, its "text" is translated and its other fields are kept. With --n-best, each line has its
    number, a translation and its score between " ||| ".
    """
    from transduce.search import Search
    from transduce.translate.lines import OutputFile
    from transduce.translate.progress import Progress
    from transduce.translate.translator import CHUNK, Translator

    if text and source:
        raise InputError("TEXT and --input are both given: translate one or the other")
    if resume and not output:
        raise InputError("--resume goes on with a file: name it with --output")
    if n_best > beam:
        raise InputError(f"--n-best {n_best} needs a beam at least as wide: add --beam {n_best}")
    if resume and n_best > 1 and not as_json:
        raise InputError("--resume counts one line for each input: with --n-best it needs --json")
    if alignments and not as_json:
        raise InputError("--alignments are a field of --json: add it")
    search = Search(beam=beam, alpha=alpha, penalty=penalty, n_best=n_best)  # type: ignore[arg-type]
    if not text:
        _check_source(source)
    translator = Translator.load(model, engine=engine, log=_log)
    with ExitStack() as stack:
        lines = iter(text) if text else _lines(source, stack)
        records = (_record(line, as_json) for line in lines)
        out = stack.enter_context(OutputFile(output, resume)) if output else None
        if out:
            out.skip(records)
        progress = stack.enter_context(Progress(quiet=bool(text)))
        fields: list[dict[str, Any]] = []

        def sentences_of() -> Iterator[str]:
            for record in records:
                fields.append(record)
                yield record["text"]

        results = translator.stream(
            sentences_of(),
            search,
            batch_size,
            chunk=1 if not text and source is None and sys.stdin.isatty() else CHUNK,
            scores=as_json or n_best > 1,
            alignments=alignments,
            prefix=prefix,
            by_sentence=sentences,
        )
        for number, result in enumerate(results, start=out.done if out else 0):
            record = fields.pop(0)
            for line in _written(number, record, result, n_best, alignments, as_json):
                out.write(line) if out else click.echo(line)
            progress.count(result)


def _written(
    number: int,
    record: dict[str, Any],
    result: "Translation",
    n_best: int,
    alignments: bool,
    as_json: bool,
) -> list[str]:
    """The lines that stand for one input."""
    if as_json:
        entry = {**record, "translation": result.translation, "score": result.score}
        entry |= {"tokens": list(result.tokens), "flags": list(result.flags)}
        entry["token_scores"] = list(result.token_scores)
        if n_best > 1:
            entry["alternatives"] = [_entry(alternative) for alternative in result.alternatives]
        if alignments:
            entry["alignment"] = result.alignment
        return [json_line(entry)]
    if n_best == 1:
        return [result.translation]
    ranked = result.alternatives or (result,)
    return [f"{number} ||| {one.translation} ||| {one.score:.4f}" for one in ranked]


def json_line(entry: dict[str, Any]) -> str:
    """An object on one line, for every reader: characters that some break lines at are escaped."""
    line = json.dumps(entry, ensure_ascii=False)
    return _LINE_END.sub(lambda match: f"\\u{ord(match[0]):04x}", line)


def _entry(alternative: "Alternative") -> dict[str, Any]:
    return {
        "translation": alternative.translation,
        "score": alternative.score,
        "tokens": list(alternative.tokens),
    }


def _record(line: str, as_json: bool) -> dict[str, Any]:
    """An input's fields: those of a JSON object that has a text, or the line itself."""
    if as_json and line.lstrip().startswith("{"):
        try:
            fields = json.loads(line)
        except ValueError:
            fields = None
        if isinstance(fields, dict) and isinstance(fields.get("text"), str):
            return fields
    return {"text": line}


def _check_source(source: Path | None) -> None:
    if source is None or str(source) == "-":
        return
    if source.is_dir():
        raise InputError(f"{source} is a directory: give a file")
    if not source.exists():
        raise InputError(f"there is no file {source}")


def _lines(source: Path | None, stack: ExitStack) -> Iterator[str]:
    from transduce.corpus.reading import TextFile
    from transduce.translate.lines import read_lines

    lines = stack.enter_context(TextFile("-" if source is None else str(source)))
    return read_lines(lines.raw(endless=True), _log)


def _log(message: str) -> None:
    click.echo(message, err=True)
