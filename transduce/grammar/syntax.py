"""Abstract syntax: what a sentence says, before it is put into English or German words."""

from dataclasses import dataclass
from typing import Literal

from transduce.grammar.german import Case, Person
from transduce.grammar.lexicon import (
    Adjective,
    Determiner,
    Modal,
    Name,
    Noun,
    Phrase,
    Pronoun,
    Verb,
)

Tense = Literal["present", "progressive", "past", "perfect", "future", "so far"]
Negation = Literal["", "not", "not yet", "no longer"]


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """my two old friends; the man in the garden; the book that she is reading."""

    determiner: Determiner
    noun: Noun
    plural: bool = False
    adjective: Adjective | None = None
    modifier: "Adverbial | Relative | None" = None


@dataclass(frozen=True, slots=True)
class Possessed:
    """my brother's new car, Anna's car."""

    owner: "NounPhrase | Name"
    noun: Noun
    plural: bool = False
    adjective: Adjective | None = None


@dataclass(frozen=True, slots=True)
class Couple:
    """Anna and her brother."""

    first: "Nominal"
    second: "Nominal"


Nominal = NounPhrase | Possessed | Couple | Pronoun | Name


@dataclass(frozen=True, slots=True)
class PrepPhrase:
    """A preposition on each side, and the case that the German one governs."""

    english: str
    german: str
    case: Case
    nominal: Nominal


Adverbial = Phrase | PrepPhrase


@dataclass(frozen=True, slots=True)
class Relative:
    """A clause about a noun, which plays the role that the clause leaves open."""

    role: Literal["subject", "object", "place", "owner"]
    clause: "Clause"
    preposition: Phrase | None = None  # for role "place": in which → in dem


@dataclass(frozen=True, slots=True)
class Toward:
    """proud of her son."""

    quality: Phrase
    complement: PrepPhrase


@dataclass(frozen=True, slots=True)
class Comparison:
    """older than Anna; as old as Anna."""

    adjective: Adjective
    equal: bool
    standard: Nominal


@dataclass(frozen=True, slots=True)
class Occupation:
    """a teacher: German drops the article and marks the gender."""

    noun: Noun
    feminine: bool


Predicate = Phrase | Toward | Comparison | Occupation


@dataclass(frozen=True, slots=True)
class Content:
    """that he is ill; whether he is ill; why he is ill."""

    marker: Phrase
    clause: "Clause"


@dataclass(frozen=True, slots=True)
class Infinitive:
    """to open the door; of purpose, German adds um."""

    verb_phrase: "VerbPhrase"
    purpose: bool


@dataclass(frozen=True, slots=True)
class VerbPhrase:
    """A verb with all that depends on it, but neither subject nor tense."""

    verb: Verb
    object: Nominal | Phrase | None = None
    recipient: Nominal | None = None
    recipient_first: bool = True  # "gives her a book" rather than "gives a book to her"
    predicate: Predicate | None = None
    manner: Phrase | None = None
    company: Adverbial | None = None  # with her brother, by bus, by the mechanic
    place: Adverbial | None = None
    goal: Adverbial | None = None
    complement: Content | Infinitive | None = None
    passive: bool = False


@dataclass(frozen=True, slots=True)
class Clause:
    """A verb phrase with a subject and everything that belongs to its time and truth."""

    subject: Nominal
    verb_phrase: VerbPhrase
    tense: Tense = "present"
    modal: Modal | None = None
    negation: Negation = ""
    adverb: Phrase | None = None  # often, already
    time: Adverbial | None = None
    opener: Adverbial | None = None  # what stands before the subject, and inverts German


@dataclass(frozen=True, slots=True)
class Statement:
    """A main clause; with a question mark, a question about its subject who."""

    clause: Clause
    mark: Literal[".", "?"] = "."


@dataclass(frozen=True, slots=True)
class Question:
    """Yes or no without a wh-phrase; else about the object, or about an adverbial."""

    clause: Clause
    about: Nominal | Phrase | None = None


@dataclass(frozen=True, slots=True)
class Complex:
    """A main clause and a subordinate one, in either order."""

    main: Clause
    conjunction: Phrase
    subordinate: Clause
    subordinate_first: bool


@dataclass(frozen=True, slots=True)
class Compound:
    """Two main clauses; a shared subject is said once."""

    first: Clause
    conjunction: Phrase
    second: Clause
    shared_subject: bool


Sentence = Statement | Question | Complex | Compound


def person(nominal: Nominal) -> Person:
    """What a verb agrees with."""
    if isinstance(nominal, Pronoun):
        return nominal.person
    if isinstance(nominal, Name):
        return "3s"
    return "3p" if isinstance(nominal, Couple) or nominal.plural else "3s"
