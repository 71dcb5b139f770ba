"""`transduce translate`: text to text."""

import re
import sys
from contextlib import ExitStack
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

import click

from transduce.cli.options import (
    PATH,
    NewFile,
    as_json,
    at_least_one,
    decoding,
    log,
    open_translator,
    reverse_option,
    sampling,
    searching,
)
from transduce.cli.translate_job import (
    Job,
    translate_html_documents,
    translate_lines,
    translate_shard,
)
from transduce.errors import InputError

SENTENCES = {"auto": None, "on": True, "off": False}

if TYPE_CHECKING:
    from transduce.translate.output import Mode
    from transduce.translate.translator import Translator


# options that may stand without a value: what a value looks like, and which is meant
OPTIONAL = {
    "--sentences": ("|".join(SENTENCES), "on"),
    "--ray": (r"auto|local|(?:ray://)?[\w.-]+:\d+", "local"),
}


class TranslateCommand(click.Command):
    """Lets --sentences and --ray stand without a value."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        spread: list[str] = []
        for word, following in zip_longest(args, args[1:], fillvalue=""):
            spread.append(word)
            value, meant = OPTIONAL.get(word, ("", ""))
            if meant and "--" not in spread and not re.fullmatch(value, following):
                spread.append(meant)
        return super().parse_args(ctx, spread)


@click.command(
    "translate",
    cls=TranslateCommand,
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
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "html"]),
    default="text",
    show_default=True,
    help="html: translate the text of an HTML document; its tags stay with their words.",
)
@click.option(
    "--shard",
    metavar="I/N",
    help="Translate only the Ith of N parts of --input, to OUTPUT.I-of-N.",
)
@click.option(
    "--merge",
    type=NewFile(),
    metavar="OUTPUT",
    help="Join the outputs of all shards to OUTPUT, if none is missing; nothing is translated.",
)
@click.option(
    "--ray",
    metavar="[ADDRESS]",
    help="Translate on a Ray cluster, in one process per core: auto, HOST:PORT or ray://HOST:PORT; "
    "without ADDRESS on this machine.",
)
@decoding
@click.option(
    "--to", metavar="CODE", help="Target language of a bundled model [default: de, from English]."
)
@searching
@reverse_option
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
    format_: str,
    shard: str | None,
    merge: Path | None,
    ray: str | None,
    model: str | tuple[str, ...] | None,
    engine: str,
    device: str,
    compute: str,
    batch_size: int,
    to: str | None,
    beam: int,
    alpha: float,
    penalty: str,
    reverse: str | None,
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

    With --format html, each TEXT or the whole input is an HTML document or a part of one.

    The bundled models translate short everyday sentences; they are not made for news, law or
    technical text.
    """
    from transduce.model_names import model_path
    from transduce.search import Sampling, Search
    from transduce.translate.cluster import ModelChoice, RayTranslator, ray_translator
    from transduce.translate.options import TranslateOptions
    from transduce.translate.shards import Part, Shard

    if merge:
        _merge(merge)
        return
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
    if reverse is not None and (sample or beam == 1):
        raise InputError("--reverse chooses among the translations of a beam of 2 or more")
    if n_best > beam and not sample:
        raise InputError(f"--n-best {n_best} needs a beam at least as wide: add --beam {n_best}")
    if resume and n_best > 1 and not as_json:
        raise InputError("--resume needs one output line per input line: with --n-best, add --json")
    if alignments and not as_json:
        raise InputError("--alignments are a field of the JSON output: add --json")
    if format_ == "html":
        lines_only = {"--json": as_json, "--n-best": n_best > 1, "--paragraphs": paragraphs}
        lines_only |= {"--resume": resume, "--prefix": bool(prefix), "--shard": bool(shard)}
        for option, given in lines_only.items():
            if given:
                raise InputError(f"{option} is for lines of text: leave it or --format html out")
    if shard:
        Shard.parse(shard)
        _check_shard(source, output, resume, paragraphs, n_best > 1 and not as_json)
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
        chosen: Path | tuple[str, ...] = model
    else:
        chosen = model_path(model, to, log)
    with ExitStack() as stack:
        translator: Translator | RayTranslator
        if ray:
            choice = ModelChoice(model, to, engine, device, compute, reverse)
            translator = stack.enter_context(ray_translator(ray, choice, log))
        else:
            translator = open_translator(chosen, engine, device, compute, reverse)
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
        if isinstance(translator, RayTranslator):
            job = replace(job, processes=len(translator.workers))
        if format_ == "html":
            translate_html_documents(translator, job)
        elif shard and source and output:
            part = Part.of(Shard.parse(shard), source)
            settings["--shard"] = str(part)
            translate_shard(translator, replace(job, part=part, output=part.shard.output(output)))
        else:
            if source and source.suffix.lower() in (".html", ".htm"):
                log(f"{source} is translated line by line: add --format html to keep its tags")
            translate_lines(translator, job)


def _merge(output: Path) -> None:
    from transduce.log import plural
    from transduce.translate.shards import merge_shards

    lines = merge_shards(output)
    log(f"{output}: {plural(lines, 'line')}; the files of the shards can be removed")


def _check_shard(
    source: Path | None, output: Path | None, resume: bool, paragraphs: bool, numbered: bool
) -> None:
    """Raises InputError if an option cannot be used with --shard."""
    if source is None or not output or (source.exists() and not source.is_file()):
        raise InputError("--shard divides a file: name it with --input, and its --output")
    for option, given in (
        ("--paragraphs", paragraphs),
        ("--n-best without --json", numbered),
        ("--resume", resume),
    ):
        if given:
            raise InputError(
                f"--shard divides a file between lines: it cannot be used with {option}"
            )


def _on(flag: bool) -> str:
    return "on" if flag else "off"


def _check_source(source: Path | None) -> None:
    if source is None or str(source) == "-":
        return
    if source.is_dir():
        raise InputError(f"{source} is a directory: give a file")
    if not source.exists():
        raise InputError(f"there is no file {source}")
