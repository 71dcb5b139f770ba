"""Random verb phrases: something to do, and what one does it to."""

from dataclasses import replace
from random import Random

from transduce.grammar import times, verbs
from transduce.grammar.lexicon import Determiner, Phrase, Pronoun, Verb
from transduce.grammar.noun_phrases import Reference, at, companion, pick, thing, to
from transduce.grammar.syntax import NounPhrase, VerbPhrase
from transduce.grammar.words import CITIES, COUNTRIES


def bases(text: str) -> frozenset[str]:
    """English base forms, to say how their verbs are used."""
    return frozenset(text.split())


_COUNTING = bases("sell have need see write draw eat")
_ACQUIRING = bases("buy order bake cook build bring")
_INTRODUCING = bases(
    "drink wear build plan organize send give lend tell recommend dream steal find paint try "
    "photograph ask sing read hide lose chase watch visit"
)
_GENERIC = bases("eat cook bake drink order read write learn feed wear draw paint sing like")
_SOCIAL = bases("dance sing jog go ride swim watch play")
_MANNERS = dict.fromkeys(
    bases("eat drink read write clean wash cook"), times.PACES
) | dict.fromkeys(bases("open close repair hide"), times.MANNERS)
DEEDS: tuple[tuple[Verb, ...], ...] = (
    *(verbs.TRANSITIVE,) * 9,
    *(verbs.INTRANSITIVE,) * 4,
    *(verbs.PREPOSITIONAL,) * 3,
    *(verbs.DITRANSITIVE,) * 3,
    *(verbs.DATIVE,) * 2,
    *(verbs.MOTION,) * 3,
    *(verbs.ARRIVAL,),
    *(verbs.JOURNEY,) * 2,
    (verbs.STAY,),
)
IN = tuple(Phrase(f"in {p.english}", f"in {p.german}") for p in CITIES + COUNTRIES)
TO = tuple(Phrase(f"to {p.english}", f"nach {p.german}") for p in CITIES + COUNTRIES)
IN_CITY, TO_CITY = IN[: len(CITIES)], TO[: len(CITIES)]


def deed(rng: Random, owner: Determiner | None, bare: bool = False) -> VerbPhrase:
    """Something that people do; bare, without saying with whom or where."""
    while True:
        verb = pick(rng, pick(rng, DEEDS))
        if verb.by_people and verb.aspect != "state":
            return verb_phrase(rng, verb, owner, bare)


def reference(rng: Random, verb: Verb) -> Reference:
    """Whether a verb would introduce its object, or take it to be known."""
    base = verb.english.base
    if base == "like":
        return "generic" if rng.random() < 0.5 else "definite"
    if base in _COUNTING:
        return "counted"
    if base in _ACQUIRING:
        return "new"
    return "single" if base in _INTRODUCING and rng.random() < 0.75 else "definite"


def verb_phrase(
    rng: Random, verb: Verb, owner: Determiner | None, bare: bool = False
) -> VerbPhrase:
    """A verb with what it needs, and sometimes more."""
    r = rng.random()
    if verb in verbs.JOURNEY:
        by = pick(rng, times.BY_LAND[:3]) if verb.english.base == "travel" and r < 0.3 else None
        return VerbPhrase(verb, goal=pick(rng, TO), company=by)
    if verb in verbs.MOTION or verb in verbs.ARRIVAL:
        by = pick(rng, times.BY_LAND) if verb in verbs.ARRIVAL and r < 0.5 and not bare else None
        homewards = rng.random() < 0.12 and (verb in verbs.MOTION or by is not None or bare)
        goal = times.HOME if homewards else to(rng, pick(rng, verb.places))
        return VerbPhrase(verb, goal=goal, company=by)
    if verb is verbs.STAY:
        stay = times.AT_HOME if r < 0.5 else at(rng, pick(rng, verb.places))
        return VerbPhrase(verb, place=stay)
    place = at(rng, pick(rng, verb.places)) if verb.places and not bare and r < 0.4 else None
    if not verb.objects:
        social = verb.english.base in _SOCIAL and not bare and 0.4 < r < 0.65
        company = companion(rng, owner) if social else None
        return VerbPhrase(verb, place=place, company=company)
    target = thing(rng, verb.objects, owner, reference(rng, verb))
    if verb.english.base == "build" and isinstance(target, NounPhrase):
        target = replace(target, adjective=None)  # nobody builds an old house
    if not verb.recipients:
        manners = _MANNERS.get(verb.english.base)
        manner = pick(rng, manners) if manners and not bare and 0.4 < r < 0.55 else None
        return VerbPhrase(verb, target, manner=manner, place=place)
    recipient = thing(rng, verb.recipients, owner, "definite")
    first = verb.recipient_first and (r < 0.6 or isinstance(recipient, Pronoun))
    return VerbPhrase(verb, target, recipient, recipient_first=first)


def is_generic(phrase: VerbPhrase) -> bool:
    """Whether a habit of this kind is about things in general."""
    base = phrase.verb.english.base
    return base in _GENERIC and phrase.object is not None and phrase.recipient is None


def in_general(rng: Random, phrase: VerbPhrase) -> VerbPhrase:
    """The phrase as one says it of a habit: reads books, drinks coffee."""
    if not is_generic(phrase):
        return phrase
    return replace(phrase, object=thing(rng, phrase.verb.objects, None, "generic"))
