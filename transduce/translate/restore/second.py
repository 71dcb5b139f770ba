"""Second searches: of a source with something familiar in place of what its translation lost."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

from transduce.translate.join import Found
from transduce.translate.plan import Unit
from transduce.translate.traits import Traits


@runtime_checkable
class Attempt(Protocol):
    """A text that is translated in place of a source."""

    @property
    def text(self) -> str: ...


A = TypeVar("A", bound=Attempt)


@dataclass(frozen=True)
class SecondSearch:
    """The results of units, and how to search for better ones."""

    found: dict[Unit, Found]
    traits: Traits
    encode: Callable[[str], tuple[int, ...]]
    search: Callable[[list[Unit]], list[Found]]
    inserted: Callable[[Unit, Found, str], Found | None]  # with another text; None if it has faults

    def of(self, attempts: Iterable[tuple[Unit, A]]) -> list[tuple[Unit, A, Found]]:
        """The attempts with their translations, all searched together."""
        waiting = list(attempts)
        if not waiting:
            return []
        found = self.search([self.unit(unit, attempt.text) for unit, attempt in waiting])
        return [(*pair, result) for pair, result in zip(waiting, found, strict=True)]

    def unit(self, unit: Unit, text: str) -> Unit:
        """A unit with another text."""
        return Unit(text, self.encode(text), unit.prefix)

    def replace(self, unit: Unit, text: str | None, again: bool = False) -> bool:
        """Gives a unit another translation, unless that is None or has faults.

        This is done once for a unit, unless `again`.
        """
        old = self.found[unit]
        if text is None or ("inserted" in old.flags and not again):
            return False
        new = self.inserted(unit, old, text)
        self.found[unit] = new or old
        return new is not None
