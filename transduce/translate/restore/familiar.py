"""Keeps names that a model does not know: a familiar name is translated in their place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, takewhile
from types import MappingProxyType

import regex  # type: ignore[import-untyped]

from transduce.translate.plan import Unit
from transduce.translate.restore.names import NATIONAL, Name, finder, similarity
from transduce.translate.restore.places import place_forms
from transduce.translate.restore.second import SecondSearch

# A translation is replaced if the model is so much surer of the same sentence with familiar names:
# for each, this many nats ÷ the merges that a name of several tokens lacks. The more tokens, the
# rarer it was in training; a single token is known. docs/log.md says what this finds.
SURER = 4.0
SURER_OF_NOUN = 1.0  # nats, if a name may also be another noun
ALIKE = 0.4  # of the letters, those that a spoilt name shares with what may also be a noun
FAMILIAR = (  # one row is one attempt
    ("Tom", "Boston", "Maria"),
    ("Boston", "Maria", "Tom"),
    ("Maria", "Tom", "Boston"),
)
_TITLE = regex.compile(r"\b(?:Dr|Prof) $")  # models know them with a full stop
_BARE_TITLE = regex.compile(r"\b(Dr|Prof) (?=\p{Lu}\p{Ll})")
_WORDS = regex.compile(r"\w+")


@dataclass(frozen=True)
class Familiar:
    """A source with familiar names in place of others."""

    text: str
    names: tuple[tuple[str, Name], ...]
    surer: float = 0.0  # the model must be of it, in nats
    titles: tuple[str, ...] = ()  # that the names have and their translation must have

    def restored(
        self,
        output: str,
        language: str | None,
        forms: Mapping[str, str] = MappingProxyType({}),
    ) -> str | None:
        """The output with the names of the source again, or what the target language calls them.

        None if one has no single place.
        """
        for familiar, name in self.names:
            place = regex.compile(rf"(?<!\w){familiar}(s?)(?!\w)")
            if len(place.findall(output)) != 1:
                return None
            words = [forms.get(word, word) for word in name.text.split(" ")]
            text = forms.get(name.text, " ".join(words))
            output = place.sub(lambda m, n=text: n + genitive(n, m[1], language), output)
        return output

    def has_titles(self, output: str) -> bool:
        """Whether an output has all titles, with a full stop or before a name."""
        return all(regex.search(rf"\b{title}(?:\.| \p{{Lu}})", output) for title in self.titles)

    def lost_from(self, translation: str, output: str) -> bool:
        """Whether a translation of the source is the output, but has no names in their places.

        >>> attempt = with_familiar_names("Go to Leeds!", [Name("Leeds", 6)])[1]
        >>> attempt.lost_from("Geh nach neun!", "Geh nach Boston!")
        True
        >>> attempt.lost_from("Geh nach Lied!", "Geh nach Boston!")  # perhaps a name
        False

        Nor is it a name there if the same word is a second time in the translation.

        >>> sentence = "Go from Leeds to Rome!"
        >>> attempt = with_familiar_names(sentence, [Name("Leeds", 8)])[1]
        >>> attempt.lost_from("Geh von Rom nach Rom!", "Geh von Boston nach Rom!")
        True
        """
        familiar = "|".join(name for name, _ in self.names)
        parts = regex.split(rf"\s*(?<!\w)(?:{familiar})s?(?!\w)\s*", output)
        places = regex.fullmatch(r"\s*(.*?)\s*".join(map(regex.escape, parts)), translation)
        if places is None or any(
            NATIONAL.search(name.text) or not name.sure for _, name in self.names
        ):
            return False
        rest = regex.findall(r"\w+", " ".join(parts))
        return all(place in rest or not regex.search(r"\p{Lu}", place) for place in places.groups())

    def spoilt_in(self, translation: str, output: str) -> bool:
        """Whether each name that may be another noun resembles a word that only it has.

        >>> source = "Er wohnt in Chemnitz."
        >>> attempt = with_familiar_names(source, [Name("Chemnitz", 12, sure=False)])[0]
        >>> attempt.spoilt_in("He lives in chemistry.", "He lives in Tom.")
        True
        >>> attempt.spoilt_in("He lives in town.", "He lives in Tom.")
        False
        """
        known = set(_WORDS.findall(output))
        words = [word for word in _WORDS.findall(translation) if word not in known]
        words += [first + second for first, second in pairwise(words)]
        return all(
            name.sure or any(similarity(name.text, word) >= ALIKE for word in words)
            for _, name in self.names
        )


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
    source, target = second.traits.source_language, second.traits.target_language
    if source == "de" and target != "en":
        return  # what marks names in German was measured with English only
    forms, find = place_forms(source, target), finder(source)
    attempts: list[tuple[Unit, Familiar]] = []
    for unit, result in second.found.items():
        if "inserted" in result.flags:
            continue
        lost = {}
        for name in find(unit.text):
            words = name.lost(result.texts[0], forms)
            merges = max([0, *(len(second.encode(word)) - 1 for word in words)])
            if not merges:
                continue
            if source != "de":
                lost[name] = SURER / merges
            elif unknown := _unknown(name, second):
                lost[unknown] = 0.0 if name.sure else SURER_OF_NOUN
        for some in _selections(list(lost)):
            surer = sum(lost[name] for name in some)
            attempts += [(unit, one) for one in with_familiar_names(unit.text, some, surer)]
    searched = second.of(attempts)
    searched.sort(key=lambda one: one[1].surer - one[2].hypotheses[0].log_prob)
    for unit, attempt, result in searched:
        old, new = second.found[unit].texts[0], result.texts[0]
        gain = result.hypotheses[0].log_prob - second.found[unit].hypotheses[0].log_prob
        certain = (
            (gain > attempt.surer and attempt.spoilt_in(old, new))
            or attempt.lost_from(old, new)
            or (attempt.has_titles(new) and not attempt.has_titles(old))
        )
        if certain and not result.flags:
            second.replace(unit, attempt.restored(new, target, forms))


def keep_titles(second: SecondSearch) -> None:
    """Writes titles with a full stop in German: "Dr Weber" is "Dr. Weber"."""
    if second.traits.target_language == "de":
        for unit, result in second.found.items():
            text = _BARE_TITLE.sub(r"\1. ", result.texts[0])
            if text != result.texts[0]:
                second.replace(unit, text, again=True)


def _unknown(name: Name, second: SecondSearch) -> Name | None:
    """A name up to a word that the model knows: of "Petrow Zeit" only "Petrow".

    None if it is a genitive: "Petrows Haus".
    """
    first, *others = name.text.split(" ")
    unknown = [first, *takewhile(lambda word: len(second.encode(word)) > 1, others)]
    if len(unknown) <= len(others) and unknown[-1][-1] == "s":
        return None
    return replace(name, text=" ".join(unknown))


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
