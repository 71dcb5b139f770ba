"""How texts are translated, as one value that every step takes."""

from dataclasses import dataclass

from transduce.search import PAPER, Search


@dataclass(frozen=True)
class TranslateOptions:
    """The defaults are the paper's search, and no extras."""

    search: Search = PAPER
    batch_size: int = 64
    scores: bool = False  # over the whole vocabulary, as `score` gives them, not a shortlist
    alignments: bool = False  # word alignments, from the torch engine's attention
    prefix: str = ""  # how every translation must begin
    by_sentence: bool = False  # each sentence is translated apart, also in a short text


DEFAULTS = TranslateOptions()
