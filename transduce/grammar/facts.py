"""Random clauses that state facts: ages, prices, dates, times, the weather."""

from random import Random

from transduce.grammar import english, german, times, verbs
from transduce.grammar.clauses import state
from transduce.grammar.descriptions import be, item, present_or_past, sky
from transduce.grammar.lexicon import Phrase
from transduce.grammar.noun_phrases import (
    FIRST_NAMES,
    KIN,
    at,
    one_of,
    owner_of,
    person,
    pick,
    stranger,
)
from transduce.grammar.nouns import NOUN, nouns, places
from transduce.grammar.syntax import (
    Clause,
    Negation,
    Nominal,
    NounPhrase,
    PrepPhrase,
    Tense,
    VerbPhrase,
)
from transduce.grammar.verb_phrases import IN, IN_CITY, TO_CITY, verb_phrase
from transduce.grammar.verbs import named
from transduce.grammar.words import (
    ADJECTIVES,
    HE,
    IT,
    MUST,
    NO,
    NUMERALS,
    POSSESSIVES,
    QUANTIFIERS,
    SHE,
    THE,
    THERE,
    THIS,
    A,
    I,
)

_YOUNGER = nouns("son, daughter, brother, sister, cousin, friend")
_PRICES = (  # what it is, the least it costs in euros, and more than it costs
    (nouns("snack, bread, cake, pizza"), 2, 10),
    (nouns("book, novel, flower, cup, toy, ball"), 5, 40),
    (nouns("clothes, bag, umbrella, suitcase, lamp, radio"), 20, 100),
    (nouns("furniture, camera, phone, ring, guitar, computer, bike"), 100, 1000),
)
_MEALS = nouns("baked, dish, drink, staple")
_SITES = places("settlement")
_BUILDINGS = nouns(
    "restaurant, café, hotel, museum, church, castle, bakery, library, park, hospital"
)
_MEASURED = (
    (NOUN["tower"], "high", "hoch"),
    (NOUN["bridge"], "long", "lang"),
    (NOUN["river"], "deep", "tief"),
)
_TASTES = (Phrase("good", "gut"), Phrase("delicious", "lecker"))
_CENTS = (0, 0, 0, 50, 50, 90, 99)
_MASTERED = tuple(
    verb
    for verb in (*verbs.INTRANSITIVE, *verbs.TRANSITIVE)
    if verb.english.base in ("work", "learn") or verb.english.tail in ("the piano", "the violin")
)
_DONE_TO_THINGS = named("repair build sell write translate steal find clean wash", verbs.TRANSITIVE)


def age(rng: Random) -> Clause:
    """My aunt is fifty-three years old."""
    r = rng.random()
    subject: Nominal
    n = rng.randrange(5, 96)
    if r < 0.5:
        subject = pick(rng, FIRST_NAMES) if r < 0.35 else pick(rng, (HE, SHE))
    else:
        noun = pick(rng, KIN)
        subject = NounPhrase(pick(rng, POSSESSIVES), noun)
        n = rng.randrange(3, 40) if noun in _YOUNGER else rng.randrange(40, 96)
    old = Phrase(f"{english.number_word(n)} years old", f"{german.number_word(n)} Jahre alt")
    return be(subject, old)


def price(rng: Random) -> Clause:
    """This jacket costs 89.90 euros."""
    choices, low, high = pick(rng, _PRICES)
    subject = NounPhrase(THE if rng.random() < 0.5 else THIS, pick(rng, choices))
    n = rng.randrange(low, high) if high <= 100 else 10 * rng.randrange(low // 10, high // 10)
    if n < 100 and rng.random() < 0.4:
        cost = Phrase(f"{english.number_word(n)} euros", f"{german.number_word(n)} Euro")
    else:
        cost = times.price(n, pick(rng, _CENTS) if n < 100 else 0)
    return Clause(subject, VerbPhrase(verbs.COST, cost))


def measure(rng: Random) -> Clause:
    """The bridge is 120 meters long."""
    noun, english_dimension, german_dimension = pick(rng, _MEASURED)
    n = rng.randrange(2, 20) * (1 if german_dimension == "tief" else 10)
    size = Phrase(f"{n} meters {english_dimension}", f"{n} Meter {german_dimension}")
    return be(NounPhrase(THE, noun), size)


def clock(rng: Random) -> Clause:
    """It is half past three."""
    time = times.clock(rng.randrange(1, 13), rng.randrange(4))
    adverb = times.ALREADY if rng.random() < 0.3 else None
    return be(IT, time, adverb=adverb)


def outdoors(rng: Random) -> Clause:
    """It was very cold yesterday."""
    r = rng.random()
    if r < 0.4:
        return sky(rng, "present")
    tense: Tense = "past" if r < 0.7 else "future"
    time = pick(rng, times.PAST if tense == "past" else times.FUTURE)
    clause = sky(rng, tense)
    if rng.random() < 0.4:
        return Clause(IT, clause.verb_phrase, tense, opener=time)
    return Clause(IT, clause.verb_phrase, tense, time=time)


def existence(rng: Random, asking: bool = False) -> Clause:
    """There is an old church in the village; in the city, there is no castle."""
    noun = pick(rng, _BUILDINGS)
    adjective = pick(rng, ADJECTIVES[noun.kind]) if rng.random() < 0.5 else None
    r = rng.random()
    if r < 0.5 or asking:
        there = NounPhrase(A, noun, adjective=adjective)
    elif r < 0.65:
        there = NounPhrase(NO, noun, adjective=adjective)
    else:
        determiner = pick(rng, QUANTIFIERS if r < 0.8 else NUMERALS[:9])
        there = NounPhrase(determiner, noun, True, adjective)
    place = pick(rng, IN_CITY) if rng.random() < 0.3 else at(rng, pick(rng, _SITES))
    if rng.random() < 0.5 and not asking:
        return Clause(THERE, VerbPhrase(verbs.EXIST, there), opener=place)
    return Clause(THERE, VerbPhrase(verbs.EXIST, there, place=place))


def belonging(rng: Random) -> Clause:
    """This umbrella belongs to me."""
    subject = one_of(rng, verbs.BELONG.subjects)
    return state(rng, subject, verb_phrase(rng, verbs.BELONG, None))


def taste(rng: Random) -> Clause:
    """The soup does not taste good."""
    subject = NounPhrase(THE if rng.random() < 0.7 else THIS, pick(rng, _MEALS))
    negation: Negation = "not" if rng.random() < 0.25 else ""
    phrase = VerbPhrase(verbs.TASTE, predicate=pick(rng, _TASTES))
    return Clause(subject, phrase, present_or_past(rng), negation=negation)


def residence(rng: Random) -> Clause:
    """He no longer lives in Vienna."""
    subject = person(rng)
    in_city = rng.random() < 0.8
    place = pick(rng, IN) if in_city else at(rng, pick(rng, _SITES))
    return state(rng, subject, VerbPhrase(verbs.LIVE, place=place))


def duration(rng: Random) -> Clause:
    """She has lived in Berlin since 2015 → Sie wohnt seit 2015 in Berlin."""
    subject = person(rng)
    if rng.random() < 0.5:
        phrase = VerbPhrase(verbs.LIVE, place=pick(rng, IN))
    else:
        phrase = verb_phrase(rng, pick(rng, _MASTERED), owner_of(subject), bare=True)
    return Clause(subject, phrase, "so far", time=pick(rng, times.SO_FAR))


def departure(rng: Random) -> Clause:
    """The train to Berlin leaves at 15:45."""
    verb = pick(rng, verbs.DEPARTURE)
    leaving = verb.english.base == "leave"
    modifier = pick(rng, TO_CITY) if leaving and rng.random() < 0.6 else None
    subject = NounPhrase(THE, pick(rng, verb.subjects), modifier=modifier)
    r = rng.random()
    if r < 0.5:
        return Clause(subject, VerbPhrase(verb), time=pick(rng, times.TIMETABLE))
    if r < 0.75:
        return Clause(subject, VerbPhrase(verb), time=pick(rng, times.MINUTES_FROM_NOW))
    return Clause(subject, VerbPhrase(verb), "past", time=pick(rng, times.TIMETABLE))


def birth(rng: Random) -> Clause:
    """Anna was born in Leipzig on March 3, 1985."""
    r = rng.random()
    subject: Nominal
    if r < 0.6:
        subject = pick(rng, FIRST_NAMES) if r < 0.4 else pick(rng, (HE, SHE, I))
    else:
        subject = NounPhrase(pick(rng, POSSESSIVES), pick(rng, KIN))
    r = rng.random()
    year = rng.randrange(1940, 2015)
    time = (
        times.year(year)
        if r < 0.3
        else times.date(rng.randrange(1, 13), rng.randrange(1, 29), year if r < 0.8 else None)
    )
    place = pick(rng, IN_CITY) if rng.random() < 0.3 else None
    return Clause(subject, VerbPhrase(verbs.BEAR, place=place, passive=True), "past", time=time)


def fate(rng: Random) -> Clause:
    """The house was built in 1950; the car must be repaired by the mechanic."""
    verb = pick(rng, _DONE_TO_THINGS)
    noun = pick(rng, verb.objects)
    subject = item(rng, noun)
    agent = PrepPhrase("by", "von", "dat", stranger(rng)) if rng.random() < 0.2 else None
    phrase = VerbPhrase(verb, company=agent, passive=True)
    r = 1.0 if verb.english.base in ("steal", "find") else rng.random()
    if r < 0.2:
        return Clause(subject, phrase, modal=MUST)
    if r < 0.35:
        return Clause(subject, phrase, "future", time=pick(rng, times.FUTURE))
    old = verb.english.base in ("build", "write", "translate") and noun.kind != "correspondence"
    time = pick(rng, times.PAST_YEARS if old else times.PAST)
    return Clause(subject, phrase, "past", time=time if rng.random() < 0.7 else None)


FACTS = (
    *(age,) * 3,
    *(price,) * 3,
    measure,
    clock,
    *(outdoors,) * 2,
    *(existence,) * 3,
    belonging,
    taste,
    *(residence,) * 2,
    *(duration,) * 2,
    *(departure,) * 2,
    *(birth,) * 2,
    *(fate,) * 2,
)
