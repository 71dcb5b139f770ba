"""Divides texts into units for search: sentences, the whole text, or pieces that fit the model."""

from collections.abc import Sequence
from dataclasses import dataclass

from transduce.tokenizer import TokenizerLike
from transduce.translate.capitals import in_capitals, ordinary_case
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
    capitals: bool = False  # the text was in capitals, which its translation gets back


@dataclass(frozen=True)
class Plan:
    """A text and its units in order, each with the whitespace after it; a blank text has none."""

    text: str
    parts: tuple[tuple[Unit, str], ...] = ()
    split: bool = False  # a sentence, or a text that is not divided into sentences, was too long


def plan_texts(
    texts: Sequence[str],
    tokenizer: TokenizerLike,
    max_length: int,
    options: TranslateOptions = DEFAULTS,
    by_sentence: bool = False,
) -> list[Plan]:
    """The plan of each text; no unit has more than `max_length` tokens.

    `by_sentence` is whether sentences are separate units if the options do not say it.
    """
    prefix = tuple(tokenizer.encode_targets([clean(options.prefix)])[0]) if options.prefix else ()
    if options.by_sentence is not None:
        by_sentence = options.by_sentence
    parts = [_parts(text, by_sentence, tokenizer) for text in map(clean, texts)]
    fitting = [p.text for some in parts for p, _ in some if _may_fit(p.text, max_length)]
    ids = dict(zip(fitting, tokenizer.encode_batch(fitting), strict=True))  # one batch is faster

    def pieces(part: Piece) -> list[tuple[Piece, tuple[int, ...]]]:
        if part.text in ids and len(ids[part.text]) <= max_length:
            return [(part, tuple(ids[part.text]))]
        *most, last = split(part.text, fits)
        smaller = [*most, Piece(last.text, last.after + part.after)]
        rows = tokenizer.encode_batch([piece.text for piece in smaller])
        return [(piece, tuple(row)) for piece, row in zip(smaller, rows, strict=True)]

    def fits(piece: str) -> bool:
        return _may_fit(piece, max_length) and len(tokenizer.encode(piece)) <= max_length

    plans = []
    for text, some in zip(texts, parts, strict=True):
        units = [(piece, row, capitals) for part, capitals in some for piece, row in pieces(part)]
        rows = (
            (Unit(piece.text, row, () if n else prefix, capitals), piece.after)
            for n, (piece, row, capitals) in enumerate(units)
        )
        plans.append(Plan(text, tuple(rows), len(units) > len(some)))
    return plans


def _parts(text: str, by_sentence: bool, tokenizer: TokenizerLike) -> list[tuple[Piece, bool]]:
    """The sentences of a text, or the whole; in ordinary case, with whether it was in capitals."""
    parts = []
    for piece in sentences(text) if by_sentence else [Piece(text, "")] if text else []:
        shown = piece.text
        if in_capitals(shown):
            shown = ordinary_case(shown, lambda word: len(tokenizer.encode(word)))
        parts.append((Piece(shown, piece.after), shown != piece.text))
    return parts


def _may_fit(text: str, max_length: int) -> bool:
    return len(text) <= CHARACTERS * max_length
