"""`transduce parse`: sentences to trees."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from transduce.cli.options import LARGEST_ALPHA, PATH, Number, as_json, beam_width, log
from transduce.errors import InputError, ModelError

if TYPE_CHECKING:
    from transduce.parsing.parser import Parse, Parser

PICTURES = (".svg", ".png", ".pdf", ".html")
MOST_PICTURES = 100  # trees in one file
CHUNK = 512  # sentences in memory

Record = tuple[str, list[str]]  # a sentence as given, and its words


@click.command("parse", short_help="Parse sentences: arguments, standard input, or a file.")
@click.argument("text", nargs=-1)
@click.option("--model", type=PATH, help="Model directory of a parser.")
@click.option("--input", "source", type=PATH, help="Parse the lines of this file.")
@click.option("--trees", type=PATH, help="Parse the words of the trees of this treebank.")
@click.option("--tokens", is_flag=True, help="The text is split into words already.")
@click.option(
    "--output", type=PATH, help="Write to this file; .svg, .png, .pdf and .html are pictures."
)
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
    model: Path | None,
    source: Path | None,
    trees: Path | None,
    tokens: bool,
    output: Path | None,
    beam: int,
    alpha: float,
    device: str,
    as_json: bool,
) -> None:
    """Parse TEXT, or each line of standard input or of a file, as one sentence.

    Every output is a tree over exactly the words of the sentence, one per line; a blank line stays
    blank. On a terminal, trees are indented. With --json an output line is an object with text,
    words, tree and score.
    """
    from dataclasses import replace

    from transduce.parsing.parser import PARSING, Parser
    from transduce.translate.lines import OutputFile, chunks

    if len([given for given in (text, source, trees) if given]) > 1:
        raise InputError("TEXT, --input and --trees: give only one of them")
    picture = output is not None and output.suffix.lower() in PICTURES
    if picture and as_json:
        raise InputError("--json is text: leave it out, or name another --output")
    if model is None:
        raise ModelError(
            "there is no bundled parser: give one with --model; "
            "transduce train RUN --task parsing --train TREES makes one"
        )
    parser = Parser.load(model, device)
    with ExitStack() as stack:
        records, ready = _records(parser, text, source, trees, tokens, stack)
        search = replace(PARSING, beam=beam, alpha=alpha)
        if picture:
            assert output
            _draw(parser, list(records), search, output)
            return
        out = stack.enter_context(OutputFile(output)) if output else None
        for some in chunks(records, CHUNK, ready):
            parses = parser.parse([words for _, words in some], search)
            for (line, words), parse in zip(some, parses, strict=True):
                written = _written(line, words, parse, as_json, terminal=out is None)
                out.write(written) if out else click.echo(written)


def _written(
    text: str, words: list[str], parse: "Parse | None", as_json: bool, terminal: bool
) -> str:
    from transduce.parsing.tree import indented, to_brackets
    from transduce.table import terminal_width
    from transduce.translate.lines import json_line

    if as_json:
        tree = to_brackets(parse.tree) if parse else ""
        score = parse.score if parse else 0.0
        return json_line({"text": text, "words": words, "tree": tree, "score": score})
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
        found = map(words, clean_trees(read_trees(trees), Counter()))
        return ((" ".join(some), some) for some in found), lambda: True
    ready, lines = _always, iter(text)
    if not text:
        arriving = ArrivingLines(stack.enter_context(TextFile(str(source or "-"))))
        ready, lines = arriving.ready, decode_lines(arriving, log)
    split: Callable[[str], list[str]] = str.split if tokens else parser.words
    return ((line, split(clean(line))) for line in lines), ready


def _always() -> bool:
    return True


def _draw(parser: "Parser", records: list[Record], search: object, output: Path) -> None:
    from transduce.figures.trees import draw_trees
    from transduce.search import Search

    assert isinstance(search, Search)
    if len(records) > MOST_PICTURES:
        raise InputError(f"{len(records):,} sentences: draw at most {MOST_PICTURES} at once")
    parses = parser.parse([words for _, words in records], search)
    found = [parse.tree for parse in parses if parse]
    if not found:
        raise InputError("there is no sentence to draw")
    draw_trees(found, output)
    log(f"{output}: written")
