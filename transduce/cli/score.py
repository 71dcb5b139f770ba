"""`transduce score`: log-probabilities of given translations."""

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from transduce.cli.options import as_json, decoding, length_penalty_options, log, open_translator

if TYPE_CHECKING:
    from transduce.search import Search
    from transduce.translate.translator import Translator

FILE = click.Path(path_type=Path, allow_dash=True)
COLUMNS = ("log_prob", "per_token", "perplexity", "score")


@click.command("score", short_help="The log-probability of given translations.")
@click.argument("src", type=FILE)
@click.argument("tgt", type=FILE)
@decoding
@length_penalty_options
@click.option(
    "--header/--no-header",
    default=None,
    help="Print the names of the columns first [default: on a terminal].",
)
@as_json
def score_command(
    src: Path,
    tgt: Path,
    model: str | None,
    engine: str,
    device: str,
    compute: str,
    batch_size: int,
    alpha: float,
    penalty: str,
    header: bool | None,
    as_json: bool,
) -> None:
    """Score each line of TGT as the translation of the same line of SRC.

    Prints four columns, separated by tabs: log_prob, the sum of the tokens' log-probabilities, EOS
    included; per_token, their mean; perplexity; and score, which search uses, the sum divided by
    the length penalty. With --json they are named, and token_scores has the natural logarithm of
    the probability of each of the tokens given the source and the tokens before it, that of EOS
    last. For a line too long for the model it prints nan, or in JSON null and the flag "length".
    """
    from transduce.corpus.reading import read_pairs
    from transduce.search import Search
    from transduce.translate.lines import chunks, json_line
    from transduce.translate.translator import CHUNK

    pairs = read_pairs([str(src)], [str(tgt)], log=log)
    translator = open_translator(model, engine, device, compute)
    search = Search(alpha=alpha, penalty=penalty)  # type: ignore[arg-type]
    total, count, unscored = 0.0, 0, 0
    if not as_json and (sys.stdout.isatty() if header is None else header):
        click.echo("\t".join(COLUMNS))
    for some in chunks(pairs, CHUNK):
        scored = translator.score([p.source for p in some], [p.target for p in some], batch_size)
        for pair, log_probs in zip(some, scored, strict=True):
            entry = _entry(log_probs, search)
            total, count = total + sum(log_probs or ()), count + len(log_probs or ())
            unscored += log_probs is None
            if as_json:
                line = {"text": pair.source, "translation": pair.target, **entry}
                line["tokens"] = _tokens(translator, pair.target) if log_probs else []
                line["token_scores"] = list(log_probs or ())
                line["flags"] = ["length"] if log_probs is None else []
                click.echo(json_line(line))
            else:
                values = (math.nan if value is None else value for value in entry.values())
                click.echo("\t".join(f"{value:.6f}" for value in values))
    if unscored:
        log(f"lines that are too long for the model, not scored: {unscored:,}")
    if count:
        log(f"{count:,} tokens, perplexity {math.exp(min(-total / count, 700)):.3f}")


def _entry(log_probs: tuple[float, ...] | None, search: "Search") -> dict[str, Any]:
    from transduce.search import length_penalty

    if log_probs is None:
        return dict.fromkeys(COLUMNS)
    log_prob = sum(log_probs)
    mean = log_prob / len(log_probs)
    score = log_prob / length_penalty(len(log_probs), search)
    values = log_prob, mean, math.exp(min(-mean, 700)), score
    return dict(zip(COLUMNS, values, strict=True))


def _tokens(translator: "Translator", text: str) -> list[str]:
    from transduce.translate.lines import clean

    (ids,) = translator.tokenizer.encode_targets([clean(text)])
    return [translator.tokenizer.target_vocabulary[i] for i in ids]
