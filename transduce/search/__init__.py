"""Search: the settings of §6.1, and what is found. Nothing here needs torch; `beam` does."""

from dataclasses import dataclass
from typing import Literal

Penalty = Literal["gnmt", "average", "none"]


@dataclass(frozen=True)
class Search:
    """Search settings; the defaults are §6.1's."""

    beam: int = 4
    alpha: float = 0.6
    penalty: Penalty = "gnmt"
    extra_length: int = 50  # the maximum output length is the input length plus this
    n_best: int = 1
    no_repeat: int = 0  # if not 0, no n-gram of this many tokens occurs twice

    def limit(self, source_length: int) -> int:
        return source_length + self.extra_length


PAPER = Search()
GREEDY = Search(beam=1)


@dataclass(frozen=True)
class Hypothesis:
    """A sequence of tokens, without EOS."""

    tokens: tuple[int, ...]
    log_prob: float  # of the tokens, and of EOS if it ended
    score: float  # log_prob over the length penalty: what search maximises
    ended: bool = True  # by EOS; otherwise it was cut at its limit, or nothing could follow
    log_probs: tuple[float, ...] = ()  # of each token, where the engine provides them


def length_penalty(length: int, search: Search = PAPER) -> float:
    """The divisor of a log-probability; `length` counts EOS.

    `gnmt`: ((5 + n)/6)^α, as §6.1 by way of Wu et al.; `average`: n^α; `none`: 1.
    """
    if search.penalty == "gnmt":
        return float(((5 + length) / 6) ** search.alpha)
    return float(length**search.alpha) if search.penalty == "average" else 1.0
