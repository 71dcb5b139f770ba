"""Random clauses about what somebody or something is like, and where."""

from collections.abc import Sequence
from random import Random

from transduce.grammar import times, verbs
from transduce.grammar.clauses import can_negate
from transduce.grammar.lexicon import Adjective, Noun, Phrase
from transduce.grammar.noun_phrases import (
    FIRST_NAMES,
    KIN,
    another_name,
    at,
    is_feminine,
    kin,
    owner_of,
    person,
    pick,
    thing,
)
from transduce.grammar.nouns import nouns, places
from transduce.grammar.syntax import (
    Adverbial,
    Clause,
    Comparison,
    Negation,
    Nominal,
    NounPhrase,
    Occupation,
    Possessed,
    Predicate,
    PrepPhrase,
    Tense,
    Toward,
    VerbPhrase,
)
from transduce.grammar.verb_phrases import IN
from transduce.grammar.words import (
    ADJECTIVE,
    ADJECTIVES,
    HE,
    IT,
    POSSESSIVES,
    SHE,
    THE,
    THIS,
    I,
)


def _adjectives(names: str) -> tuple[Adjective, ...]:
    return tuple(ADJECTIVE[name] for name in names.split())


MOODS = _adjectives("tired hungry thirsty sick busy happy sad angry nervous")
PET_MOODS = _adjectives("tired hungry thirsty sick")
LOW_MOODS = _adjectives("tired sick busy sad angry nervous")
CLIMATES = _adjectives("cold warm hot sunny foggy windy")
HARSH_CLIMATES = _adjectives("cold foggy windy")
_TRAITS = _adjectives("old young tall strong friendly rich brave lazy nice")
_THINGS = nouns(
    "snack, literature, correspondence, clothes, vehicle, PORTABLE, device, furniture, room, "
    "eatery, study, garden, sight, settlement, event, screen, home, structure, music"
)
_PUBLIC = frozenset(
    {"room", "garden", "eatery", "study", "sight", "settlement", "event", "screen", "structure"}
)
_MOVABLE = nouns("PORTABLE, clothes, gift, book, newspaper")
_SURFACES = nouns("table, chair, bed, sofa, desk")
_WHEREABOUTS = places("room, eatery, study, shop, outdoors, transit, service, sight")
_PEERS = nouns("brother, sister, cousin, friend, neighbor, colleague, boss")
_PROFESSIONS = nouns("profession")
_POSITIONS = (("on", "auf"), ("under", "unter"), ("next to", "neben"), ("behind", "hinter"))


def be(
    subject: Nominal,
    predicate: Predicate,
    tense: Tense = "present",
    negation: Negation = "",
    adverb: Phrase | None = None,
) -> Clause:
    """Somebody or something is so."""
    phrase = VerbPhrase(verbs.BE, predicate=predicate)
    return Clause(subject, phrase, tense, negation=negation, adverb=adverb)


def quality(rng: Random, adjective: Adjective, very: float = 0.2) -> Phrase:
    """tired; very tired."""
    if rng.random() < very:
        return Phrase(f"very {adjective.english}", f"sehr {adjective.german}")
    return Phrase(adjective.english, adjective.german)


def mood(
    rng: Random, subject: Nominal, tense: Tense = "present", moods: Sequence[Adjective] = MOODS
) -> Clause:
    """She is tired."""
    return be(subject, quality(rng, pick(rng, moods)), tense)


def sky(rng: Random, tense: Tense, climates: Sequence[Adjective] = CLIMATES) -> Clause:
    """It is raining; it was very cold."""
    if rng.random() < 0.5:
        verb = verbs.RAIN if rng.random() < 0.6 else verbs.SNOW
        return Clause(IT, VerbPhrase(verb), "progressive" if tense == "present" else tense)
    return be(IT, quality(rng, pick(rng, climates)), tense)


def item(rng: Random, noun: Noun) -> Nominal:
    """the car; my cars; this car; Anna's car."""
    r = rng.random()
    plural = r < 0.2 and bool(noun.plural)
    q = rng.random()
    if noun.kind in _PUBLIC:
        return NounPhrase(THE if r < 0.85 else THIS, noun)
    if q < 0.5:
        return NounPhrase(THE if r < 0.85 else THIS, noun, plural)
    if q < 0.75:
        return NounPhrase(pick(rng, POSSESSIVES), noun, plural)
    if q < 0.9:
        return Possessed(pick(rng, FIRST_NAMES), noun, plural)
    return Possessed(NounPhrase(pick(rng, POSSESSIVES), pick(rng, KIN)), noun, plural)


def trait_of_thing(rng: Random, noun: Noun) -> Phrase:
    """A quality that such a thing can have."""
    adjective = pick(rng, ADJECTIVES[noun.kind])
    return quality(rng, adjective, very=0.2 if adjective.english_comparative else 0.0)


def present_or_past(rng: Random) -> Tense:
    """Mostly the present."""
    return "present" if rng.random() < 0.65 else "past"


def person_state(rng: Random) -> Clause:
    """Peter is often tired."""
    subject = person(rng)
    tense = present_or_past(rng)
    predicate = quality(rng, pick(rng, MOODS))
    r = rng.random()
    if r < 0.2 and can_negate(subject, VerbPhrase(verbs.BE)):
        return be(subject, predicate, tense, "no longer" if r < 0.06 else "not")
    return be(subject, predicate, tense, adverb=pick(rng, times.FREQUENCY[:4]) if r > 0.8 else None)


def thing_state(rng: Random) -> Clause:
    """The shirt is not expensive."""
    noun = pick(rng, _THINGS)
    negation: Negation = "not" if rng.random() < 0.2 else ""
    return be(item(rng, noun), trait_of_thing(rng, noun), present_or_past(rng), negation)


def occupation(rng: Random) -> Clause:
    """My sister is a teacher → Meine Schwester ist Lehrerin."""
    r = rng.random()
    subject: Nominal
    if r < 0.3:
        subject = pick(rng, (I, HE, SHE))
    elif r < 0.6:
        subject = pick(rng, FIRST_NAMES)
    else:
        subject = NounPhrase(pick(rng, POSSESSIVES), pick(rng, KIN))
    feminine = is_feminine(subject)
    noun = pick(rng, [noun for noun in _PROFESSIONS if noun.feminine] if feminine else _PROFESSIONS)
    negation: Negation = "not" if rng.random() < 0.2 else ""
    return be(subject, Occupation(noun, feminine), present_or_past(rng), negation)


def comparison(rng: Random) -> Clause:
    """This car is more expensive than my bike."""
    equal = rng.random() < 0.25
    if rng.random() < 0.5:
        subject = person(rng)
        owner = owner_of(subject)
        standard: Nominal = another_name(rng, owner)
        if rng.random() < 0.6:
            standard = NounPhrase(owner or pick(rng, POSSESSIVES), pick(rng, _PEERS))
        return be(subject, Comparison(pick(rng, _TRAITS), equal, standard))
    noun = pick(rng, _THINGS)
    other = pick(rng, [n for n in nouns(noun.kind) if n is not noun] or [noun])
    adjectives = [a for a in ADJECTIVES[noun.kind] if a.english_comparative]
    if other is noun or not adjectives:
        return comparison(rng)
    predicate = Comparison(pick(rng, adjectives), equal, item(rng, other))
    return be(item(rng, noun), predicate, present_or_past(rng))


def whereabouts(rng: Random) -> Clause:
    """Anna is in the kitchen; the key is under the bed."""
    place: Adverbial
    subject: Nominal
    if rng.random() < 0.65:
        subject = person(rng)
        r = rng.random()
        place = (
            times.AT_HOME
            if r < 0.2
            else pick(rng, IN)
            if r < 0.4
            else at(rng, pick(rng, _WHEREABOUTS))
        )
    else:
        subject = item(rng, pick(rng, _MOVABLE))
        surface = NounPhrase(THE, pick(rng, _SURFACES))
        place = PrepPhrase(*pick(rng, _POSITIONS), "dat", surface)
    negated = rng.random() < 0.2 and can_negate(subject, VerbPhrase(verbs.BE))
    phrase = VerbPhrase(verbs.BE, place=place)
    return Clause(subject, phrase, present_or_past(rng), negation="not" if negated else "")


def feeling(rng: Random) -> Clause:
    """She is proud of her son."""
    subject = person(rng)
    if rng.random() < 0.5:
        cause = kin(rng, owner_of(subject))
        toward = Toward(Phrase("proud", "stolz"), PrepPhrase("of", "auf", "acc", cause))
    else:
        target = thing(
            rng, nouns("vehicle, hotel, exam, answer, plan"), owner_of(subject), "definite"
        )
        toward = Toward(Phrase("satisfied", "zufrieden"), PrepPhrase("with", "mit", "dat", target))
    return be(subject, toward, present_or_past(rng))


DESCRIPTIONS = (
    *(person_state,) * 3,
    *(thing_state,) * 4,
    *(occupation,) * 2,
    *(comparison,) * 3,
    *(whereabouts,) * 3,
    feeling,
)
