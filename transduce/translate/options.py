"""Options of translation."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from transduce.errors import InputError
from transduce.search import PAPER, Penalty, Search
from transduce.search.constraints import Constraint


@dataclass(frozen=True)
class TranslateOptions:
    """Search settings and optional outputs; the defaults are the paper's search."""

    search: Search = PAPER
    batch_size: int = 64
    scores: bool = (
        False  # rescore over the whole vocabulary, as `score` does, without the shortlist
    )
    alignments: bool = False  # word alignments from attention weights
    # the constraint on the output of a source text; such texts are decoded by torch
    constraint: Callable[[str], Constraint | None] | None = None
    prefix: str = ""  # every translation must begin with this text
    # translate each sentence separately; None: if the model was trained on single sentences
    by_sentence: bool | None = None
    insert: bool = True  # copy what a translation has lost from the source, if languages are known


DEFAULTS = TranslateOptions()


def with_changes(
    options: TranslateOptions,
    *,
    beam: int | None = None,
    alpha: float | None = None,
    penalty: Penalty | None = None,
    n_best: int | None = None,
    prefix: str | None = None,
    scores: bool | None = None,
    alignments: bool | None = None,
    batch_size: int | None = None,
) -> TranslateOptions:
    """The options with those that are not None changed; raises InputError if one is impossible."""
    for name, value in (("beam", beam), ("n_best", n_best), ("batch_size", batch_size)):
        if value is not None and value < 1:
            raise InputError(f"{name}={value} must be at least 1")
    if alpha is not None and not alpha >= 0:
        raise InputError(f"alpha={alpha} must be at least 0")
    of_search = _given(beam=beam, alpha=alpha, penalty=penalty, n_best=n_best)
    search = replace(options.search, **of_search)
    if search.n_best > search.beam and not search.sampling:
        raise InputError(
            f"n_best={search.n_best} needs a beam at least as wide: give beam={search.n_best}"
        )
    others = _given(prefix=prefix, scores=scores, alignments=alignments, batch_size=batch_size)
    return replace(options, search=search, **others)


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
