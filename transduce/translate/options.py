"""Options of translation."""

from collections.abc import Callable
from dataclasses import dataclass

from transduce.search import PAPER, Search
from transduce.search.constraints import Constraint


@dataclass(frozen=True)
class TranslateOptions:
    """Search settings and optional outputs; the defaults are the paper's search."""

    search: Search = PAPER
    batch_size: int = 64
    scores: bool = (
        False  # rescore over the whole vocabulary, as `score` does, without the shortlist
    )
    alignments: bool = False  # word alignments from attention weights, by the torch engine
    # the constraint on the output of a source text; such texts are decoded by torch
    constraint: Callable[[str], Constraint | None] | None = None
    prefix: str = ""  # every translation must begin with this text
    by_sentence: bool = False  # translate each sentence separately, also of short texts


DEFAULTS = TranslateOptions()
