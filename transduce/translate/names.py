"""Keeps names that a model does not know: a familiar name is translated in their place."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import regex  # type: ignore[import-untyped]

from transduce.translate.join import Found
from transduce.translate.plan import Unit
from transduce.translate.traits import Traits

# A translation is replaced if the model is so much surer of the same sentence with familiar names:
# for each, this many nats ÷ the merges that a name of several tokens lacks. The more tokens, the
# rarer it was in training; a single token is known. docs/log.md says what this finds.
SURER = 4.0
FAMILIAR = (("Tom", "Boston", "Maria"), ("Boston", "Maria", "Tom"))  # one row is one attempt
CAPITAL_NOUNS = frozenset({"de", "lb"})  # languages in which a capital does not mark a name

_WORD = r"\p{Lu}(?:['’]\p{Lu})?[\p{L}\p{M}]*(?:-\p{L}+)*"
_NAME = regex.compile(rf"(?<=[\p{{Ll}}\d,;:] |(?:Mr|Mrs|Ms|Dr|St)\. ){_WORD}(?: {_WORD})*")
# English adjectives with a capital, as in "the Greek embassy", which other languages write without
_NATIONAL = regex.compile(r"(?:[aei]an|ish|ese|ch|eek|iss|ew|ic|i)$")
_ARTICLE = regex.compile(r"(?i)\b(?:the|an?) $")
_NOT_NAMES = frozenset({"I", "Mr", "Mrs", "Ms", "Miss", "Dr", "Sir", "God", "TV", "OK"})


@dataclass(frozen=True)
class Name:
    """A name in a source."""

    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def lost(self, output: str) -> list[str]:
        """Its words that the output does not have, an ending aside."""
        words = output.casefold()
        return [
            word
            for word in self.text.split()
            if not regex.search(rf"\b{regex.escape(word.casefold())}", words)
        ]


def names(text: str) -> list[Name]:
    """The words with a capital inside a sentence, adjacent ones together.

    >>> [name.text for name in names("Yesterday Dr Patel and I met Ann O'Hara in Leeds.")]
    ['Patel', "Ann O'Hara", 'Leeds']
    >>> names("I know the Bulgarian ambassador.")  # an adjective
    []
    """
    found = []
    for match in _NAME.finditer(text):
        start, words = match.start(), match[0].split(" ")
        while words and words[0] in _NOT_NAMES:
            start += len(words.pop(0)) + 1
        name = Name(" ".join(words), start)
        if len(name.text) > 1 and not _NOT_NAMES & set(words) and not _adjective(name, text):
            found.append(name)
    return found


@dataclass(frozen=True)
class Familiar:
    """A source with familiar names in place of others."""

    text: str
    names: tuple[tuple[str, Name], ...]

    def restored(self, output: str, language: str | None) -> str | None:
        """The output with the names of the source again; None if one has no single place."""
        for familiar, name in self.names:
            place = regex.compile(rf"(?<!\w){familiar}(s?)(?!\w)")
            if len(place.findall(output)) != 1:
                return None
            output = place.sub(lambda m, n=name.text: n + _genitive(n, m[1], language), output)
        return output

    def lost_from(self, translation: str, output: str) -> bool:
        """Whether a translation of the source is the output, but has no names in their places.

        >>> attempt = with_familiar_names("Go to Leeds!", names("Go to Leeds!"))[1]
        >>> attempt.lost_from("Geh nach neun!", "Geh nach Boston!")
        True
        >>> attempt.lost_from("Geh nach Lied!", "Geh nach Boston!")  # perhaps a name
        False

        Nor is it a name there if the same word is a second time in the translation.

        >>> sentence = "Go from Leeds to Rome!"
        >>> attempt = with_familiar_names(sentence, names(sentence)[:1])[1]
        >>> attempt.lost_from("Geh von Rom nach Rom!", "Geh von Boston nach Rom!")
        True
        """
        familiar = "|".join(name for name, _ in self.names)
        parts = regex.split(rf"\s*(?<!\w)(?:{familiar})s?(?!\w)\s*", output)
        places = regex.fullmatch(r"\s*(.*?)\s*".join(map(regex.escape, parts)), translation)
        if places is None or any(_NATIONAL.search(name.text) for _, name in self.names):
            return False
        rest = regex.findall(r"\w+", " ".join(parts))
        return all(place in rest or not regex.search(r"\p{Lu}", place) for place in places.groups())


def with_familiar_names(source: str, lost: Sequence[Name]) -> list[Familiar]:
    """Attempts to translate a source without the names that its translation lost."""
    attempts = []
    for row in FAMILIAR:
        pairs = tuple(zip(row, lost, strict=False))
        if len(pairs) < len(lost) or any(familiar in source for familiar, _ in pairs):
            continue
        text = source
        for familiar, name in reversed(pairs):  # from the end, so that positions stay valid
            text = text[: name.start] + familiar + text[name.end :]
        attempts.append(Familiar(text, pairs))
    return attempts


def keep_names(
    found: dict[Unit, Found],
    traits: Traits,
    encode: Callable[[str], tuple[int, ...]],
    search: Callable[[list[Unit]], list[Found]],
    inserted: Callable[[Unit, Found, str], Found | None],
) -> None:
    """Replaces translations that lost a name by ones that have it, where that is certain.

    It is if the model is surer of them, or if the lost names became words without a capital. Of
    several lost names, only some may be unknown: every selection of them is tried.
    `inserted` gives a result with another text, or None if that has faults.
    """
    if traits.source_language is None or traits.source_language in CAPITAL_NOUNS:
        return
    waiting: list[tuple[Unit, float, Familiar, Unit]] = []
    for unit, result in found.items():
        if "inserted" in result.flags:
            continue
        words = {name: name.lost(result.texts[0]) for name in names(unit.text)}
        lacking = {name: max([0, *(len(encode(w)) - 1 for w in words[name])]) for name in words}
        lost = [name for name in words if lacking[name]]
        for some in _selections(lost):
            surer = sum(SURER / lacking[name] for name in some)
            for attempt in with_familiar_names(unit.text, some):
                other = Unit(attempt.text, encode(attempt.text), unit.prefix)
                waiting.append((unit, surer, attempt, other))
    again = search([other for *_, other in waiting]) if waiting else []
    attempts = [
        (unit, result.hypotheses[0].log_prob - surer, attempt, result)
        for (unit, surer, attempt, _), result in zip(waiting, again, strict=True)
    ]
    for unit, log_prob, attempt, result in sorted(attempts, key=lambda one: -one[1]):
        old = found[unit]
        text = attempt.restored(result.texts[0], traits.target_language)
        certain = log_prob > old.hypotheses[0].log_prob or attempt.lost_from(
            old.texts[0], result.texts[0]
        )
        if text and certain and not result.flags and "inserted" not in old.flags:
            found[unit] = inserted(unit, old, text) or old


def _adjective(name: Name, text: str) -> bool:
    """Whether it is the adjective of a nation, between an article and a noun."""
    return bool(
        _NATIONAL.search(name.text)
        and _ARTICLE.search(text[: name.start])
        and regex.match(r" \p{Ll}", text[name.end :])
    )


def _selections(lost: Sequence[Name]) -> list[list[Name]]:
    """All selections of names, at least one; none if there are more than familiar names."""
    if len(lost) > len(FAMILIAR[0]):
        return []
    sizes = range(1, len(lost) + 1)
    return [list(some) for size in sizes for some in combinations(lost, size)]


def _genitive(name: str, ending: str, language: str | None) -> str:
    if ending and language == "de" and name[-1] in "sßxz":
        return "’"
    return ending
