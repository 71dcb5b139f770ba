"""Random sentences with relative clauses."""

from random import Random

from transduce.grammar import verbs
from transduce.grammar.clauses import duty, happening, past, without_opener
from transduce.grammar.descriptions import MOODS, PET_MOODS, be, mood, trait_of_thing
from transduce.grammar.lexicon import Noun, Phrase
from transduce.grammar.noun_phrases import STRANGERS, owner_of, person, pick
from transduce.grammar.nouns import HUMAN, NOUN, nouns, places
from transduce.grammar.syntax import (
    Clause,
    NounPhrase,
    Relative,
    Statement,
    Tense,
    VerbPhrase,
)
from transduce.grammar.verb_phrases import IN, deed, verb_phrase
from transduce.grammar.verbs import named
from transduce.grammar.words import ADJECTIVES, BARE, HE, THE, THEY, A

_USES = named("buy sell find lose repair wash need read write look", verbs.TRANSITIVE)
_ENDS = named("sell find lose repair forget wash hide", verbs.TRANSITIVE)
_ORIGINS = named("buy find need like", verbs.TRANSITIVE)
_STORIES = tuple(  # what happened to a thing, what had happened before, what things suit both
    (end, origin, shared)
    for end in _ENDS
    for origin in _ORIGINS
    if end is not origin
    and (shared := tuple(n for n in end.objects if n.plural and n in origin.objects))
)
_DEALINGS = tuple(
    verb
    for verb in named(
        "visit meet help call thank invite ask trust wait talk greet",
        verbs.TRANSITIVE + verbs.DATIVE + verbs.PREPOSITIONAL,
    )
    if NOUN["man"] in verb.objects
)
_EXPLOITS = named(
    "help visit call meet invite thank buy sell repair build feed photograph take pick travel fly",
    verbs.TRANSITIVE + verbs.DATIVE + verbs.JOURNEY,
)
(_WEAR,) = named("wear", verbs.TRANSITIVE)
(_WORK,) = named("work", verbs.INTRANSITIVE)
_POSSESSIONS = nouns("kin, pet, vehicle")
_WORKPLACES = places("study, eatery, service")
_HOMES = nouns("house, apartment")


def _doing(rng: Random, noun: Noun, plural: bool) -> Relative:
    """who is wearing a red hat; who lives in Rome; who helped me."""
    subject = THEY if plural else HE
    owner = owner_of(NounPhrase(THE, noun, plural))
    r = rng.random()
    if r < 0.25 and not plural:
        item = pick(rng, _WEAR.objects)
        clothes = NounPhrase(A, item, adjective=pick(rng, ADJECTIVES[item.kind]))
        clause = Clause(subject, VerbPhrase(_WEAR, clothes), "progressive")
    elif r < 0.45:
        clause = Clause(subject, VerbPhrase(verbs.LIVE, place=pick(rng, IN)))
    elif r < 0.6:
        clause = duty(rng, subject, verb_phrase(rng, pick(rng, _EXPLOITS), owner, bare=True))
    else:
        clause = without_opener(
            past(rng, subject, verb_phrase(rng, pick(rng, _EXPLOITS), owner, True), 0.2)
        )
    return Relative("subject", clause)


def _undergoing(rng: Random) -> Relative:
    """whom Anna helped; for whom we are waiting."""
    verb = pick(rng, _DEALINGS)
    tense: Tense = "progressive" if verb.aspect == "activity" and rng.random() < 0.3 else "past"
    return Relative("object", Clause(person(rng), VerbPhrase(verb), tense))


def _has_home(subject: NounPhrase) -> bool:
    relative = subject.modifier
    return isinstance(relative, Relative) and relative.clause.verb_phrase.verb is verbs.LIVE


def _fortune(rng: Random, subject: NounPhrase) -> Statement:
    r = rng.random()
    if r < 0.3:
        return Statement(mood(rng, subject, "present" if r < 0.2 else "past"))
    if r < 0.5 and not _has_home(subject):
        return Statement(Clause(subject, VerbPhrase(verbs.LIVE, place=pick(rng, IN))))
    return Statement(without_opener(happening(rng, subject, deed(rng, owner_of(subject)))))


def person_who(rng: Random) -> Statement:
    """The man who is wearing a red hat lives in Rome."""
    noun, plural = pick(rng, STRANGERS), rng.random() < 0.25
    relative = _doing(rng, noun, plural) if rng.random() < 0.65 else _undergoing(rng)
    return _fortune(rng, NounPhrase(THE, noun, plural, modifier=relative))


def person_whose(rng: Random) -> Statement:
    """The woman whose dog is sick lives in Hamburg."""
    owned = pick(rng, _POSSESSIONS)
    possession = NounPhrase(BARE, owned)
    if owned.kind == "vehicle":
        clause = be(possession, trait_of_thing(rng, owned))
    else:
        clause = mood(rng, possession, "present", PET_MOODS if owned.kind == "pet" else MOODS)
    noun, plural = pick(rng, STRANGERS), rng.random() < 0.15
    return _fortune(rng, NounPhrase(THE, noun, plural, modifier=Relative("owner", clause)))


def thing_that(rng: Random) -> Statement:
    """The book that Anna is reading is very interesting."""
    verb = pick(rng, _USES)
    noun = pick(rng, [n for n in verb.objects if n.plural and n.kind not in HUMAN])
    r = rng.random()
    tense: Tense = "past" if r < 0.6 and verb.english.past else "present"
    if tense == "present" and verb.aspect != "state":
        tense = "progressive" if verb.aspect == "activity" else "past"
    relative = Relative("object", Clause(person(rng), VerbPhrase(verb), tense))
    subject = NounPhrase(THE, noun, rng.random() < 0.2, modifier=relative)
    return Statement(be(subject, trait_of_thing(rng, noun), "present" if r < 0.7 else "past"))


def place_where(rng: Random) -> Statement:
    """The house in which Anna lives is old."""
    if rng.random() < 0.4:
        noun, preposition = pick(rng, _HOMES), Phrase("in", "in")
        clause = Clause(person(rng), VerbPhrase(verbs.LIVE))
    else:
        place = pick(rng, _WORKPLACES)
        noun, preposition = place.noun, Phrase(*place.at)
        clause = Clause(person(rng), VerbPhrase(_WORK))
    subject = NounPhrase(THE, noun, modifier=Relative("place", clause, preposition))
    return Statement(be(subject, trait_of_thing(rng, noun)))


def object_that(rng: Random) -> Statement:
    """Peter sold the car that he had bought; she is waiting for the man who lives in Rome."""
    subject = person(rng)
    if rng.random() < 0.5:
        end, origin, shared = pick(rng, _STORIES)
        relative = Relative("object", Clause(person(rng), VerbPhrase(origin), "past"))
        target = NounPhrase(THE, pick(rng, shared), rng.random() < 0.2, modifier=relative)
        return Statement(past(rng, subject, VerbPhrase(end, target), 0.0))
    verb = pick(rng, _DEALINGS)
    noun, plural = pick(rng, STRANGERS), rng.random() < 0.2
    determiner = THE if plural or rng.random() < 0.6 else A
    somebody = NounPhrase(determiner, noun, plural, modifier=_doing(rng, noun, plural))
    return Statement(past(rng, subject, VerbPhrase(verb, somebody), 0.0))


RELATIVE_CLAUSES = (
    *(person_who,) * 3,
    person_whose,
    *(thing_that,) * 2,
    place_where,
    *(object_that,) * 3,
)
