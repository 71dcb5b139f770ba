"""Text checks: signs that a line is tokenised, wrongly encoded or otherwise not raw text."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Literal

SideName = Literal["source", "target"]
SIDES: tuple[SideName, ...] = ("source", "target")

_ENTITY = re.compile(r"&(?:[a-z]+|#\d+|#x[0-9a-fA-F]+);")
_UNUSUAL = re.compile(  # the name of a group is the kind, with a hyphen for the underscore
    "(?P<misread>[ÂÃ][\x80-\xbf]|â€)|(?P<lost>\ufffd)|(?P<separators>[\x85\u2028\u2029])"
    "|(?P<no_break>[\xa0\u202f])|(?P<controls>[\x7f-\x9f])|(?P<decomposed>[\u0300-\u036f])"
    "|(?P<invisible>[\xad\u200b-\u200f\u2060\ufeff])|(?P<private>[\ue000-\uf8ff])"
)


@dataclass(frozen=True)
class Kind:
    """Something that lines may have. From this share of a side's lines on, it is reported."""

    what: str
    reported: float = 0.0
    warned: float | None = None  # from this share on it is a warning, which ends with `advice`
    advice: str = ""


KINDS = {
    "tokenised": Kind(
        'a space before "." or ","',
        0.05,
        0.2,
        "the text looks tokenised; give raw text, since the vocabulary needs no tokeniser",
    ),
    "subwords": Kind(
        'subword marks "@@ " or "▁"', 0.0, 0.02, "give the text as it was before it was split"
    ),
    "entities": Kind("HTML entities such as &quot;", 0.0, 0.02, "replace them by what they mean"),
    "misread": Kind(
        "UTF-8 once read as Latin-1 (Ã¤ for ä)", 0.0, 0.002, "repair the text's encoding"
    ),
    "lost": Kind("characters lost before (U+FFFD)", 0.0, 0.002, "repair the text's encoding"),
    "controls": Kind("control characters (U+007F to U+009F)"),
    "separators": Kind("line separators inside a line (U+2028, U+2029, U+0085)"),
    "no-break": Kind("no-break spaces (U+00A0, U+202F)"),
    "invisible": Kind("invisible characters (zero-width, soft hyphen)"),
    "decomposed": Kind("accents as characters of their own (decomposed)"),
    "private": Kind("private-use characters"),
    "lowercase": Kind("letters, none of them a capital", 0.9),
}


def kinds_of(text: str) -> list[str]:
    """The kinds of which a line is an example."""
    kinds = []
    if " ." in text or " ," in text:
        kinds.append("tokenised")
    if "@@ " in text or "▁" in text:
        kinds.append("subwords")
    if "&" in text and _ENTITY.search(text):
        kinds.append("entities")
    if text.islower():
        kinds.append("lowercase")
    if not text.isascii():
        found = {str(match.lastgroup) for match in _UNUSUAL.finditer(text)}
        kinds += sorted(kind.replace("_", "-") for kind in found)
    return kinds


@dataclass(frozen=True)
class Unusual:
    """How many lines of one side are of one kind."""

    kind: str
    what: str
    side: SideName
    lines: int
    share: float
    first: str  # where
    warning: str | None


@dataclass
class TextChecks:
    """Counts lines of every kind."""

    counts: Counter[tuple[str, SideName]] = field(default_factory=Counter)
    first: dict[tuple[str, SideName], int] = field(default_factory=dict)

    def add(self, number: int, side: SideName, text: str) -> None:
        for kind in kinds_of(text):
            self.counts[kind, side] += 1
            self.first.setdefault((kind, side), number)

    def found(self, lines: int, where: Callable[[int, SideName], str]) -> list[Unusual]:
        """What is worth reporting of so many lines a side, the gravest first."""
        unusual = []
        for name, side in product(KINDS, SIDES):
            kind, count = KINDS[name], self.counts[name, side]
            share = count / lines
            if not count or share < kind.reported:
                continue
            warning = None
            if kind.warned is not None and share >= kind.warned:
                warning = f"{count:,} of {lines:,} {side} lines have {kind.what}: {kind.advice}"
            place = where(self.first[name, side], side)
            unusual.append(Unusual(name, kind.what, side, count, share, place, warning))
        return unusual
