"""Divides texts into units for search: the whole text, or pieces of one that is too long."""

from collections.abc import Sequence
from dataclasses import dataclass

from transduce.tokenizer import TokenizerLike
from transduce.translate.lines import clean
from transduce.translate.options import DEFAULTS, TranslateOptions
from transduce.translate.splitting import Piece, sentences, split

CHARACTERS = 64  # per token at most: a text longer than this × max_length is split before encoding


@dataclass(frozen=True)
class Unit:
    """A source for search; equal units of several texts are searched only once."""

    text: str
    ids: tuple[int, ...]
    prefix: tuple[int, ...] = ()


@dataclass(frozen=True)
class Plan:
    """A text and its units in order, each with the whitespace after it; a blank text has none."""

    text: str
    parts: tuple[tuple[Unit, str], ...] = ()


def plan_texts(
    texts: Sequence[str],
    tokenizer: TokenizerLike,
    max_length: int,
    options: TranslateOptions = DEFAULTS,
) -> list[Plan]:
    """The plan of each text; no unit has more than `max_length` tokens."""
    prefix = tuple(tokenizer.encode_targets([clean(options.prefix)])[0]) if options.prefix else ()
    cleaned = [clean(text) for text in texts]
    short = [] if options.by_sentence else [t for t in cleaned if _may_fit(t, max_length)]
    ids = dict(zip(short, tokenizer.encode_batch(short), strict=True))  # one batch is faster

    def plan(text: str) -> tuple[tuple[Unit, str], ...]:
        if not text:
            return ()
        if text in ids and len(ids[text]) <= max_length:
            return ((Unit(text, tuple(ids[text]), prefix), ""),)
        pieces = _pieces(text, tokenizer, max_length, options.by_sentence)
        rows = tokenizer.encode_batch([piece.text for piece in pieces])
        return tuple(
            (Unit(piece.text, tuple(row), () if n else prefix), piece.after)
            for n, (piece, row) in enumerate(zip(pieces, rows, strict=True))
        )

    return [Plan(text, plan(source)) for text, source in zip(texts, cleaned, strict=True)]


def _pieces(text: str, tokenizer: TokenizerLike, max_length: int, by_sentence: bool) -> list[Piece]:
    def fits(piece: str) -> bool:
        return _may_fit(piece, max_length) and len(tokenizer.encode(piece)) <= max_length

    pieces: list[Piece] = []
    for part in sentences(text) if by_sentence else [Piece(text, "")]:
        *most, last = split(part.text, fits)
        pieces += [*most, Piece(last.text, last.after + part.after)]
    return pieces


def _may_fit(text: str, max_length: int) -> bool:
    return len(text) <= CHARACTERS * max_length
