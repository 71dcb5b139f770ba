"""Keeps names that a model does not know: a familiar name is translated in their place."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import regex  # type: ignore[import-untyped]

from transduce.translate.plan import Unit
from transduce.translate.restore.second import SecondSearch

# A translation is replaced if the model is so much surer of the same sentence with familiar names:
# for each, this many nats ÷ the merges that a name of several tokens lacks. The more tokens, the
# rarer it was in training; a single token is known. docs/log.md says what this finds.
SURER = 4.0
FAMILIAR = (  # one row is one attempt
    ("Tom", "Boston", "Maria"),
    ("Boston", "Maria", "Tom"),
    ("Maria", "Tom", "Boston"),
)
CAPITAL_NOUNS = frozenset({"de", "lb"})  # languages in which a capital does not mark a name

_WORD = r"\p{Lu}(?:['’]\p{Lu})?[\p{L}\p{M}]*(?:-\p{L}+)*"
_NAME = regex.compile(rf"(?<=[\p{{Ll}}\d,;:] |(?:Mr|Mrs|Ms|Dr|St)\. ){_WORD}(?: {_WORD})*")
# English adjectives with a capital, as in "the Greek embassy", which other languages write without
NATIONAL = regex.compile(r"(?:[aei]an|ish|ese|ch|eek|iss|ew|ic|i)$")
_ARTICLE = regex.compile(r"(?i)\b(?:the|an?) $")
_TITLE = regex.compile(r"\b(?:Dr|Prof) $")  # models know them with a full stop
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
    surer: float = 0.0  # the model must be of it, in nats
    titles: tuple[str, ...] = ()  # that the names have and their translation must have

    def restored(self, output: str, language: str | None) -> str | None:
        """The output with the names of the source again; None if one has no single place."""
        for familiar, name in self.names:
            place = regex.compile(rf"(?<!\w){familiar}(s?)(?!\w)")
            if len(place.findall(output)) != 1:
                return None
            output = place.sub(lambda m, n=name.text: n + genitive(n, m[1], language), output)
        return output

    def has_titles(self, output: str) -> bool:
        """Whether an output has all titles, as words of their own."""
        return all(regex.search(rf"\b{title}\b", output) for title in self.titles)

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
        if places is None or any(NATIONAL.search(name.text) for _, name in self.names):
            return False
        rest = regex.findall(r"\w+", " ".join(parts))
        return all(place in rest or not regex.search(r"\p{Lu}", place) for place in places.groups())


def with_familiar_names(source: str, lost: Sequence[Name], surer: float = 0.0) -> list[Familiar]:
    """Attempts to translate a source without the names that its translation lost."""
    attempts = []
    for row in FAMILIAR:
        pairs = tuple(zip(row, lost, strict=False))
        if len(pairs) < len(lost) or any(familiar in source for familiar, _ in pairs):
            continue
        text, titles = source, []
        for familiar, name in reversed(pairs):  # from the end, so that positions stay valid
            before = text[: name.start]
            if title := _TITLE.search(before):
                titles.append(title[0].strip())
                before = f"{before.rstrip()}. "
            text = before + familiar + text[name.end :]
        attempts.append(Familiar(text, pairs, surer, tuple(titles)))
    return attempts


def keep_names(second: SecondSearch) -> None:
    """Replaces translations that lost a name by ones that have it, where that is certain.

    It is if the model is surer of them, if the lost names became words without a capital, or if
    a title was lost with its name: "Dr Okafor" became "Drkafor". Of several lost names, only some
    may be unknown: every selection of them is tried.
    """
    language = second.traits.source_language
    if language is None or language in CAPITAL_NOUNS:
        return
    attempts: list[tuple[Unit, Familiar]] = []
    for unit, result in second.found.items():
        if "inserted" in result.flags:
            continue
        lost = {}
        for name in names(unit.text):
            merges = [len(second.encode(word)) - 1 for word in name.lost(result.texts[0])]
            if max([0, *merges]):
                lost[name] = SURER / max(merges)
        for some in _selections(list(lost)):
            surer = sum(lost[name] for name in some)
            attempts += [(unit, one) for one in with_familiar_names(unit.text, some, surer)]
    searched = second.of(attempts)
    searched.sort(key=lambda one: one[1].surer - one[2].hypotheses[0].log_prob)
    for unit, attempt, result in searched:
        old = second.found[unit]
        gain = result.hypotheses[0].log_prob - old.hypotheses[0].log_prob
        certain = (
            gain > attempt.surer
            or attempt.lost_from(old.texts[0], result.texts[0])
            or (attempt.has_titles(result.texts[0]) and not attempt.has_titles(old.texts[0]))
        )
        if certain and not result.flags:
            second.replace(unit, attempt.restored(result.texts[0], second.traits.target_language))


def _adjective(name: Name, text: str) -> bool:
    """Whether it is the adjective of a nation, between an article and a noun."""
    return bool(
        NATIONAL.search(name.text)
        and _ARTICLE.search(text[: name.start])
        and regex.match(r" \p{Ll}", text[name.end :])
    )


def _selections(lost: Sequence[Name]) -> list[list[Name]]:
    """All selections of names, at least one; none if there are more than familiar names."""
    if len(lost) > len(FAMILIAR[0]):
        return []
    sizes = range(1, len(lost) + 1)
    return [list(some) for size in sizes for some in combinations(lost, size)]


def genitive(name: str, ending: str, language: str | None) -> str:
    """The ending of a name in this language, where another one has `ending`: s, or none."""
    if ending and language == "de" and name[-1] in "sßxz":
        return "’"
    return ending
