"""Separators of thousands: 1,250 is 1.250 in German, where 1,250 is one and a quarter."""

import regex  # type: ignore[import-untyped]

from transduce.translate.entities import Entity, entities, has_thousands, localised
from transduce.translate.restore.second import SecondSearch

_SEPARATED = regex.compile(r"\d[.,]\d{3}")
_ADDRESS = regex.compile(r"[12]?\d?\d(?:\.[12]\d\d){3}")  # 192.168.100.200


def with_separators(
    source: str, output: str, source_language: str | None, target_language: str | None
) -> str | None:
    """The output with numbers of the source separated as in its language; None if they are.

    >>> with_separators("We need 1,250 chairs.", "Wir brauchen 1,250 Stühle.", "en", "de")
    'Wir brauchen 1.250 Stühle.'
    """
    if not _SEPARATED.search(source):
        return None
    wanted: dict[str, str | None] = {}  # by digits; None if it is not clear which number is meant
    for one in entities(source):
        if one.number is None and one.kind == "number":
            written = localised(one, source_language, target_language)
            grouped = has_thousands(one, source_language) and not _ADDRESS.fullmatch(one.text)
            form = written if grouped and written != one.text else None
            digits = _digits(one)
            wanted[digits] = form if wanted.get(digits, form) == form else None
    fixed = output
    for one in reversed(entities(output)):
        form = wanted.get(_digits(one)) if one.number is None else None
        if form and not one.text.isdecimal():
            fixed = fixed[: one.start] + form + fixed[one.end :]
    return None if fixed == output else fixed


def _digits(entity: Entity) -> str:
    return "".join(filter(str.isdecimal, entity.text))


def keep_separators(second: SecondSearch) -> None:
    """Corrects the separators of numbers that the model copied or spoiled."""
    languages = second.traits.source_language, second.traits.target_language
    for unit, result in second.found.items():
        second.replace(unit, with_separators(unit.text, result.texts[0], *languages), again=True)
