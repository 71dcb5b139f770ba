"""Abstract syntax put into English words."""

from collections.abc import Mapping

from transduce.grammar.english import a_or_an
from transduce.grammar.german import Person
from transduce.grammar.lexicon import Name, Phrase, Pronoun
from transduce.grammar.nouns import HUMAN
from transduce.grammar.syntax import (
    Adverbial,
    Clause,
    Complex,
    Compound,
    Content,
    Couple,
    Infinitive,
    Nominal,
    NounPhrase,
    Occupation,
    Possessed,
    Predicate,
    PrepPhrase,
    Question,
    Relative,
    Sentence,
    Toward,
    VerbPhrase,
    person,
)
from transduce.grammar.times import MAYBE
from transduce.grammar.words import THERE, A

_BE: Mapping[Person, str] = {"1s": "am", "2s": "are", "3s": "is", "1p": "are", "3p": "are"}
_WAS: Mapping[Person, str] = {"1s": "was", "2s": "were", "3s": "was", "1p": "were", "3p": "were"}
_PARTICLES = frozenset({"up", "on", "off"})


def sentence(value: Sentence) -> str:
    """The English sentence, with its capital and its full stop."""
    if isinstance(value, Complex):
        main = _clause(value.main)
        subordinate = f"{value.conjunction.english} {_clause(value.subordinate)}"
        text = f"{subordinate}, {main}." if value.subordinate_first else f"{main} {subordinate}."
    elif isinstance(value, Compound):
        second = _predication(value.second) if value.shared_subject else _clause(value.second)
        comma = "" if value.shared_subject else ","
        text = f"{_clause(value.first)}{comma} {value.conjunction.english} {second}."
    elif isinstance(value, Question):
        text = _question(value)
    else:
        text = _clause(value.clause) + value.mark
    return text[0].upper() + text[1:]


def _question(value: Question) -> str:
    clause = value.clause
    auxiliary, main = _verb_group(clause, needs_auxiliary=True)
    words = [auxiliary, nominal(clause.subject, subject=True), *_after_auxiliary(clause, main)]
    if value.about is not None:
        words.insert(0, _object(value.about))
    return " ".join(filter(None, words)) + "?"


def _clause(clause: Clause) -> str:
    text = f"{nominal(clause.subject, subject=True)} {_predication(clause)}"
    if clause.opener is None:
        return text
    comma = "" if clause.opener is MAYBE else ","
    return f"{adverbial(clause.opener)}{comma} {text}"


def _predication(clause: Clause) -> str:
    """A clause without its subject."""
    negated = clause.negation in ("not", "not yet")
    auxiliary, main = _verb_group(clause, needs_auxiliary=negated)
    if negated:
        auxiliary = "cannot" if auxiliary == "can" else f"{auxiliary} not"
    return " ".join(filter(None, [auxiliary, *_after_auxiliary(clause, main)]))


def _after_auxiliary(clause: Clause, main: str) -> list[str]:
    words = ["no longer"] if clause.negation == "no longer" else []
    if clause.adverb is not None:
        words.append(clause.adverb.english)
    words.append(main)
    _add_dependents(words, clause.verb_phrase)
    if clause.negation == "not yet":
        words.append("yet")
    if clause.time is not None:
        words.append(adverbial(clause.time))
    _add_complement(words, clause.verb_phrase)
    return words


def _verb_group(clause: Clause, needs_auxiliary: bool) -> tuple[str, str]:
    """The auxiliary, if there is one, and the rest of the verb."""
    who = _agreement(clause)
    verb = clause.verb_phrase.verb.english
    passive = clause.verb_phrase.passive
    infinitive = f"be {verb.participle}" if passive else verb.base
    past = clause.tense == "past"
    if clause.modal is not None:
        modal = clause.modal.past if past else clause.modal.present
        head, _, rest = modal.partition(" ")
        if not clause.modal.takes_do:
            return head, f"{rest} {infinitive}" if rest else infinitive
        if needs_auxiliary:
            base = clause.modal.present
            return _do(who, past), f"{base} {infinitive}"
        if who == "3s" and not past:
            head = "has" if head == "have" else f"{head}s"
        return "", f"{head} {rest} {infinitive}"
    if clause.tense == "future":
        return "will", infinitive
    if clause.tense == "progressive":
        return _BE[who], verb.gerund
    if clause.tense in ("perfect", "so far"):
        still = clause.tense == "so far" and clause.verb_phrase.verb.aspect != "state"
        return "has" if who == "3s" else "have", f"been {verb.gerund}" if still else verb.participle
    if passive:
        return (_WAS if past else _BE)[who], verb.participle
    if verb.base == "be":
        return (_WAS if past else _BE)[who], ""
    if needs_auxiliary:
        return _do(who, past), verb.base
    if past:
        return "", verb.past
    return "", verb.third if who == "3s" else verb.base


def _agreement(clause: Clause) -> Person:
    """The verb agrees with its subject; after there, with what there is."""
    thing = clause.verb_phrase.object
    if clause.subject is THERE and isinstance(thing, NounPhrase):
        return person(thing)
    return person(clause.subject)


def _do(who: Person, past: bool) -> str:
    if past:
        return "did"
    return "does" if who == "3s" else "do"


def _add_dependents(words: list[str], phrase: VerbPhrase) -> None:
    """What follows the verb, in English order: place before company, both before time."""
    tail = phrase.verb.english.tail
    if tail in _PARTICLES and isinstance(phrase.object, Pronoun):
        words += (phrase.object.object, tail)
    elif phrase.object is not None:
        thing = _object(phrase.object)
        if phrase.recipient is None:
            words += (tail, thing)
        elif phrase.recipient_first:
            words += (nominal(phrase.recipient), thing)
        else:
            words += (thing, "to", nominal(phrase.recipient))
    else:
        words.append(tail)
    if phrase.predicate is not None:
        words.append(_predicate(phrase.predicate))
    if phrase.manner is not None:
        words.append(phrase.manner.english)
    for dependent in (phrase.goal, phrase.place, phrase.company):
        if dependent is not None:
            words.append(adverbial(dependent))


def _add_complement(words: list[str], phrase: VerbPhrase) -> None:
    complement = phrase.complement
    if isinstance(complement, Content):
        words += (complement.marker.english, _clause(complement.clause))
    elif isinstance(complement, Infinitive):
        inner = complement.verb_phrase
        words += ("to", inner.verb.english.base)
        _add_dependents(words, inner)


def _object(thing: Nominal | Phrase) -> str:
    return thing.english if isinstance(thing, Phrase) else nominal(thing)


def _predicate(predicate: Predicate) -> str:
    if isinstance(predicate, Phrase):
        return predicate.english
    if isinstance(predicate, Toward):
        return f"{predicate.quality.english} {adverbial(predicate.complement)}"
    if isinstance(predicate, Occupation):
        noun = predicate.noun.singular
        return f"{a_or_an(noun)} {noun}"
    standard = nominal(predicate.standard, subject=True)
    if predicate.equal:
        return f"as {predicate.adjective.english} as {standard}"
    return f"{predicate.adjective.english_comparative} than {standard}"


def adverbial(value: Adverbial) -> str:
    """An adverbial in any position."""
    if isinstance(value, Phrase):
        return value.english
    return f"{value.english} {nominal(value.nominal)}"


def nominal(value: Nominal, subject: bool = False) -> str:
    """A noun phrase, name or pronoun; only pronouns tell subject from object."""
    if isinstance(value, NounPhrase):
        return _noun_phrase(value)
    if isinstance(value, Pronoun):
        return value.subject if subject else value.object
    if isinstance(value, Name):
        return value.english
    if isinstance(value, Couple):
        return f"{nominal(value.first, subject)} and {nominal(value.second, subject)}"
    return _possessed(value)


def _possessed(value: Possessed) -> str:
    adjective = f"{value.adjective.english} " if value.adjective else ""
    noun = value.noun.plural if value.plural else value.noun.singular
    return f"{nominal(value.owner)}'s {adjective}{noun}"


def _noun_phrase(phrase: NounPhrase) -> str:
    noun = phrase.noun.plural if phrase.plural else phrase.noun.singular
    if phrase.adjective is not None:
        noun = f"{phrase.adjective.english} {noun}"
    determiner = phrase.determiner.plural if phrase.plural else phrase.determiner.singular
    if phrase.determiner is A:
        determiner = a_or_an(noun)
    text = f"{determiner} {noun}" if determiner else noun
    if phrase.modifier is None:
        return text
    if isinstance(phrase.modifier, Phrase | PrepPhrase):
        return f"{text} {adverbial(phrase.modifier)}"
    return f"{text} {_relative(phrase.modifier, human=phrase.noun.kind in HUMAN)}"


def _relative(relative: Relative, human: bool) -> str:
    if relative.role == "subject":
        return f"{'who' if human else 'that'} {_predication(relative.clause)}"
    if relative.role == "place":
        assert relative.preposition is not None
        return f"{relative.preposition.english} which {_clause(relative.clause)}"
    if relative.role == "owner":
        return f"whose {_clause(relative.clause)}"
    return f"{'whom' if human else 'that'} {_clause(relative.clause)}"
