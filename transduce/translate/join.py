"""Joins the translations of the units of a text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from transduce.search import Hypothesis, Search, length_penalty
from transduce.translate.alignment import Link
from transduce.translate.lines import one_line
from transduce.translate.plan import Plan, Unit


@dataclass(frozen=True)
class Found:
    """The hypotheses of a unit, best first, their texts, and the flags of the best one."""

    hypotheses: tuple[Hypothesis, ...]
    texts: tuple[str, ...]
    flags: tuple[str, ...] = ()
    alignment: tuple[tuple[int, int], ...] = ()  # pairs of source and target word, if requested
    links: tuple[Link, ...] = ()  # the same with punctuation marks apart, and weights


@dataclass(frozen=True)
class Alternative:
    """One of the n-best translations."""

    translation: str
    score: float
    tokens: tuple[str, ...]
    token_scores: tuple[float, ...] = ()
    units: tuple[int, ...] = ()  # the number of tokens of each


@dataclass(frozen=True, repr=False)
class Translation:
    """The translation of a text with score, tokens, flags and alternatives.

    A list of them becomes a table by `pandas.DataFrame(results)`.
    """

    text: str
    translation: str
    score: float = 0.0  # log-probability ÷ length penalty
    tokens: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()  # explained in `transduce.translate.flags`
    alternatives: tuple[Alternative, ...] = ()  # n-best, the translation first
    token_scores: tuple[float, ...] = ()  # of each token and of EOS
    alignment: str = ""  # Pharaoh format: SOURCE-TARGET pairs of word indices
    links: tuple[Link, ...] = ()  # the same with punctuation marks apart, and weights
    units: tuple[int, ...] = ()  # the number of tokens of each sentence

    def __repr__(self) -> str:
        flags = f", flags={self.flags}" if self.flags else ""
        return f"Translation({self.text!r} → {self.translation!r}, score={self.score:.3f}{flags})"


def join_units(
    plan: Plan, found: Mapping[Unit, Found], vocabulary: Sequence[str], search: Search
) -> Translation:
    """The translation of a text; with several units only the best hypothesis of each is used."""
    if not plan.parts:
        return Translation(plan.text, "")
    parts = [(_cased(unit, found[unit]), after) for unit, after in plan.parts]
    count = len(parts[0][0].hypotheses) if len(parts) == 1 else 1
    ranked = [_alternative(parts, rank, vocabulary, search) for rank in range(count)]
    flags = dict.fromkeys(flag for result, _ in parts for flag in result.flags)
    flags |= dict.fromkeys(["capitals"] * any(unit.capitals for unit, _ in plan.parts))
    flags |= dict.fromkeys(["split"] * plan.split)
    best = ranked[0]
    return Translation(
        plan.text,
        best.translation,
        best.score,
        best.tokens,
        tuple(flags),
        tuple(ranked),
        best.token_scores,
        _pharaoh(plan, found),
        _links(plan, parts),
        best.units,
    )


def _cased(unit: Unit, result: Found) -> Found:
    """The result in capitals if its source was."""
    if not unit.capitals:
        return result
    best = result.texts[0]
    longer = [len(best[:end].upper()) for end in range(len(best) + 1)]  # ß becomes SS
    links = (replace(x, target=(longer[x.target[0]], longer[x.target[1]])) for x in result.links)
    texts = tuple(text.upper() for text in result.texts)
    return replace(result, texts=texts, links=tuple(links))


def _alternative(
    parts: Sequence[tuple[Found, str]], rank: int, vocabulary: Sequence[str], search: Search
) -> Alternative:
    hypotheses = [result.hypotheses[rank] for result, _ in parts]
    length = sum(len(h.tokens) + h.ended for h in hypotheses)
    return Alternative(
        one_line("".join(result.texts[rank].strip() + after for result, after in parts)),
        sum(h.log_prob for h in hypotheses) / length_penalty(max(length, 1), search),
        tuple(vocabulary[i] for h in hypotheses for i in h.tokens),
        tuple(log_prob for h in hypotheses for log_prob in h.log_probs),
        tuple(len(h.tokens) for h in hypotheses),
    )


def _pharaoh(plan: Plan, found: Mapping[Unit, Found]) -> str:
    links, sources, targets = [], 0, 0  # number of words of the previous units
    for unit, _ in plan.parts:
        links += [f"{sources + i}-{targets + j}" for i, j in found[unit].alignment]
        sources += len(unit.text.split())
        targets += len(found[unit].texts[0].split())
    return " ".join(links)


def _links(plan: Plan, parts: Sequence[tuple[Found, str]]) -> tuple[Link, ...]:
    """The links of all units, as spans of the text without outer spaces and its translation."""
    links, source, target = [], 0, 0  # characters of the previous units
    for (unit, _), (result, after) in zip(plan.parts, parts, strict=True):
        text = result.texts[0]
        indent = len(text) - len(text.lstrip())
        links += [link.shifted(source, target - indent) for link in result.links]
        source += len(unit.text) + len(after)
        target += len(text.strip()) + len(after)
    return tuple(links)
