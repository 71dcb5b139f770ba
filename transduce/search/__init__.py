"""Search settings (§6.1), hypotheses and the length penalty; without torch."""

from dataclasses import dataclass
from typing import Literal

Penalty = Literal["gnmt", "average", "none"]


@dataclass(frozen=True)
class Sampling:
    """Temperature, top-k and top-p (nucleus), applied in this order."""

    temperature: float = 1.0  # 0: the likeliest token
    top_k: int | None = None
    top_p: float = 1.0


@dataclass(frozen=True)
class Search:
    """Search settings; the defaults are §6.1's."""

    beam: int = 4
    alpha: float = 0.6
    penalty: Penalty = "gnmt"
    extra_length: int = 50  # the maximum output length is the input length plus this
    n_best: int = 1
    no_repeat: int = 0  # n: no n-gram occurs twice; 0: no limit
    sampling: Sampling | None = None  # sample instead of searching; the beam is then 1
    seed: int = 1  # of sampling

    def limit(self, source_length: int) -> int:
        return source_length + self.extra_length


PAPER = Search()
GREEDY = Search(beam=1)


@dataclass(frozen=True)
class Hypothesis:
    """A sequence of tokens, without EOS."""

    tokens: tuple[int, ...]
    log_prob: float  # of the tokens, and of EOS if it ended
    score: float  # log_prob ÷ length penalty, which search maximises
    ended: bool = True  # by EOS; False if cut at the length limit or if no token was allowed
    log_probs: tuple[float, ...] = ()  # of each token, if the engine provides them


def length_penalty(length: int, search: Search = PAPER) -> float:
    """The divisor of a log-probability; `length` counts EOS.

    `gnmt`: ((5 + n)/6)^α, §6.1, from Wu et al.; `average`: n^α; `none`: 1.
    """
    if search.penalty == "gnmt":
        return float(((5 + length) / 6) ** search.alpha)
    return float(length**search.alpha) if search.penalty == "average" else 1.0
