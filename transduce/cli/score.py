"""`transduce score`: how likely a model finds given translations."""

import json
import math
from itertools import islice
from pathlib import Path

import click

from transduce.cli.options import as_json, decoding, length_penalty_options

FILE = click.Path(path_type=Path, allow_dash=True)


@click.command("score", short_help="The log-probability of given translations.")
@click.argument("src", type=FILE)
@click.argument("tgt", type=FILE)
@decoding
@length_penalty_options
@as_json
def score_command(
    src: Path,
    tgt: Path,
    model: Path | None,
    engine: str,
    batch_size: int,
    alpha: float,
    penalty: str,
    as_json: bool,
) -> None:
    """Score each line of TGT as the translation of the same line of SRC.

    Prints the sum of the tokens' log-probabilities (the end of the sentence is one of them), their
    mean, the perplexity, and the score that search would give, which is the sum over the length
    penalty; tab-separated, or with --json as objects that also have the tokens' own.
    """
    from transduce.corpus.reading import read_pairs
    from transduce.search import Search, length_penalty
    from transduce.translate.translator import CHUNK, Translator

    pairs = read_pairs([str(src)], [str(tgt)], log=_log)
    translator = Translator.load(model, engine=engine, log=_log)
    total, count = 0.0, 0
    search = Search(alpha=alpha, penalty=penalty)  # type: ignore[arg-type]
    while some := list(islice(pairs, CHUNK)):
        scored = translator.score([p.source for p in some], [p.target for p in some], batch_size)
        for pair, log_probs in zip(some, scored, strict=True):
            log_prob = sum(log_probs)
            entry = {
                "log_prob": log_prob,
                "per_token": log_prob / len(log_probs),
                "perplexity": math.exp(min(-log_prob / len(log_probs), 700)),
                "score": log_prob / length_penalty(len(log_probs), search),
            }
            total, count = total + log_prob, count + len(log_probs)
            if as_json:
                texts = {"text": pair.source, "translation": pair.target}
                line = {**texts, **entry, "token_scores": list(log_probs)}
                click.echo(json.dumps(line, ensure_ascii=False))
            else:
                click.echo("\t".join(f"{value:.6f}" for value in entry.values()))
    if count:
        perplexity = math.exp(min(-total / count, 700))
        click.echo(f"{count:,} tokens, perplexity {perplexity:.3f}", err=True)


def _log(message: str) -> None:
    click.echo(message, err=True)
