"""Random sentences of more than one clause."""

from collections.abc import Sequence
from random import Random

from transduce.grammar import times, verbs
from transduce.grammar.clauses import can_negate, duty, happening, without_opener
from transduce.grammar.descriptions import (
    HARSH_CLIMATES,
    LOW_MOODS,
    be,
    mood,
    sky,
    thing_state,
)
from transduce.grammar.lexicon import Determiner, Phrase, Pronoun, Verb
from transduce.grammar.noun_phrases import (
    another_name,
    kin,
    owner_of,
    person,
    pick,
    thing,
    to,
)
from transduce.grammar.nouns import NOUN, nouns
from transduce.grammar.syntax import (
    Clause,
    Complex,
    Compound,
    Content,
    Infinitive,
    Nominal,
    NounPhrase,
    Question,
    Sentence,
    Statement,
    Tense,
    VerbPhrase,
)
from transduce.grammar.syntax import person as grammatical_person
from transduce.grammar.verb_phrases import deed, in_general, verb_phrase
from transduce.grammar.verbs import named
from transduce.grammar.words import (
    ADJECTIVE,
    BARE,
    CAN,
    HE,
    HER,
    HIS,
    IT,
    MY,
    NO,
    OUR,
    SHE,
    SHOULD,
    THEIR,
    THEY,
    WANT_TO,
    WE,
    YOU,
    YOUR,
    I,
)

_BECAUSE = Phrase("because", "weil")
_ALTHOUGH = Phrase("although", "obwohl")
_IF = Phrase("if", "wenn")
_WHEN = Phrase("when", "als")  # of the past; wenn would be whenever
_BEFORE = Phrase("before", "bevor")
_AND = Phrase("and", "und")
_BUT = Phrase("but", "aber")
_THAT = Phrase("that", "dass")
_OPEN_QUESTIONS = (Phrase("whether", "ob"), Phrase("why", "warum"), Phrase("when", "wann"))
_WHERE = Phrase("where", "wo")
_SURE = Phrase("sure", "sicher")
_YOUNG = Phrase("young", "jung")
_A_CHILD = Phrase("a child", "ein Kind")
_REFERRING: dict[Determiner, Pronoun] = {
    MY: I,
    YOUR: YOU,
    HIS: HE,
    HER: SHE,
    OUR: WE,
    THEIR: THEY,
}


_ALL = (*verbs.TRANSITIVE, *verbs.INTRANSITIVE, *verbs.DATIVE, *verbs.MOTION, *verbs.JOURNEY)
(_HAVE,) = named("have", verbs.TRANSITIVE)
_LIKE = named("like", verbs.TRANSITIVE)[0]
_MEALS, _DRINKS = nouns("snack, staple, dish"), nouns("drink")
_ERRANDS = tuple(verb for verb in named("eat drink buy meet read", verbs.TRANSITIVE) if verb.places)
_TRIPS = (*verbs.MOTION, *verbs.JOURNEY)
_PLANS = named(
    "visit call meet help learn read write clean cook bake repair invite feed wash go swim play",
    _ALL,
)
_ABROAD = named("visit meet help photograph", _ALL)
_PURCHASES = named("buy travel fly order", _ALL)
_OUTINGS = named("go drive jog ride swim visit", (*verbs.MOTION, *verbs.INTRANSITIVE))
_INDOORS = (*named("watch play read cook bake clean", _ALL), verbs.STAY)
_PASTIMES = named("play swim ride sing dance visit travel eat drink draw paint feed help", _ALL)
_CHORES = named("cook clean feed watch read write call bake wash drink eat sleep", _ALL)
_PAST_CHORES = tuple(verb for verb in _CHORES if verb.english.past)
_MOODY = (  # how one feels, and what one will then do
    ("tired", (*named("sleep rest", verbs.INTRANSITIVE), verbs.STAY)),
    ("hungry", named("eat cook bake", verbs.TRANSITIVE)),
    ("thirsty", named("drink", verbs.TRANSITIVE)),
    ("sick", (*named("call visit", verbs.TRANSITIVE), verbs.STAY)),
    ("happy", named("sing dance laugh", verbs.INTRANSITIVE)),
)
_CONTROLLED = {
    "try": named("repair find open close solve call translate learn", verbs.TRANSITIVE),
    "forget": named("close feed call answer pay pick wash invite turn", verbs.TRANSITIVE),
    "promise": named("visit call help feed clean cook repair invite", _ALL),
    "decide": tuple(
        verb
        for verb in named("buy sell visit learn build invite travel fly", _ALL)
        if verb.english.base != "buy" or not verb.places
    ),
}


def _again(subject: Nominal) -> Pronoun | None:
    """The pronoun for somebody already mentioned, if there is one."""
    owner = owner_of(subject)
    return None if owner is None else _REFERRING[owner]


def _protagonist(rng: Random) -> tuple[Nominal, Pronoun]:
    """Somebody, and the pronoun for a second mention."""
    while True:
        subject = person(rng)
        who = _again(subject)
        if who is not None:
            return subject, who


def _deed_of(rng: Random, subject: Nominal, among: Sequence[Verb] | None = None) -> VerbPhrase:
    owner = owner_of(subject)
    if among is None:
        return deed(rng, owner, bare=True)
    return verb_phrase(rng, pick(rng, among), owner, bare=True)


def _join(rng: Random, main: Clause, conjunction: Phrase, subordinate: Clause) -> Complex:
    return Complex(main, conjunction, subordinate, rng.random() < 0.35)


def _hindered(
    rng: Random, subject: Nominal, who: Pronoun, tense: Tense
) -> tuple[VerbPhrase, Clause]:
    """Something to do, and what stands in its way: the rain, no money, being sick."""
    r = rng.random()
    if r < 0.25:
        return _deed_of(rng, subject, _OUTINGS), sky(rng, tense, HARSH_CLIMATES)
    if r < 0.4:
        poor = Clause(who, VerbPhrase(_HAVE, NounPhrase(NO, NOUN["money"])), tense)
        return _deed_of(rng, subject, _PURCHASES), poor
    if r < 0.6:
        busy = Clause(who, VerbPhrase(_HAVE, NounPhrase(NO, NOUN["time"])), tense)
        return _deed_of(rng, subject, _PLANS), busy
    return _deed_of(rng, subject, _PLANS), mood(rng, who, tense, LOW_MOODS)


def because_of_obstacle(rng: Random) -> Complex:
    """Anna did not go home because it rained."""
    r = rng.random()
    tense: Tense = "past" if r < 0.7 else "present"
    while True:
        subject, who = _protagonist(rng)
        phrase, obstacle = _hindered(rng, subject, who, tense)
        if can_negate(subject, phrase):
            break
    main = Clause(subject, phrase, tense, CAN if r > 0.5 else None, "not")
    return _join(rng, main, _BECAUSE, obstacle)


def despite_obstacle(rng: Random) -> Complex:
    """Although she was tired, Anna helped her mother."""
    subject, who = _protagonist(rng)
    phrase, obstacle = _hindered(rng, subject, who, "past")
    tense: Tense = "past" if phrase.verb.english.past else "perfect"
    return _join(rng, Clause(subject, phrase, tense), _ALTHOUGH, obstacle)


def because_of_plan(rng: Random) -> Complex:
    """Peter flew to Rome because he wanted to visit his uncle."""
    subject, who = _protagonist(rng)
    if rng.random() < 0.5:
        trip, plan = _deed_of(rng, subject, verbs.JOURNEY), _deed_of(rng, subject, _ABROAD)
    else:
        trip, plan = _homewards(rng), _deed_of(rng, subject, _CHORES)
    r = rng.random()
    if r < 0.6:
        return _join(rng, Clause(subject, trip, "past"), _BECAUSE, duty(rng, who, plan, "past"))
    main = Clause(subject, trip, "progressive" if r < 0.8 else "future")
    return _join(rng, main, _BECAUSE, duty(rng, who, plan))


def _homewards(rng: Random) -> VerbPhrase:
    return VerbPhrase(pick(rng, verbs.MOTION), goal=times.HOME)


def condition(rng: Random) -> Complex:
    """If you have time, you should visit me."""
    subject, who = _protagonist(rng)
    r = rng.random()
    if r < 0.25:
        cause = Clause(IT, VerbPhrase(verbs.RAIN if r < 0.2 else verbs.SNOW))
        phrase = _deed_of(rng, subject, _INDOORS)
    elif r < 0.45:
        cause = Clause(who, VerbPhrase(_HAVE, NounPhrase(BARE, NOUN["time"])))
        phrase = _deed_of(rng, subject, _PLANS)
    elif r < 0.6:
        cause = Clause(who, VerbPhrase(_HAVE, NounPhrase(BARE, NOUN["money"])))
        phrase = _deed_of(rng, subject, _PURCHASES)
    else:
        feeling, remedies = pick(rng, _MOODY)
        cause = mood(rng, who, "present", (ADJECTIVE[feeling],))
        phrase = _deed_of(rng, subject, remedies)
    if rng.random() < 0.6:
        main = Clause(subject, phrase, "future")
    else:
        main = Clause(subject, phrase, modal=pick(rng, (CAN, SHOULD)))
    return _join(rng, main, _IF, cause)


def childhood(rng: Random) -> Complex:
    """When I was a child, I often played chess."""
    subject, who = _protagonist(rng)
    single = grammatical_person(subject) in ("1s", "2s", "3s")
    young = _A_CHILD if single and rng.random() < 0.6 else _YOUNG
    phrase = in_general(rng, _deed_of(rng, subject, _PASTIMES))
    main = Clause(who, phrase, "past", adverb=pick(rng, times.FREQUENCY[:3]))
    return Complex(main, _WHEN, be(subject, young, "past"), True)


def arrival(rng: Random) -> Complex:
    """When Anna came home, her brother was tired."""
    subject = person(rng)
    trip = verb_phrase(rng, verbs.ARRIVAL[0], owner_of(subject), bare=True)
    came = Clause(subject, trip, "past")
    if rng.random() < 0.5:
        return _join(rng, sky(rng, "past"), _WHEN, came)
    other = kin(rng, owner_of(subject))
    return Complex(mood(rng, other, "past"), _WHEN, came, True)


def order_of_events(rng: Random) -> Complex:
    """Before she went home, Anna bought some bread."""
    subject, who = _protagonist(rng)
    trip, phrase = _deed_of(rng, subject, _TRIPS), _deed_of(rng, subject, _CHORES)
    if phrase.verb.english.past and rng.random() < 0.6:
        return _join(rng, Clause(subject, phrase, "past"), _BEFORE, Clause(who, trip, "past"))
    return _join(rng, Clause(subject, phrase, "future"), _BEFORE, Clause(who, trip))


def _news(rng: Random, about: Nominal, other: Nominal) -> Clause:
    """What can be said of oneself, and of somebody else."""
    r = rng.random()
    if r < 0.2:
        return thing_state(rng)
    if r < 0.4:
        return mood(rng, other, "present" if r < 0.3 else "past")
    return without_opener(happening(rng, about, _deed_of(rng, about)))


def report(rng: Random) -> Sentence:
    """Peter says that his sister is sick; I do not know whether she will come."""
    subject = person(rng)
    owner = owner_of(subject)
    other = kin(rng, owner) if rng.random() < 0.5 else another_name(rng, owner)
    about = (_again(subject) or other) if rng.random() < 0.4 else other
    r = rng.random()
    if r < 0.2:
        content = Content(_THAT, _news(rng, about, other))
        phrase = VerbPhrase(verbs.BE, predicate=_SURE, complement=content)
        return Statement(Clause(subject, phrase))
    if r < 0.35:
        wish = Clause(other, _deed_of(rng, other, _PLANS), "future")
        hope = VerbPhrase(verbs.HOPE, complement=Content(_THAT, wish))
        return Statement(Clause(subject, hope))
    if r < 0.7:
        news = _news(rng, about, other)
        tense: Tense = "past" if news.tense == "past" and rng.random() < 0.6 else "present"
        telling = VerbPhrase(pick(rng, verbs.REPORTING), complement=Content(_THAT, news))
        return Statement(Clause(subject, telling, tense))
    if r < 0.75:
        content = Content(_WHERE, Clause(other, VerbPhrase(verbs.LIVE)))
    else:
        phrase = _deed_of(rng, other)
        tense = "past" if phrase.verb.english.past and rng.random() < 0.6 else "future"
        content = Content(pick(rng, _OPEN_QUESTIONS), Clause(other, phrase, tense))
    know = VerbPhrase(verbs.KNOW, complement=content)
    if rng.random() < 0.3:
        return Question(Clause(YOU, know))
    if can_negate(subject, know):
        return Statement(Clause(subject, know, negation="not"))
    return Statement(Clause(I, know, negation="not"))


def undertaking(rng: Random) -> Statement:
    """He forgot to close the window → Er hat vergessen, das Fenster zuzumachen."""
    subject = person(rng)
    owner = owner_of(subject)
    verb = pick(rng, verbs.CONTROL)
    inner = verb_phrase(rng, pick(rng, _CONTROLLED[verb.english.base]), owner, bare=True)
    phrase = VerbPhrase(verb, complement=Infinitive(inner, purpose=False))
    if rng.random() < 0.8:
        return Statement(Clause(subject, phrase, "past"))
    adverb = times.ALREADY if verb.english.base != "forget" else times.JUST
    return Statement(Clause(subject, phrase, "perfect", adverb=adverb))


def errand(rng: Random) -> Statement:
    """She is going to the market to buy apples → …, um Äpfel zu kaufen."""
    subject = person(rng)
    owner = owner_of(subject)
    verb = pick(rng, _ERRANDS)
    inner = VerbPhrase(verb, thing(rng, verb.objects, owner, "single"))
    phrase = VerbPhrase(
        verbs.MOTION[0],
        goal=to(rng, pick(rng, verb.places)),
        complement=Infinitive(inner, purpose=True),
    )
    r = rng.random()
    if r < 0.4:
        return Statement(Clause(subject, phrase, "past"))
    if r < 0.7:
        return Statement(Clause(subject, phrase, "progressive"))
    if r < 0.85:
        return Statement(Clause(subject, phrase, "future"))
    return Statement(Clause(subject, phrase, modal=WANT_TO))


def two_deeds(rng: Random) -> Compound:
    """Anna came home and fed the cat."""
    subject = person(rng)
    trip = _homewards(rng)
    chore = _deed_of(rng, subject, _PAST_CHORES)
    return Compound(Clause(subject, trip, "past"), _AND, Clause(subject, chore, "past"), True)


def two_people(rng: Random) -> Compound:
    """Anna called her mother, and her brother slept; Peter likes tea, but his sister likes milk."""
    first, who_first = _protagonist(rng)
    owner = owner_of(first)
    second = kin(rng, owner) if rng.random() < 0.6 else another_name(rng, owner)
    r = rng.random()
    if r < 0.35:
        deeds = [Clause(who, _deed_of(rng, who, _PAST_CHORES), "past") for who in (first, second)]
        return Compound(deeds[0], _AND, deeds[1], False)
    if r < 0.7:
        tastes = [
            Clause(who, VerbPhrase(_LIKE, thing(rng, liked, None, "generic")))
            for who, liked in ((first, _MEALS), (second, _DRINKS))
        ]
        return Compound(tastes[0], _BUT, tastes[1], False)
    phrase, obstacle = _hindered(rng, first, who_first, "past")
    return Compound(Clause(first, phrase, "past", WANT_TO), _BUT, obstacle, False)


COMBINATIONS = (
    because_of_obstacle,
    because_of_plan,
    despite_obstacle,
    condition,
    childhood,
    arrival,
    order_of_events,
    *(report,) * 4,
    *(undertaking,) * 2,
    *(errand,) * 2,
    two_deeds,
    *(two_people,) * 2,
)
