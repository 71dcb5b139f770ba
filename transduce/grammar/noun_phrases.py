"""Random noun phrases that make sense where they stand."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import Literal, TypeVar

from transduce.grammar.lexicon import Adjective, Determiner, Name, Noun, Place, Pronoun
from transduce.grammar.nouns import HUMAN, nouns
from transduce.grammar.syntax import Couple, Nominal, NounPhrase, Possessed, PrepPhrase
from transduce.grammar.words import (
    ADJECTIVES,
    BARE,
    EVERY,
    GENTLEMEN,
    HE,
    HER,
    HIS,
    LADIES,
    MEN,
    MY,
    NUMERALS,
    OUR,
    PERSONAL,
    POSSESSIVES,
    QUANTIFIERS,
    SHE,
    THE,
    THEIR,
    THEY,
    THIS,
    WE,
    WOMEN,
    YOU,
    YOUR,
    A,
    I,
)

T = TypeVar("T")
# three books, or hers; three books, but not yet hers; a book; her book; books
Reference = Literal["counted", "new", "single", "definite", "generic"]

FIRST_NAMES = WOMEN + MEN
TITLED = LADIES + GENTLEMEN
KIN = nouns("kin")
STRANGERS = nouns("person, child, profession")
_GROWN_UP = frozenset({"kin", "person", "profession"})
_PARENTS = nouns("mother, father, grandmother, grandfather")
_ABSTRACT = frozenset({"language", "subject", "resource"})
_PUBLIC = frozenset(  # what nobody owns
    {
        "wild animal",
        "sight",
        "settlement",
        "transport",
        "eatery",
        "event",
        "screen",
        "structure",
        "service",
        "opening",
    }
)
_MANY = frozenset({"snack", "gift", "farm animal", "furniture", "dish", "literature"})
_OTHERS: Mapping[Determiner | None, tuple[Pronoun, ...]] = {  # whom a subject can act upon
    MY: (YOU, HE, SHE, THEY),
    YOUR: (I, HE, SHE, WE, THEY),
    HIS: (I, YOU, SHE, WE, THEY),
    HER: (I, YOU, HE, WE, THEY),
    OUR: (YOU, HE, SHE, THEY),
    THEIR: (I, YOU, HE, SHE, WE),
    None: (I, YOU, WE, THEY),
}


def pick(rng: Random, choices: Sequence[T]) -> T:
    """One of the choices, all equally likely."""
    return choices[int(rng.random() * len(choices))]


def owner_of(nominal: Nominal) -> Determiner | None:
    """The possessive that refers back to a grown person; children and things have none."""
    if isinstance(nominal, Pronoun):
        return nominal.owner
    if isinstance(nominal, Couple):
        return THEIR
    if isinstance(nominal, Name):
        return HIS if nominal.gender == "m" else HER
    if nominal.noun.kind not in _GROWN_UP:
        return None
    if nominal.plural:
        return THEIR
    return HIS if nominal.noun.gender == "m" else HER


def is_feminine(nominal: Nominal) -> bool:
    """Whether a person is known to be female."""
    return owner_of(nominal) is HER


def person(rng: Random) -> Nominal:
    """Somebody who can be the subject of anything people do."""
    r = rng.random()
    if r < 0.35:
        return pick(rng, PERSONAL)
    if r < 0.62:
        return pick(rng, FIRST_NAMES if r < 0.55 else TITLED)
    if r < 0.78:
        return kin(rng, pick(rng, POSSESSIVES))
    if r < 0.94:
        return stranger(rng)
    first = pick(rng, FIRST_NAMES)
    return Couple(first, NounPhrase(owner_of(first) or THE, pick(rng, KIN)))


def another_name(rng: Random, owner: Determiner | None) -> Name:
    """A name that cannot be that of the subject whose possessive is the owner."""
    titled = rng.random() < 0.2
    if owner is HIS:
        return pick(rng, LADIES if titled else WOMEN)
    if owner is HER:
        return pick(rng, GENTLEMEN if titled else MEN)
    return pick(rng, TITLED if titled or owner is THEIR else FIRST_NAMES)


def kin(rng: Random, owner: Determiner | None) -> Nominal:
    """my old aunt; sometimes Anna's aunt."""
    noun = pick(rng, KIN)
    plural = rng.random() < 0.15 and noun not in _PARENTS
    if rng.random() < 0.12:
        return Possessed(another_name(rng, owner), noun, plural)
    adjective = _adjective(rng, noun, 0.15)
    return NounPhrase(owner or pick(rng, POSSESSIVES), noun, plural, adjective)


def stranger(rng: Random, noun: Noun | None = None) -> NounPhrase:
    """the young doctor."""
    noun = noun or pick(rng, STRANGERS)
    plural = rng.random() < 0.22
    r = rng.random()
    determiner = THIS if r < 0.12 else A if r < 0.2 and not plural else THE
    return NounPhrase(determiner, noun, plural, _adjective(rng, noun, 0.3))


def everyone(rng: Random) -> NounPhrase:
    """every student."""
    return NounPhrase(EVERY, pick(rng, STRANGERS))


def one_of(rng: Random, choices: Sequence[Noun]) -> NounPhrase:
    """the dog; these old dogs."""
    noun = pick(rng, choices)
    plural = bool(noun.plural) and rng.random() < 0.2
    determiner = THE if rng.random() < 0.85 else THIS
    return NounPhrase(determiner, noun, plural, _adjective(rng, noun, 0.3))


def thing(
    rng: Random, choices: Sequence[Noun], owner: Determiner | None, reference: Reference
) -> Nominal:
    """What somebody does something with; the owner is the possessive of that somebody."""
    noun = pick(rng, choices)
    if noun.kind in HUMAN:
        return _somebody(rng, noun, owner)
    if noun.kind in _ABSTRACT:
        return NounPhrase(BARE, noun)
    if reference == "generic":
        return NounPhrase(BARE, noun, bool(noun.plural))
    r = rng.random()
    adjective = _adjective(rng, noun, 0.3)
    if not noun.plural:
        bare = reference != "definite" and r < 0.8
        own = owner is not None and reference != "new" and r < 0.9
        determiner = BARE if bare else owner if own and owner else THE
        return NounPhrase(determiner, noun, adjective=adjective)
    if reference == "new" and r < 0.35:
        return NounPhrase(THE, noun, r < 0.1, adjective)
    if reference == "definite" or r < 0.35:
        return _definite(rng, noun, owner, adjective)
    if reference == "single" or r < 0.6:
        return NounPhrase(A, noun, adjective=adjective)
    if r < 0.75:
        return NounPhrase(BARE, noun, True, adjective)
    if r < 0.85:
        return NounPhrase(pick(rng, QUANTIFIERS), noun, True, adjective)
    numerals = NUMERALS if noun.kind in _MANY and r > 0.95 else NUMERALS[:11]
    return NounPhrase(pick(rng, numerals), noun, True, adjective)


def _definite(
    rng: Random, noun: Noun, owner: Determiner | None, adjective: Adjective | None
) -> Nominal:
    """the car, her car, this car, Peter's car, her brother's car."""
    plural = rng.random() < 0.2 and noun.kind not in _PUBLIC
    r = rng.random()
    if r < 0.4 or noun.kind in _PUBLIC:
        return NounPhrase(THE, noun, plural, adjective)
    if r < 0.7 and owner is not None:
        return NounPhrase(owner, noun, plural, adjective)
    if r < 0.8:
        return NounPhrase(THIS, noun, plural, adjective)
    if r < 0.9 or owner is None:
        return Possessed(another_name(rng, owner), noun, plural, adjective)
    return Possessed(NounPhrase(owner, pick(rng, KIN)), noun, plural, adjective)


def _somebody(rng: Random, noun: Noun, owner: Determiner | None) -> Nominal:
    r = rng.random()
    if r < 0.25:
        return pick(rng, _OTHERS[owner])
    if r < 0.45:
        return another_name(rng, owner)
    return kin(rng, owner) if noun.kind == "kin" else stranger(rng, noun)


def _adjective(rng: Random, noun: Noun, probability: float) -> Adjective | None:
    if rng.random() > probability:
        return None
    choices = ADJECTIVES.get(noun.kind)
    return pick(rng, choices) if choices else None


def at(rng: Random, place: Place) -> PrepPhrase:
    """in the old park."""
    return PrepPhrase(*place.at, "dat", _place(rng, place.noun))


def to(rng: Random, place: Place) -> PrepPhrase:
    """to the station; German uses the accusative, but zu the dative."""
    return PrepPhrase(*place.to, "dat" if place.to[1] == "zu" else "acc", _place(rng, place.noun))


def _place(rng: Random, noun: Noun) -> NounPhrase:
    return NounPhrase(THE, noun, adjective=_adjective(rng, noun, 0.12))


def companion(rng: Random, owner: Determiner | None) -> PrepPhrase:
    """with her brother."""
    return PrepPhrase("with", "mit", "dat", kin(rng, owner))
