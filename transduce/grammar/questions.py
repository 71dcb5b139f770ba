"""Random questions."""

from dataclasses import replace
from random import Random

from transduce.grammar import times, verbs
from transduce.grammar.clauses import happening, without_opener
from transduce.grammar.descriptions import item, mood, thing_state
from transduce.grammar.facts import existence
from transduce.grammar.lexicon import Phrase
from transduce.grammar.noun_phrases import one_of, owner_of, person, pick
from transduce.grammar.nouns import HUMAN, nouns
from transduce.grammar.syntax import (
    Clause,
    Nominal,
    NounPhrase,
    Question,
    Statement,
    Tense,
    VerbPhrase,
)
from transduce.grammar.verb_phrases import deed
from transduce.grammar.words import (
    CAN,
    HOW_MANY,
    MAY,
    MUST,
    SHOULD,
    WE,
    WHAT,
    WHICH,
    WHO,
    YOU,
    I,
)

_ASKED_ABOUT = tuple(
    verb
    for verb in verbs.TRANSITIVE
    if verb.by_people
    and verb.english.base not in ("learn", "miss", "take")
    and any(noun.kind not in HUMAN for noun in verb.objects)
)
_OF_PEOPLE = tuple(
    verb
    for verb in (*verbs.TRANSITIVE, *verbs.DATIVE, *verbs.PREPOSITIONAL)
    if verb.by_people and any(noun.kind == "person" for noun in verb.objects)
)
_COUNTED = tuple(verb for verb in verbs.TRANSITIVE if verb.english.base in ("buy", "sell", "have"))
_PRICED = nouns("clothes, PORTABLE, device, furniture, vehicle, snack")
_UNPLANNED = ("arrive", "wake", "fall", "miss", "lose", "find", "dream")
_WHERE = Phrase("where", "wo")
_WHERE_TO = Phrase("where", "wohin")
_WHEN = Phrase("when", "wann")
_WHY = Phrase("why", "warum")


def _asked(rng: Random) -> Nominal:
    somebody = YOU if rng.random() < 0.4 else person(rng)
    return YOU if somebody in (I, WE) else somebody


def _plain(clause: Clause) -> Clause:
    """The clause as one asks about it: affirmative, without never, and not about duties."""
    adverb = clause.adverb
    if adverb == times.NEVER_YET:
        adverb = times.ALREADY
    elif adverb in times.FREQUENCY:
        adverb = times.OFTEN
    modal = CAN if clause.modal in (SHOULD, MAY, MUST) else clause.modal
    return replace(without_opener(clause), modal=modal, negation="", adverb=adverb)


def yes_or_no(rng: Random) -> Question:
    """Did you see the movie yesterday?"""
    r = rng.random()
    if r < 0.1:
        return Question(mood(rng, _asked(rng), "present" if r < 0.06 else "past"))
    if r < 0.2:
        return Question(_plain(thing_state(rng)))
    if r < 0.25:
        return Question(existence(rng, asking=True))
    subject = _asked(rng)
    return Question(_plain(happening(rng, subject, deed(rng, owner_of(subject)))))


def about_object(rng: Random) -> Question:
    """What is Anna reading? Which book did she buy? Who are you waiting for?"""
    subject = _asked(rng)
    r = rng.random()
    about: Nominal
    if r < 0.3:
        verb = pick(rng, _OF_PEOPLE)
        about = WHO
    elif r < 0.5:
        verb = pick(rng, _COUNTED)
        noun = pick(rng, [noun for noun in verb.objects if noun.plural])
        about = NounPhrase(HOW_MANY, noun, True)
    else:
        verb = pick(rng, _ASKED_ABOUT)
        noun = pick(rng, [noun for noun in verb.objects if noun.kind not in HUMAN])
        about = WHAT if r < 0.75 or not noun.plural else NounPhrase(WHICH, noun, r > 0.95)
    return Question(_dated(rng, subject, VerbPhrase(verb)), about)


def _dated(rng: Random, subject: Nominal, phrase: VerbPhrase) -> Clause:
    r = rng.random()
    if phrase.verb.aspect == "state":
        return Clause(subject, phrase, "present" if r < 0.6 else "past")
    if r < 0.4 and phrase.verb.aspect != "event":
        return Clause(subject, phrase, "progressive")
    if r < 0.8:
        time = pick(rng, times.PAST) if rng.random() < 0.4 else None
        return Clause(subject, phrase, "past", time=time)
    return Clause(subject, phrase, "future")


def about_circumstance(rng: Random) -> Question:
    """When will she come back? Why is he selling his car? Where do you live?"""
    subject = _asked(rng)
    owner = owner_of(subject)
    r = rng.random()
    if r < 0.2:
        return Question(_dated(rng, subject, VerbPhrase(pick(rng, verbs.MOTION))), _WHERE_TO)
    if r < 0.3:
        return Question(Clause(subject, VerbPhrase(verbs.LIVE)), _WHERE)
    phrase = deed(rng, owner, bare=True)
    while phrase.verb.english.base in _UNPLANNED:
        phrase = deed(rng, owner, bare=True)
    if r < 0.6:
        tense: Tense = "past" if rng.random() < 0.6 else "future"
        return Question(Clause(subject, phrase, tense), _WHEN)
    return Question(_dated(rng, subject, phrase), _WHY)


def about_subject(rng: Random) -> Statement:
    """Who opened the window?"""
    phrase = deed(rng, None)
    return Statement(_plain(happening(rng, WHO, phrase)), "?")


def about_thing(rng: Random) -> Question:
    """Where is my key? How much does this hat cost?"""
    subject = one_of(rng, _PRICED)
    if rng.random() < 0.5:
        return Question(Clause(subject, VerbPhrase(verbs.COST)), Phrase("how much", "wie viel"))
    thing = item(rng, pick(rng, nouns("PORTABLE, clothes, vehicle")))
    return Question(Clause(thing, VerbPhrase(verbs.BE)), _WHERE)


QUESTIONS = (
    *(yes_or_no,) * 5,
    *(about_object,) * 4,
    *(about_circumstance,) * 3,
    *(about_subject,) * 2,
    about_thing,
)
