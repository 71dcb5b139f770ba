"""Word values of the built-in grammar, and how a dictionary line becomes one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from transduce.grammar import english, german
from transduce.grammar.english import EnglishVerb
from transduce.grammar.german import Case, Gender, GermanVerb, Pattern, Person, Slot

# Only English makes all four visible: an event has no progressive, a state has nothing else,
# and the progressive of a condition ("is wearing", "is raining") needs no gerade in German.
Aspect = Literal["activity", "event", "state", "condition"]
GENDERS: Mapping[str, Gender] = {"der": "m", "die": "f", "das": "n"}


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A noun on both sides; mass nouns have no plural, most nouns no feminine."""

    kind: str
    singular: str
    plural: str
    gender: Gender
    german_singular: Mapping[Case, str]
    german_plural: Mapping[Case, str]
    feminine: str


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A noun one can be at or go to, with the preposition for each."""

    noun: Noun
    at: tuple[str, str]  # English, German with the dative
    to: tuple[str, str]  # English, German with the accusative (zu: dative)


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    """An adjective; the comparatives are empty if they are not used."""

    english: str
    german: str
    stem: str
    english_comparative: str
    german_comparative: str


@dataclass(frozen=True, slots=True, eq=False)
class Determiner:
    """What opens a noun phrase; the pattern decides the endings of what follows."""

    singular: str
    plural: str
    german: str
    pattern: Pattern
    definite: bool


@dataclass(frozen=True, slots=True, eq=False)
class Pronoun:
    """A personal, interrogative or indefinite pronoun."""

    subject: str
    object: str
    person: Person
    german: Mapping[Case, str]
    owner: Determiner | None  # the possessive that refers back to it


@dataclass(frozen=True, slots=True, eq=False)
class Name:
    """A person's name; Herr declines to Herrn."""

    english: str
    german: str
    oblique: str
    gender: Gender


@dataclass(frozen=True, slots=True)
class Phrase:
    """Fixed words that mean the same in both languages and do not inflect."""

    english: str
    german: str


@dataclass(frozen=True, slots=True, eq=False)
class Modal:
    """A verb that takes another: can, want to. Without a German verb it is an adverb (gern)."""

    present: str
    past: str  # empty if it has none
    takes_do: bool  # "does not want to", but "cannot"
    negatable: bool
    german: str
    german_adverb: str


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """A verb on both sides, the case it governs, and what may stand around it."""

    english: EnglishVerb
    german: GermanVerb
    case: Case
    preposition: str
    subjects: tuple[Noun, ...]
    by_people: bool  # names and personal pronouns may be its subject
    objects: tuple[Noun, ...]
    recipients: tuple[Noun, ...]
    recipient_first: bool  # "gives the boy a book" is possible, "explains the boy a rule" is not
    places: tuple[Place, ...]
    aspect: Aspect


def lines(text: str) -> Iterator[tuple[str, str]]:
    """The entries of a table, one "English = German" per line."""
    for line in text.strip().splitlines():
        left, _, right = line.partition("=")
        yield left.strip(), right.strip()


def noun(kind: str, english_entry: str, german_entry: str) -> Noun:
    """A noun from "boy" and "der Junge, -n, -n"; no plural marks a mass noun."""
    singular, _, irregular = english_entry.partition("/")
    head, genitive, *rest = (field.strip() for field in german_entry.split(","))
    article, _, lemma = head.partition(" ")
    gender = GENDERS[article]
    counted = bool(rest)
    return Noun(
        kind=kind,
        singular=singular,
        plural=(irregular or english.add_s(singular)) if counted else "",
        gender=gender,
        german_singular=german.decline_singular(lemma, gender, genitive),
        german_plural=german.decline_plural(lemma, rest[0]) if counted else {},
        feminine=rest[1] if len(rest) > 1 else "",
    )


def place(kind: str, english_entry: str, german_entry: str) -> Place:
    """A place from "station" and "der Bahnhof, -s, Bahnhöfe; at an, to zu"."""
    entry, _, prepositions = german_entry.partition(";")
    at, to = (tuple(pair.split()) for pair in prepositions.split(","))
    return Place(noun(kind, english_entry, entry), (at[0], at[1]), (to[0], to[1]))


def adjective(english_entry: str, german_entry: str) -> Adjective:
    """An adjective from "old: older" and "alt, älter"."""
    english_form, _, english_comparative = english_entry.partition(":")
    german_form, _, german_comparative = german_entry.partition(",")
    return Adjective(
        english_form,
        german_form,
        german.attributive_stem(german_form),
        english_comparative.strip(),
        german_comparative.strip(),
    )


def pronoun(
    english_entry: str, german_entry: str, person: Person, owner: Determiner | None
) -> Pronoun:
    """A pronoun from "I me" and "ich mich mir"; one that lacks a form repeats another."""
    subject, object_ = english_entry.split()
    nominative, accusative, dative = german_entry.split()
    forms: Mapping[Case, str] = {"nom": nominative, "acc": accusative, "dat": dative}
    return Pronoun(subject, object_, person, forms, owner)


def slot(noun: Noun, plural: bool) -> Slot:
    """The column of the article tables a noun uses."""
    return "p" if plural else noun.gender
