"""`transduce score`: log-probabilities of given translations."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from transduce.cli.options import as_json, decoding, length_penalty_options, log, open_translator

if TYPE_CHECKING:
    from transduce.search import Search

FILE = click.Path(path_type=Path, allow_dash=True)


@click.command("score", short_help="The log-probability of given translations.")
@click.argument("src", type=FILE)
@click.argument("tgt", type=FILE, required=False)
@decoding
@length_penalty_options
@as_json
def score_command(
    src: Path,
    tgt: Path | None,
    model: str | tuple[str, ...] | None,
    engine: str,
    device: str,
    compute: str,
    batch_size: int,
    alpha: float,
    penalty: str,
    as_json: bool,
) -> None:
    """Score each line of TGT as the translation of the same line of SRC, or, with a language model,
    each line of SRC alone.

    Prints the sum of the tokens' log-probabilities (EOS included), their mean, the perplexity, and
    the score that search uses, which is the sum divided by the length penalty; tab-separated, or
    with --json as objects with the log-probability of each token. For a line that is too long for
    the model it prints nan, or in JSON null and the flag "length".
    """
    from transduce.corpus.reading import read_pairs
    from transduce.search import Search
    from transduce.translate.lines import chunks
    from transduce.translate.translator import CHUNK

    if tgt is None:
        _score_text(src, model, device, Search(alpha=alpha, penalty=penalty), as_json)  # type: ignore[arg-type]
        return
    pairs = read_pairs([str(src)], [str(tgt)], log=log)
    translator = open_translator(model, engine, device, compute)
    search = Search(alpha=alpha, penalty=penalty)  # type: ignore[arg-type]
    total, count, unscored = 0.0, 0, 0
    for some in chunks(pairs, CHUNK):
        scored = translator.score([p.source for p in some], [p.target for p in some], batch_size)
        for pair, log_probs in zip(some, scored, strict=True):
            total, count = total + sum(log_probs or ()), count + len(log_probs or ())
            unscored += log_probs is None
            text = {"text": pair.source, "translation": pair.target}
            click.echo(_line(text, log_probs, search, as_json))
    if unscored:
        log(f"lines that are too long for the model, not scored: {unscored:,}")
    _log_perplexity(total, count)


def _score_text(
    file: Path, model: str | tuple[str, ...] | None, device: str, search: "Search", as_json: bool
) -> None:
    """Scores the lines of a file with a language model."""
    from transduce.corpus.reading import TextFile
    from transduce.errors import InputError
    from transduce.generate import TextGenerator

    if not isinstance(model, str):
        raise InputError("one file is scored by a language model: name it with --model, or add TGT")
    generator = TextGenerator.load(model, engine="torch", device=device, log=log)
    with TextFile(str(file)) as stream:
        lines = list(stream)
    scored = generator.score(lines)
    for line, log_probs in zip(lines, scored, strict=True):
        click.echo(_line({"text": line}, log_probs, search, as_json))
    _log_perplexity(sum(map(sum, scored)), sum(map(len, scored)))


def _log_perplexity(total: float, count: int) -> None:
    if count:
        perplexity = math.exp(min(-total / count, 700))
        log(f"{count:,} tokens, perplexity {perplexity:.3f}, {-total / count:.4f} nats per token")


def _line(
    text: dict[str, Any], log_probs: tuple[float, ...] | None, search: "Search", as_json: bool
) -> str:
    from transduce.translate.lines import json_line

    entry = _entry(log_probs, search)
    if not as_json:
        values = (math.nan if value is None else value for value in entry.values())
        return "\t".join(f"{value:.6f}" for value in values)
    flags = ["length"] if log_probs is None else []
    return json_line({**text, **entry, "token_scores": list(log_probs or ()), "flags": flags})


def _entry(log_probs: tuple[float, ...] | None, search: "Search") -> dict[str, Any]:
    from transduce.search import length_penalty

    if log_probs is None:
        return dict.fromkeys(("log_prob", "per_token", "perplexity", "score"))
    log_prob = sum(log_probs)
    return {
        "log_prob": log_prob,
        "per_token": log_prob / len(log_probs),
        "perplexity": math.exp(min(-log_prob / len(log_probs), 700)),
        "score": log_prob / length_penalty(len(log_probs), search),
    }
