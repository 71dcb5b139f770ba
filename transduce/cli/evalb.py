"""`transduce evalb`: bracketing scores by EVALB's rules."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from transduce.cli.options import as_json, log

if TYPE_CHECKING:
    from transduce.parsing.evalb import Score
    from transduce.parsing.evalb_params import Params

FILE = click.Path(path_type=Path)


@click.command("evalb", short_help="Score parse trees by EVALB's rules.")
@click.argument("gold", type=FILE)
@click.argument("test", type=FILE)
@click.option("--params", "file", type=FILE, help="EVALB's .prm file [default: COLLINS.prm].")
@click.option("--cutoff", type=int, help="Length of the second summary, instead of CUTOFF_LEN.")
@click.option("--max-error", type=int, help="Stop after this many errors, instead of MAX_ERROR.")
@click.option(
    "--clean",
    is_flag=True,
    help="Read treebanks of any layout, remove traces and function tags, make every root TOP.",
)
@click.option(
    "--gold-tags",
    is_flag=True,
    help="Give the words of TEST the tags of GOLD, for a parser that predicts no tags.",
)
@as_json
def evalb_command(
    gold: Path,
    test: Path,
    file: Path | None,
    cutoff: int | None,
    max_error: int | None,
    clean: bool,
    gold_tags: bool,
    as_json: bool,
) -> None:
    """Compare the trees of TEST with those of GOLD, one tree per line.

    Prints what the program EVALB prints, and ends with exit code 1 after too many errors as it
    does. There is no limit on the lengths of lines and sentences. --json gives the same numbers,
    and precision, recall and F1 of each label.
    """
    from transduce.parsing.evalb import TooManyErrorsError, score_lines
    from transduce.parsing.evalb_lines import lines_of, with_gold_tags
    from transduce.parsing.evalb_report import HEADER, row, summary, total

    params = _params(file)
    if cutoff is not None:
        params = replace(params, cutoff=cutoff)
    if max_error is not None:
        params = replace(params, max_error=max_error)
    left, right = lines_of(gold, clean), lines_of(test, clean)
    if gold_tags:
        left, right = with_gold_tags(left, right)
    scores: list[Score] = []
    try:
        if not as_json:
            click.echo(HEADER)
        for score in score_lines(left, right, params, log):
            scores.append(score)
            if not as_json:
                click.echo(row(score))
    except TooManyErrorsError:
        sys.stdout.flush()
        sys.exit(1)
    every = total(scores)
    short = total(score for score in scores if score.length <= params.cutoff)
    if as_json:
        content = {**every.to_json(), "cutoff": params.cutoff, "short": short.to_json()}
        click.echo(json.dumps(content, indent=2))
    else:
        click.echo(summary(every, short, params.cutoff))


def _params(file: Path | None) -> "Params":
    from transduce.parsing.evalb_lines import lines_of
    from transduce.parsing.evalb_params import collins, read_params

    return collins() if file is None else read_params(lines_of(file), log)
