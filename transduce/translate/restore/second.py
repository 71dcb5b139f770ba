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
    changed: Callable[[Unit, Found, str, str], Found | None]  # text and flag; None if it has faults
    log_probs: Callable[[Unit, list[str]], list[float]]  # of texts as translations of a unit

    def of(self, attempts: Iterable[tuple[Unit, A]]) -> list[tuple[Unit, A, Found]]:
        """The attempts with their translations, all searched together."""
        waiting = list(attempts)
        units = [
            Unit(attempt.text, self.encode(attempt.text), unit.prefix) for unit, attempt in waiting
        ]
        found = self.search(units) if units else []
        return [(*pair, result) for pair, result in zip(waiting, found, strict=True)]

    def translations(self, texts: Iterable[str]) -> dict[str, Found]:
        """The translations of other texts, all searched together."""
        units = [Unit(text, self.encode(text)) for text in dict.fromkeys(texts)]
        found = self.search(units) if units else []
        return {unit.text: result for unit, result in zip(units, found, strict=True)}

    def replace(
        self, unit: Unit, text: str | None, flag: str = "inserted", again: bool = False
    ) -> bool:
        """Gives a unit another translation and a flag, unless the new one is None or has faults.

        This is done once for a unit and a flag, unless `again`.
        """
        old = self.found[unit]
        if text is None or (flag in old.flags and not again):
            return False
        new = self.changed(unit, old, text, flag)
        self.found[unit] = new or old
        return new is not None
