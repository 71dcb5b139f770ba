"""Random clauses: who does what, when it happens, and how it is said."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from transduce.grammar import times, verbs
from transduce.grammar.lexicon import Modal, Phrase, Verb
from transduce.grammar.noun_phrases import (
    everyone,
    one_of,
    owner_of,
    person,
    pick,
    thing,
)
from transduce.grammar.nouns import nouns
from transduce.grammar.syntax import (
    Adverbial,
    Clause,
    Negation,
    Nominal,
    NounPhrase,
    PrepPhrase,
    Tense,
    VerbPhrase,
)
from transduce.grammar.verb_phrases import DEEDS, bases, in_general, is_generic, verb_phrase
from transduce.grammar.words import (
    BARE,
    EVERY,
    HAVE_TO,
    LIKE_TO,
    MODALS,
    NOBODY,
    SOMEBODY,
    THE,
    WANT_TO,
    WHO,
    A,
)

_LONG_AGO = bases("visit build travel fly meet sell lose plan organize learn write")
_RARE = bases(
    "buy sell build steal find hide organize plan solve translate try study recommend lend give "
    "show bring explain dream remember follow congratulate arrive photograph run pay thank look "
    "see ask answer solve"
)
_UNINTENDED = bases("lose miss forget steal wake fall find dream think")
_DURING = bases("sleep laugh eat drink read write call photograph talk sing fall")
_IN_ALL_WEATHERS = bases("go drive travel fly stay come jog ride swim play work wait sleep rest")

_EVENTS = (*DEEDS, verbs.HUNTING)
_OCCASIONS = nouns("concert, meeting, exam, game, lecture, party, vacation")
_NECESSITIES = nouns("resource, phone, computer, car, bag, bed, lamp")
_WEATHER = nouns("weather")

_RECENT_TIMES = (times.PAST, times.PAST, times.ON_WEEKDAY)
_PAST_TIMES = (times.PAST, times.PAST, times.ON_WEEKDAY, times.LAST_WEEKDAY, times.DAYS_AGO)
_LONG_AGO_TIMES = (
    times.LONG_AGO,
    times.DATES,
    times.FULL_DATES,
    times.PAST_YEARS,
    times.IN_MONTH,
    times.LAST_SEASON,
)
_FUTURE_TIMES = (times.FUTURE, times.FUTURE, times.ON_WEEKDAY, times.CLOCK, times.DAY_AND_TIME)
_FAR_FUTURE_TIMES = (times.LATER, times.FROM_NOW, times.DATES, times.IN_MONTH, times.NEXT_SEASON)


def can_negate(subject: Nominal, phrase: VerbPhrase) -> bool:
    """Whether not is unambiguous: it must not meet a quantifier, nor an indefinite subject."""
    if subject in (NOBODY, SOMEBODY, WHO) or not _is_specific(subject):
        return False
    if phrase.object is not None and not _is_specific(phrase.object):
        plain = phrase.verb.case == "acc" and not phrase.verb.preposition
        if not plain or not _takes_kein(phrase.object):
            return False
    if phrase.recipient is not None and not _is_specific(phrase.recipient):
        return False
    return phrase.manner is None and (phrase.place is None or not phrase.verb.preposition)


def _is_specific(value: Nominal | Phrase) -> bool:
    if not isinstance(value, NounPhrase):
        return True
    return value.determiner.definite and value.determiner is not EVERY


def _takes_kein(value: Nominal | Phrase) -> bool:
    return (
        isinstance(value, NounPhrase)
        and value.determiner in (A, BARE)
        and value.noun.kind != "subject"  # not keine Geschichte studiert
    )


def _is_counted(phrase: VerbPhrase) -> bool:
    target = phrase.object
    return isinstance(target, NounPhrase) and target.plural and not target.determiner.definite


def _maybe_not(rng: Random, subject: Nominal, phrase: VerbPhrase) -> Negation:
    return "not" if rng.random() < 0.18 and can_negate(subject, phrase) else ""


def _circumstance(rng: Random, verb: Verb) -> PrepPhrase | None:
    """during the concert; because of the rain; if either can bear upon the verb."""
    if verb.english.base in _DURING:
        return PrepPhrase("during", "während", "gen", NounPhrase(THE, pick(rng, _OCCASIONS)))
    if verb.english.base not in _IN_ALL_WEATHERS:
        return None
    weather = NounPhrase(THE, pick(rng, _WEATHER))
    if rng.random() < 0.5:
        return PrepPhrase("because of", "wegen", "gen", weather)
    return PrepPhrase("despite", "trotz", "gen", weather)


def _timed(
    rng: Random, clause: Clause, probability: float, choices: Sequence[Sequence[Phrase]]
) -> Clause:
    """The clause with a time, at the end or in front; or with a comment in front; or as it is."""
    if rng.random() > probability:
        return clause
    r = rng.random()
    if r < 0.05:
        return replace(clause, opener=pick(rng, times.OPENERS))
    time: Adverbial | None = None
    if r < 0.15:
        time = _circumstance(rng, clause.verb_phrase.verb)
    while time is None or (time is times.SOON and clause.negation):
        time = pick(rng, pick(rng, choices))
    return replace(clause, opener=time) if rng.random() < 0.35 else replace(clause, time=time)


def _past_times(rng: Random, verb: Verb) -> Sequence[Sequence[Phrase]]:
    if verb.aspect == "event" and not verb.objects:
        return _RECENT_TIMES
    distant = verb.english.base in _LONG_AGO and rng.random() < 0.5
    return _LONG_AGO_TIMES if distant else _PAST_TIMES


def _future_times(rng: Random, verb: Verb) -> Sequence[Sequence[Phrase]]:
    distant = verb.english.base in _LONG_AGO and rng.random() < 0.5
    return _FAR_FUTURE_TIMES if distant else _FUTURE_TIMES


def past(rng: Random, subject: Nominal, phrase: VerbPhrase, timed: float = 0.55) -> Clause:
    """It happened; a verb without a distinct past has happened already."""
    if not phrase.verb.english.past:
        return perfect(rng, subject, phrase)
    clause = Clause(subject, phrase, "past", negation=_maybe_not(rng, subject, phrase))
    lasting = phrase.verb.aspect == "activity" and phrase.object is None and phrase.goal is None
    if lasting and not clause.negation and rng.random() < timed / 3:
        return replace(clause, time=pick(rng, times.LASTING))
    return _timed(rng, clause, timed, _past_times(rng, phrase.verb))


def future(rng: Random, subject: Nominal, phrase: VerbPhrase, timed: float = 0.6) -> Clause:
    """It will happen."""
    negation = _maybe_not(rng, subject, phrase)
    likely = times.PROBABLY if not negation and rng.random() < timed / 8 else None
    clause = Clause(subject, phrase, "future", negation=negation, adverb=likely)
    return _timed(rng, clause, timed, _future_times(rng, phrase.verb))


def ongoing(rng: Random, subject: Nominal, phrase: VerbPhrase) -> Clause:
    """It is happening."""
    negation: Negation = _maybe_not(rng, subject, phrase) if phrase.goal is None else ""
    return Clause(subject, phrase, "progressive", negation=negation)


def perfect(rng: Random, subject: Nominal, phrase: VerbPhrase) -> Clause:
    """It has already, just, never, or not yet happened."""
    r = rng.random()
    placed = phrase.place is not None or phrase.company is not None
    if r < 0.25 and can_negate(subject, phrase) and not placed:
        return Clause(subject, phrase, "perfect", negation="not yet")
    experience = not _is_counted(phrase) and phrase.verb.english.base not in _UNINTENDED
    if 0.25 < r < 0.4 and experience and subject not in (NOBODY, SOMEBODY, WHO):
        return Clause(subject, phrase, "perfect", adverb=times.NEVER_YET)
    adverb = times.ALREADY if r < 0.7 else times.JUST
    return Clause(subject, phrase, "perfect", adverb=adverb)


def habit(rng: Random, subject: Nominal, phrase: VerbPhrase) -> Clause:
    """It happens again and again."""
    if phrase.verb is verbs.STAY:
        phrase = replace(phrase, place=times.AT_HOME)
    clause = Clause(subject, in_general(rng, phrase))
    if phrase.verb in verbs.INTRANSITIVE and phrase.verb.aspect == "event":
        return replace(clause, time=pick(rng, times.CLOCK))
    if rng.random() < 0.55:
        return replace(clause, adverb=pick(rng, times.FREQUENCY))
    if phrase.verb in verbs.JOURNEY:
        time = pick(rng, times.EVERY_SEASON)
    else:
        time = pick(rng, times.HABITUAL if rng.random() < 0.7 else times.EVERY_WEEKDAY)
    return replace(clause, opener=time) if rng.random() < 0.25 else replace(clause, time=time)


def is_habitual(phrase: VerbPhrase) -> bool:
    """Whether one would say of such a thing that it happens often."""
    if is_generic(phrase):
        return True
    if phrase.recipient is not None or _is_counted(phrase):
        return False
    return phrase.verb.english.base not in _RARE


def modal(
    rng: Random,
    subject: Nominal,
    phrase: VerbPhrase,
    verb: Modal | None = None,
    timed: float = 0.4,
) -> Clause:
    """It can, must or should happen; sometimes, it had to."""
    verb = verb or pick(rng, MODALS)
    negation: Negation = _maybe_not(rng, subject, phrase) if verb.negatable else ""
    if verb.past and rng.random() < 0.3:
        clause = Clause(subject, phrase, "past", verb, negation)
        return _timed(rng, clause, timed, _past_times(rng, phrase.verb))
    clause = Clause(subject, phrase, "present", verb, negation)
    return _timed(rng, clause, timed, _future_times(rng, phrase.verb))


def liking(rng: Random, subject: Nominal, phrase: VerbPhrase) -> Clause:
    """likes to swim → schwimmt gern."""
    phrase = in_general(rng, phrase)
    return Clause(subject, phrase, modal=LIKE_TO, negation=_maybe_not(rng, subject, phrase))


def state(rng: Random, subject: Nominal, phrase: VerbPhrase) -> Clause:
    """It is, was, or is no longer so."""
    r = rng.random()
    if r < 0.12 and can_negate(subject, phrase):
        return Clause(subject, phrase, negation="no longer")
    negation = _maybe_not(rng, subject, phrase)
    return Clause(subject, phrase, "present" if r < 0.7 else "past", negation=negation)


def happening(rng: Random, subject: Nominal, phrase: VerbPhrase) -> Clause:
    """A deed or a state in any tense that suits it."""
    if phrase.verb.aspect == "state":
        return state(rng, subject, phrase)
    r = rng.random()
    unintended = phrase.verb.english.base in _UNINTENDED
    if r < 0.3 or (unintended and r < 0.75):
        return past(rng, subject, phrase)
    if (r < 0.38 or unintended) and phrase.verb is not verbs.STAY:
        return perfect(rng, subject, phrase)
    if r < 0.54 and phrase.verb.aspect != "event":
        return ongoing(rng, subject, phrase)
    if r < 0.68 and is_habitual(phrase):
        return habit(rng, subject, phrase)
    if r < 0.72 and is_habitual(phrase):
        return liking(rng, subject, phrase)
    if r < 0.82:
        return future(rng, subject, phrase)
    return modal(rng, subject, phrase)


def _animal_or_thief(rng: Random, verb: Verb) -> Clause:
    """What only some do: it happened, it is happening, or it happens often."""
    subject = one_of(rng, verb.subjects)
    phrase = verb_phrase(rng, verb, None)
    if verb.aspect == "state":
        return state(rng, subject, phrase)
    r = rng.random()
    if r < 0.4 or verb.aspect == "event":
        return past(rng, subject, phrase)
    if r < 0.75:
        return ongoing(rng, subject, phrase)
    prey = thing(rng, verb.objects, None, "generic")
    return Clause(subject, VerbPhrase(verb, prey), adverb=pick(rng, times.FREQUENCY))


def event(rng: Random) -> Clause:
    """Anything that people and animals do."""
    verb = pick(rng, pick(rng, _EVENTS))
    r = rng.random()
    subject: Nominal
    if r < 0.03 and verb.by_people and verb.aspect != "state":
        subject = pick(rng, (NOBODY, SOMEBODY))
        return past(rng, subject, verb_phrase(rng, verb, None))
    if not verb.by_people:
        return _animal_or_thief(rng, verb)
    if r < 0.3 and verb.english.base == "need":
        noun = pick(rng, _NECESSITIES)
        needed = NounPhrase(A if noun.plural else BARE, noun)
        return Clause(everyone(rng), VerbPhrase(verb, needed))
    subject = person(rng)
    return happening(rng, subject, verb_phrase(rng, verb, owner_of(subject)))


def duty(rng: Random, subject: Nominal, phrase: VerbPhrase, tense: Tense = "present") -> Clause:
    """wants to, has to: what one gives as a reason."""
    return Clause(subject, phrase, tense, pick(rng, (HAVE_TO, WANT_TO)))


def without_opener(clause: Clause) -> Clause:
    """The clause with its fronted time at the end, as questions and subordinate clauses need."""
    if clause.opener is None:
        return clause
    time = None if clause.opener in times.OPENERS else clause.opener
    return replace(clause, time=time, opener=None)
