"""`transduce parse`: sentences to trees."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from transduce.cli.options import LARGEST_ALPHA, PATH, Number, as_json, beam_width, log
from transduce.errors import InputError

if TYPE_CHECKING:
    from transduce.parsing.parser import Parse, Parser
    from transduce.parsing.tree import Node
    from transduce.search import Search

PICTURES = (".svg", ".png", ".pdf", ".html")
MOST_PICTURES = 100  # trees in one file
CHUNK = 512  # sentences in memory


@dataclass(frozen=True)
class Record:
    """A sentence as given, its words, and its tree if it is known."""

    text: str
    words: list[str]
    tree: "Node | None" = None


@click.command("parse", short_help="Parse sentences: arguments, standard input, or a file.")
@click.argument("text", nargs=-1)
@click.option(
    "--model",
    metavar="MODEL",
    help="A directory of a parser or of its run [default: the bundled parser, if there is one].",
)
@click.option("--input", "source", type=PATH, help="Parse the lines of this file.")
@click.option("--trees", type=PATH, help="Parse the words of the trees of this treebank.")
@click.option("--tokens", is_flag=True, help="The text is split into words already.")
@click.option(
    "--output", type=PATH, help="Write to this file; .svg, .png, .pdf and .html are pictures."
)
@click.option("--record", type=PATH, help="With --trees: write scores to this file, FILE.json.")
@click.option("--title", help="Title of the record [default: the file name].")
@click.option("--beam", type=beam_width, default=21, show_default=True, help="Beam width.")
@click.option(
    "--alpha",
    type=Number(0, LARGEST_ALPHA),
    default=0.3,
    show_default=True,
    help="Length penalty.",
)
@click.option(
    "--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True, help="Device."
)
@as_json
def parse_command(
    text: tuple[str, ...],
    model: str | None,
    source: Path | None,
    trees: Path | None,
    tokens: bool,
    output: Path | None,
    record: Path | None,
    title: str | None,
    beam: int,
    alpha: float,
    device: str,
    as_json: bool,
) -> None:
    """Parse TEXT, or each line of standard input or of a file, as one sentence.

    Every output is a tree over exactly the words of the sentence, one per line; a blank line stays
    blank. On a terminal, trees are indented. With --json an output line is an object with text,
    words, tree and score. With --trees the F1 of the parses is printed; `transduce evalb --clean
    --gold-tags` on the file of --output gives the same.
    """
    from transduce.machine import keep_memory
    from transduce.model_names import parser_path
    from transduce.parsing.parser import PARSING, Parser
    from transduce.parsing.scores import TreeScores
    from transduce.translate.lines import chunks
    from transduce.translate.output import OutputFile

    if len([given for given in (text, source, trees) if given]) > 1:
        raise InputError("TEXT, --input and --trees: give only one of them")
    picture = output is not None and output.suffix.lower() in PICTURES
    if picture and as_json:
        raise InputError("--json is text: leave it out, or name another --output")
    if record and not trees:
        raise InputError("--record needs trees to compare with: give --trees")
    keep_memory()
    path = parser_path(model, log)
    parser = Parser.load(path, device)
    search = replace(PARSING, beam=beam, alpha=alpha)
    with ExitStack() as stack:
        records, ready = _records(parser, text, source, trees, tokens, stack)
        if picture:
            assert output
            _draw(parser, list(records), search, output)
            return
        out = stack.enter_context(OutputFile(output, "restart")) if output else None
        scores, began = TreeScores(), time.perf_counter()
        for some in chunks(records, CHUNK, ready):
            parses = parser.parse([record.words for record in some], search)
            for sentence, parse in zip(some, parses, strict=True):
                written = _written(sentence, parse, as_json, terminal=out is None)
                out.write(written) if out else click.echo(written)
                if sentence.tree and parse:
                    scores.add([sentence.tree], [parse.tree])
    if trees:
        seconds = time.perf_counter() - began
        log(
            f"{scores.totals.sentences:,} sentences in {seconds:,.1f} s "
            f"({scores.totals.sentences / seconds:,.1f}/s): F1 {scores.f1:.2f}, "
            f"complete match {scores.complete_match:.1f}, tags {scores.tagging_accuracy:.1f} % "
            f"(beam {beam}, α {alpha:g})"
        )
    if record and trees:
        facts = {**scores.to_json(), "seconds": seconds}
        _write_record(record, title, facts, trees, path, search, device)


def _write_record(
    record: Path,
    title: str | None,
    facts: dict[str, object],
    trees: Path,
    model: Path,
    search: "Search",
    device: str,
) -> None:
    from datetime import UTC, datetime

    from transduce.evaluate.record import System, record_of, write_record

    name, today = record.stem, datetime.now(UTC).date()
    how = {"engine": "torch", "compute": "float32", "device": device}
    found = record_of(
        name, title or name, facts | how, trees, [trees], System(model, search), today
    )
    write_record(record, found)


def _written(record: "Record", parse: "Parse | None", as_json: bool, terminal: bool) -> str:
    from transduce.parsing.tree import indented, to_brackets
    from transduce.table import terminal_width
    from transduce.translate.lines import json_line

    if as_json:
        tree = to_brackets(parse.tree) if parse else ""
        score = parse.score if parse else 0.0
        fields = {"text": record.text, "words": record.words, "tree": tree, "score": score}
        return json_line(fields)
    if parse is None:
        return ""
    if terminal and sys.stdout.isatty():
        return indented(parse.tree, terminal_width())
    return to_brackets(parse.tree)


def _records(
    parser: "Parser",
    text: tuple[str, ...],
    source: Path | None,
    trees: Path | None,
    tokens: bool,
    stack: ExitStack,
) -> tuple[Iterator[Record], Callable[[], bool]]:
    """The sentences, and whether the next one can be read without waiting."""
    from collections import Counter

    from transduce.corpus.reading import TextFile
    from transduce.parsing.cleaning import clean_trees
    from transduce.parsing.tree import words
    from transduce.parsing.treebank import read_trees
    from transduce.translate.lines import ArrivingLines, clean, decode_lines

    if trees:
        found = clean_trees(read_trees(trees), Counter())
        return (Record(" ".join(words(tree)), words(tree), tree) for tree in found), _always
    ready, lines = _always, iter(text)
    if not text:
        arriving = ArrivingLines(stack.enter_context(TextFile(str(source or "-"))))
        ready, lines = arriving.ready, decode_lines(arriving, log)
    split: Callable[[str], list[str]] = str.split if tokens else parser.words
    return (Record(line, split(clean(line))) for line in lines), ready


def _always() -> bool:
    return True


def _draw(parser: "Parser", records: list[Record], search: "Search", output: Path) -> None:
    from transduce.figures.trees import draw_trees

    if len(records) > MOST_PICTURES:
        raise InputError(f"{len(records):,} sentences: draw at most {MOST_PICTURES} at once")
    parses = parser.parse([record.words for record in records], search)
    found = [parse.tree for parse in parses if parse]
    if not found:
        raise InputError("there is no sentence to draw")
    draw_trees(found, output)
    log(f"{output}: written")
