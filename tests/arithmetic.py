"""Arithmetic with printed numbers, each of which was rounded."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """All that a printed number may have been before it was rounded."""

    low: float
    high: float

    def __add__(self, other: "Interval") -> "Interval":
        return Interval(self.low + other.low, self.high + other.high)

    def __neg__(self) -> "Interval":
        return Interval(-self.high, -self.low)

    def __sub__(self, other: "Interval") -> "Interval":
        return self + -other

    def __mul__(self, other: "Interval") -> "Interval":
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(ends), max(ends))

    def __truediv__(self, other: "Interval") -> "Interval":
        return self * Interval(1 / other.high, 1 / other.low)

    def meets(self, other: "Interval") -> bool:
        return self.low <= other.high + 1e-5 and other.low <= self.high + 1e-5


def increasing(function: Callable[[float], float]) -> Callable[[Interval], Interval]:
    return lambda x: Interval(function(x.low), function(x.high))


def sampled(function: Callable[[float], float]) -> Callable[[Interval], Interval]:
    """The same for a function that may fall and rise."""

    def over(x: Interval) -> Interval:
        values = [function(x.low + share / 20 * (x.high - x.low)) for share in range(21)]
        return Interval(min(values), max(values))

    return over


def gelu(x: float) -> float:
    return x * (1 + math.erf(x / math.sqrt(2))) / 2


FUNCTIONS = {
    "Interval": Interval,
    "exp": increasing(math.exp),
    "tanh": increasing(math.tanh),
    "sqrt": increasing(math.sqrt),
    "max": lambda zero, x: Interval(max(zero.low, x.low), max(zero.high, x.high)),
    "GELU": sampled(gelu),
    "SiLU": sampled(lambda x: x / (1 + math.exp(-x))),
}


def value_of(arithmetic: str) -> Interval:
    """What may come out, given that every decimal number was rounded where it ends."""

    def interval(found: re.Match[str]) -> str:
        number = float(found[0])
        half = 0.5 * 10.0 ** -len(found[0].partition(".")[2]) if "." in found[0] else 0.0
        return f"Interval({number - half}, {number + half})"

    text = re.sub(r"√(\d+)", r"sqrt(\1)", arithmetic).replace("×", "*").replace("−", "-")
    text = re.sub(r" \([\d,]+ more terms?\)", "", text)
    found: Interval = eval(re.sub(r"(?<![\w.])\d+(\.\d+)?", interval, text), dict(FUNCTIONS))
    return found


def close(one: Interval, other: Interval) -> bool:
    """Whether both may be the same number, and neither says so by being vague."""
    sharp = all(value.high - value.low < 0.1 * max(1, abs(value.high)) for value in (one, other))
    return sharp and one.meets(other)
