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
@click.argument("tgt", type=FILE, required=False)
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
    tgt: Path | None,
    model: str | tuple[str, ...] | None,
    engine: str,
    device: str,
    compute: str,
    batch_size: int,
    alpha: float,
    penalty: str,
    header: bool | None,
    as_json: bool,
) -> None:
    """Score each line of TGT as the translation of the same line of SRC, or the pairs of SRC alone,
    FILE.tsv or FILE.jsonl, or, with a language model, the lines of SRC alone.

    Prints four columns, separated by tabs: log_prob, the sum of the tokens' log-probabilities, EOS
    included; per_token, their mean; perplexity; and score, which search uses, the sum divided by
    the length penalty. With --json they are named, and token_scores has the natural logarithm of
    the probability of each of the tokens given the source and the tokens before it, that of EOS
    last. For a line too long for the model it prints nan, or in JSON null and the flag "length".
    """
    from transduce.corpus.reading import format_by_name, read_pairs
    from transduce.search import Search
    from transduce.translate.lines import chunks
    from transduce.translate.translator import CHUNK

    if tgt is None and not format_by_name(src):
        _score_text(src, model, device, Search(alpha=alpha, penalty=penalty), as_json)  # type: ignore[arg-type]
        return
    pairs = read_pairs([str(src)], [str(tgt)] if tgt else [], log=log)
    translator = open_translator(model, engine, device, compute)
    search = Search(alpha=alpha, penalty=penalty)  # type: ignore[arg-type]
    total, count, unscored = 0.0, 0, 0
    if not as_json and (sys.stdout.isatty() if header is None else header):
        click.echo("\t".join(COLUMNS))
    for some in chunks(pairs, CHUNK):
        scored = translator.score([p.source for p in some], [p.target for p in some], batch_size)
        for pair, log_probs in zip(some, scored, strict=True):
            total, count = total + sum(log_probs or ()), count + len(log_probs or ())
            unscored += log_probs is None
            text: dict[str, Any] = {"text": pair.source, "translation": pair.target}
            tokens = _tokens(translator, pair.target) if log_probs and as_json else []
            click.echo(_line(text, log_probs, tokens, search, as_json))
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
        raise InputError(
            "one file is scored by a language model: name it with --model, or add TGT, "
            "or give a file with both sides, FILE.tsv or FILE.jsonl"
        )
    generator = TextGenerator.load(model, engine="torch", device=device, log=log)
    with TextFile(str(file)) as stream:
        lines = list(stream)
    scored = generator.score(lines)
    for line, log_probs in zip(lines, scored, strict=True):
        pieces = generator.tokenizer.encode(line)
        tokens = [generator.tokenizer.vocabulary[i] for i in pieces] if as_json else []
        click.echo(_line({"text": line}, log_probs, tokens, search, as_json))
    _log_perplexity(sum(map(sum, scored)), sum(map(len, scored)))


def _log_perplexity(total: float, count: int) -> None:
    if count:
        perplexity = math.exp(min(-total / count, 700))
        log(f"{count:,} tokens, perplexity {perplexity:.3f}, {-total / count:.4f} nats per token")


def _line(
    text: dict[str, Any],
    log_probs: tuple[float, ...] | None,
    tokens: list[str],
    search: "Search",
    as_json: bool,
) -> str:
    from transduce.translate.lines import json_line

    entry = _entry(log_probs, search)
    if not as_json:
        values = (math.nan if value is None else value for value in entry.values())
        return "\t".join(f"{value:.6f}" for value in values)
    flags = ["length"] if log_probs is None else []
    scores = list(log_probs or ())
    return json_line({**text, **entry, "tokens": tokens, "token_scores": scores, "flags": flags})


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
