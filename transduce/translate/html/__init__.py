"""Translation of HTML: inline elements follow their words, by the alignment of the translation.

Block elements end sentences. Tags, attributes, comments, scripts and styles stay as they are, as do
`translate="no"`, `code` and the like, addresses and emoji. Text is escaped again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import regex  # type: ignore[import-untyped]

from transduce.translate.alignment import Link, Span
from transduce.translate.html.placement import Target, write_segment
from transduce.translate.html.segments import Segment, segments_of
from transduce.translate.join import Translation
from transduce.translate.options import DEFAULTS, TranslateOptions

_LETTER = regex.compile(r"\p{L}")


@runtime_checkable
class Translates(Protocol):
    """A `Translator`, or whatever else has its `results`."""

    def results(self, texts: Sequence[str], options: TranslateOptions) -> list[Translation]: ...


def translate_html(
    translator: Translates, texts: Sequence[str], options: TranslateOptions = DEFAULTS
) -> list[str]:
    """The translation of each HTML document or fragment.

    `translator.results` is called once for all of them, and once more if translations have lost
    the names that stood for what is kept.

    >>> translate_html(translator, ["<p>Where is the <b>station</b>?</p>"])  # doctest: +SKIP
    ['<p>Wo ist der <b>Bahnhof</b>?</p>']
    """
    options = replace(options, alignments=True)
    documents = [segments_of(text) for text in texts]
    segments = [part for parts in documents for part in parts if isinstance(part, Segment)]
    targets: dict[int, Target | None] = {}
    first = [[segment.text] if segment.named else _pieces(segment) for segment in segments]
    results = iter(translator.results([text for some in first for text in some], options))
    for n, segment in enumerate(segments):
        targets[n] = (_whole if segment.named else _by_pieces)(segment, results)
    lost = [n for n, target in targets.items() if target is None]
    if lost:
        again = [text for n in lost for text in _pieces(segments[n])]
        results = iter(translator.results(again, options))
        targets |= {n: _by_pieces(segments[n], results) for n in lost}
    written = (
        write_segment(segments[n], target) for n, target in sorted(targets.items()) if target
    )
    return [
        "".join(part if isinstance(part, str) else next(written) for part in parts)
        for parts in documents
    ]


def _whole(segment: Segment, results: Iterator[Translation]) -> Target | None:
    """The translation of the whole text; None if it has not every name exactly once."""
    result = next(results)
    kept: list[Span] = []
    for node in segment.kept:
        name = regex.escape(segment.text[node.start : node.end])
        found = [
            match.span() for match in regex.finditer(rf"(?<!\w){name}(?!\w)", result.translation)
        ]
        if len(found) != 1:
            return None
        kept += found
    return Target(result.translation, result.links, kept)


def _pieces(segment: Segment) -> list[str]:
    """The texts between what is kept."""
    return [text.strip() for text, _ in _divided(segment) if _LETTER.search(text)]


def _divided(segment: Segment) -> Iterator[tuple[str, int]]:
    """The texts before, between and after what is kept, with their positions."""
    at = 0
    for node in segment.kept:
        yield segment.text[at : node.start], at
        at = node.end
    yield segment.text[at:], at


def _by_pieces(segment: Segment, results: Iterator[Translation]) -> Target:
    """The translations of the texts between what is kept, with names for that."""
    target = ""
    links: list[Link] = []
    kept: list[Span] = []
    for n, (text, at) in enumerate(_divided(segment)):
        if n:
            kept.append((len(target), len(target) + 1))
            target += "X"
        if _LETTER.search(text):
            result = next(results)
            indent = len(text) - len(text.lstrip())
            target += text[:indent]
            links += [link.shifted(at + indent, len(target)) for link in result.links]
            target += result.translation + text[len(text.rstrip()) :]
        else:
            target += text
    return Target(target, links, kept)
