"""Short names for phrases of the grammar, in which the tests write sentences down."""

from typing import Any

from transduce.grammar import times, verbs
from transduce.grammar.lexicon import Determiner, Phrase, Verb
from transduce.grammar.nouns import NOUN, PLACE
from transduce.grammar.syntax import (
    Clause,
    Nominal,
    NounPhrase,
    Predicate,
    PrepPhrase,
    Relative,
    Statement,
    Tense,
    VerbPhrase,
)
from transduce.grammar.words import (
    ADJECTIVE,
    MEN,
    THE,
    WOMEN,
)

ALL_VERBS: tuple[Verb, ...] = tuple(
    verb
    for value in vars(verbs).values()
    for verb in (value if isinstance(value, tuple) else (value,))
    if isinstance(verb, Verb)
)


def lemma(verb: Verb) -> str:
    return f"{verb.english.base} {verb.english.tail}".strip()


VERB = {lemma(verb): verb for verb in ALL_VERBS if verb is not verbs.EXIST}
ANNA, PETER = WOMEN[0], MEN[0]


def the(
    noun: str, adjective: str = "", determiner: Determiner = THE, plural: bool = False
) -> NounPhrase:
    return NounPhrase(determiner, NOUN[noun], plural, ADJECTIVE[adjective] if adjective else None)


def which(noun: str, relative: Relative, plural: bool = False) -> NounPhrase:
    return NounPhrase(THE, NOUN[noun], plural, modifier=relative)


def do(verb: str, thing: Nominal | Phrase | None = None, **rest: Any) -> VerbPhrase:
    return VerbPhrase(VERB[verb], thing, **rest)


def be(predicate: Predicate) -> VerbPhrase:
    return VerbPhrase(verbs.BE, predicate=predicate)


def said(subject: Nominal, phrase: VerbPhrase, tense: Tense = "present", **rest: Any) -> Statement:
    return Statement(Clause(subject, phrase, tense, **rest))


def at(place: str) -> PrepPhrase:
    return PrepPhrase(*PLACE[place].at, "dat", the(place))


def to(place: str) -> PrepPhrase:
    prepositions = PLACE[place].to
    return PrepPhrase(*prepositions, "dat" if prepositions[1] == "zu" else "acc", the(place))


def quality(word: str) -> Phrase:
    return Phrase(ADJECTIVE[word].english, ADJECTIVE[word].german)


YESTERDAY, TOMORROW = times.PAST[0], times.FUTURE[0]
BECAUSE, ALTHOUGH = Phrase("because", "weil"), Phrase("although", "obwohl")
IF, WHEN = Phrase("if", "wenn"), Phrase("when", "als")
THAT, WHETHER = Phrase("that", "dass"), Phrase("whether", "ob")
AND, BUT = Phrase("and", "und"), Phrase("but", "aber")
IN_ROME = Phrase("in Rome", "in Rom")
