"""How texts are translated, as one value that every step takes."""

from collections.abc import Callable
from dataclasses import dataclass

from transduce.search import PAPER, Search
from transduce.search.constraints import Constraint


@dataclass(frozen=True)
class TranslateOptions:
    """The defaults are the paper's search, and no extras."""

    search: Search = PAPER
    batch_size: int = 64
    scores: bool = False  # over the whole vocabulary, as `score` gives them, not a shortlist
    alignments: bool = False  # word alignments, from the torch engine's attention
    # from a text to what its output must satisfy; such texts are decoded by torch
    constraint: Callable[[str], Constraint | None] | None = None
    prefix: str = ""  # how every translation must begin
    by_sentence: bool = False  # each sentence is translated apart, also in a short text


DEFAULTS = TranslateOptions()
