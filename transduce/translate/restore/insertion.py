"""Puts numbers, addresses and the like that a translation lost into it, from the source."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import regex  # type: ignore[import-untyped]

from transduce.translate.entities import Entity, entities, localised, missing, stray
from transduce.translate.numerals import LANGUAGES, numeral_forms
from transduce.translate.plan import Unit
from transduce.translate.restore.second import SecondSearch
from transduce.translate.traits import Traits

# What models copy well. Each row is one attempt; several entities take several columns.
_NUMBERS = (("20", "30", "50"), ("100", "200", "50"), ("10", "12", "15"), ("60", "40", "80"))
_NAMES = (("Tom", "Boston", "Maria"), ("Boston", "Tom", "Anna"), ("Paris", "Peter", "Rom"))
_PLACEHOLDERS = {
    "address": (*_NAMES, ("Maria", "London", "Tom")),
    "phone": (("123", "456", "100"), ("911", "112", "110"), *_NAMES[:2]),
    "time": (
        ("2:30", "10:30", "5:15"),
        ("7:00", "9:00", "8:30"),
        ("3:45", "6:15", "1:20"),
        ("9:30", "4:30", "6:00"),
    ),
}
_ADDRESS = regex.compile(r"[@/\\]|\.\w")  # not a code like A380

SHORT = 32  # tokens that every model can translate

_LETTER = regex.compile(r"\p{L}")
_BEGINNING = regex.compile(r"(?:^|[.!?:]\s)[^\p{L}\d]*$")  # of a sentence


@dataclass(frozen=True)
class Masked:
    """A source with placeholders for some entities."""

    text: str
    entities: tuple[tuple[str, Entity], ...]  # with their placeholders

    def filled(self, output: str, traits: Traits) -> str | None:
        """The output with the entities in place of the placeholders; None if one is not there."""
        for placeholder, entity in self.entities:
            spellings = "|".join(map(regex.escape, _spellings(placeholder, traits)))
            parts = regex.split(rf"(?<![\w.,:])(?:{spellings})(?![\w:]|[.,]\d)", output)
            if len(parts) != 2:
                return None
            output = _following(parts[0], entity, traits).join(parts)
        return output if plausible(output) else None


def insert_missing(second: SecondSearch) -> None:
    """Replaces translations that are flagged "missing" by ones that have everything."""
    traits = second.traits
    attempts: list[tuple[Unit, Masked]] = []
    last: list[tuple[Unit, Sequence[Entity]]] = []
    for unit, result in second.found.items():
        if "missing" not in result.flags or "repaired" in result.flags:
            continue
        lost = missing(unit.text, result.texts[0], traits.target_language)
        if second.replace(unit, corrected(unit.text, result.texts[0], lost, traits)):
            continue
        last.append((unit, lost))
        longest = max(len(unit.ids), SHORT)  # the model has limits
        attempts += [
            (unit, one)
            for one in masked(unit.text, lost)
            if len(second.encode(one.text)) <= longest
        ]
    searched = second.of(attempts)
    searched.sort(key=lambda one: -one[2].hypotheses[0].score)
    for unit, attempt, result in searched:
        if not result.flags:
            second.replace(unit, attempt.filled(result.texts[0], traits))
    for unit, several in last:
        second.replace(unit, appended(second.found[unit].texts[0], several))


def masked(source: str, lost: Sequence[Entity]) -> list[Masked]:
    """Attempts to translate a source without the entities that its translation lost."""
    attempts = []
    for row in range(len(_NUMBERS)):
        text, pairs = source, []
        used = {kind: iter(rows[row]) for kind, rows in _PLACEHOLDERS.items()}
        numbers = iter(_NUMBERS[row])
        for entity in reversed(lost):  # from the end, so that positions stay valid
            placeholder = next(used.get(entity.kind, numbers), None)
            if placeholder is None or regex.search(rf"\b{placeholder}\b", source):
                break
            text = text[: entity.start] + placeholder + text[entity.end :]
            pairs.append((placeholder, entity))
        else:
            attempts.append(Masked(text, tuple(pairs)))
    return attempts


def corrected(source: str, output: str, lost: Sequence[Entity], traits: Traits) -> str | None:
    """The output with its one wrong number replaced; the source if it has nothing to translate.

    None if it is not certain what to replace.
    """
    if not _LETTER.search(
        _without(source, (one for one in entities(source) if one.number is None))
    ):
        return source
    wrong = stray(source, output, traits.source_language)
    if len(lost) != 1 or len(wrong) != 1 or "address" in (lost[0].kind, wrong[0].kind):
        return None
    before, after = output[: wrong[0].start], output[wrong[0].end :]
    if lost[0].kind == "phone":  # of a telephone number, only a part may be wrong
        before, after = regex.sub(r"[\d/-]*$", "", before), regex.sub(r"^[/-]?\d[\d/-]*", "", after)
    fixed = before + _following(before, lost[0], traits) + after
    lost = missing(source, fixed, traits.target_language)
    return None if lost or not plausible(fixed) else fixed


def plausible(output: str) -> bool:
    """Whether no telephone number was put where a time of day was."""
    return not any(one.kind == "phone" and one.hour for one in entities(output))


def _spellings(placeholder: str, traits: Traits) -> list[str]:
    """How a placeholder may be written in the translation: 20 as "zwanzig", 2:30 as 2.30."""
    found = [placeholder, placeholder.replace(":", ".")]
    if placeholder.isdecimal() and traits.target_language in LANGUAGES:
        found.append(numeral_forms(traits.target_language, int(placeholder))[0])
    return found


def appended(output: str, lost: Sequence[Entity]) -> str | None:
    """The output with lost addresses and telephone numbers after it; None if others were lost."""
    if all(one.kind == "phone" or _ADDRESS.search(one.text) for one in lost):
        return f"{output.rstrip()} ({', '.join(one.text for one in lost)})"
    return None


def _without(text: str, some: Iterable[Entity]) -> str:
    for entity in reversed(list(some)):
        text = text[: entity.start] + text[entity.end :]
    return text


def _following(before: str, entity: Entity, traits: Traits) -> str:
    """An entity as it is written in the target language after this text; words may begin it."""
    text = localised(entity, traits.source_language, traits.target_language)
    begins = entity.number is not None and _BEGINNING.search(before)
    return text[:1].upper() + text[1:] if begins else text
