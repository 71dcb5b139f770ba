"""Corrects names that a model spelled wrong in German: "Edinburgh" as "Edinburg"."""

from collections.abc import Iterator

import regex  # type: ignore[import-untyped]

from transduce.translate.restore.familiar import genitive
from transduce.translate.restore.names import CAPITAL_NOUNS, NATIONAL, names, similarity
from transduce.translate.restore.second import SecondSearch
from transduce.translate.traits import Traits

SIMILAR = 0.7  # of the letters, those that a word shares with the name
SHORTEST = 4  # letters
# Nats that the name of the source may be less probable than the word. Names that have a form of
# their own in the target language are much less probable there; docs/log.md has measurements.
LESS = 3.0
LESS_THAN_KNOWN = 0.7  # if the word looks like such a form: Tokio, Kuba, Zürich, Serbien
TARGET = "de"  # other languages have other endings and forms of names, which were not measured
_ENDINGS = "s|es|e|n|en|ern?|erin(?:nen)?|i?sch(?:e[mnrs]?)?|ien|iens|ier"

_OWN_FORM = regex.compile(r"[äöüß]|(?:ien|en|ei|land|au|enz)$")
_CAPITALISED = regex.compile(r"(?<![\w-])\p{Lu}[\p{L}\p{M}]+(?![\w-])")
_WORDS = regex.compile(r"\w+")


def respelled(source: str, output: str, traits: Traits) -> Iterator[tuple[str, float]]:
    """Outputs in which a word that resembles a lost name is that name.

    With the nats that each may be less probable than the output.

    >>> list(respelled("Go to Edinburgh!", "Geh nach Edinburg!", Traits("en", "de")))
    [('Geh nach Edinburgh!', 3.0)]
    >>> list(respelled("Go to Cuba!", "Geh nach Kuba!", Traits("en", "de")))
    [('Geh nach Cuba!', 0.7)]
    """
    if traits.target_language != TARGET or traits.source_language in {None, *CAPITAL_NOUNS}:
        return
    found = names(source)
    if not found:
        return
    known = {word.casefold() for word in _WORDS.findall(source)}
    there = set(_WORDS.findall(output))
    places = [m for m in _CAPITALISED.finditer(output) if m[0].casefold() not in known]
    for name in found:
        ending = "s" if regex.match(r"['’]s\b", source[name.end :]) else ""
        for word in name.text.split():
            if word in there or len(word) < SHORTEST:
                continue
            kept = regex.compile(rf"(?<!\w){regex.escape(word)}(?:['’]|{_ENDINGS})?(?!\w)")
            alike = [m for m in places if similarity(word, m[0]) >= SIMILAR]
            if kept.search(output) or len(alike) != 1:
                continue
            (place,) = alike
            less = LESS_THAN_KNOWN if _has_own_form(word, place[0]) else LESS
            written = word + genitive(word, ending, TARGET)
            yield output[: place.start()] + written + output[place.end() :], less


def _has_own_form(name: str, word: str) -> bool:
    """Whether a word may be a German form of a name, or the name a language, such as Spanish."""
    return bool(
        _OWN_FORM.search(word)
        or NATIONAL.search(name)
        or word.casefold().count("k") > name.casefold().count("k")
        or ("y" in name and "y" not in word)
        or "bourg" in name.casefold()
    )


def keep_spellings(second: SecondSearch) -> None:
    """Replaces misspelt names if the model finds the right spelling about as probable."""
    for unit, result in second.found.items():
        for text, less in respelled(unit.text, result.texts[0], second.traits):
            before, after = second.log_probs(unit, [result.texts[0], text])
            if after > before - less:
                second.replace(unit, text, again=True)
                break
