"""Abstract syntax put into German words."""

from collections.abc import Mapping

from transduce.grammar.german import (
    IRREGULAR_PRESENT,
    PRETERITE,
    REFLEXIVE,
    RELATIVE,
    Case,
    Person,
    adjective_ending,
    contract,
    determiner,
    zu_infinitive,
)
from transduce.grammar.lexicon import Determiner, Name, Noun, Phrase, Pronoun, slot
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
from transduce.grammar.times import ALREADY, NEVER, NEVER_YET
from transduce.grammar.words import BARE, NO, PERSONAL, THE, A

_NEGATIONS: Mapping[str, tuple[str, str]] = {  # what stands before and after nicht or kein
    "": ("", ""),
    "not": ("", ""),
    "not yet": ("noch", ""),
    "no longer": ("", "mehr"),
}
_AFTER_DEFINITE = (ALREADY, NEVER, NEVER_YET)


def sentence(value: Sentence) -> str:
    """The German sentence, with its capital and its full stop."""
    if isinstance(value, Complex):
        subordinate = f"{value.conjunction.german} {_verb_last(value.subordinate)}"
        if value.subordinate_first:
            text = _verb_second(value.main, f"{subordinate},") + "."
        else:
            text = f"{_verb_second(value.main)}, {subordinate}."
    elif isinstance(value, Compound):
        second = (
            _verb_first(value.second, None) if value.shared_subject else _verb_second(value.second)
        )
        comma = "," if value.conjunction.german == "aber" else ""
        text = f"{_verb_second(value.first)}{comma} {value.conjunction.german} {second}."
    elif isinstance(value, Question):
        text = _question(value)
    else:
        text = _verb_second(value.clause) + value.mark
    text = text.replace(",,", ",").replace(",.", ".").replace(",?", "?")
    return text[0].upper() + text[1:]


def _question(value: Question) -> str:
    clause, about = value.clause, value.about
    if about is None:
        return _verb_first(clause, clause.subject) + "?"
    verb = clause.verb_phrase.verb
    if isinstance(about, Phrase):
        asked = about.german
    elif verb.preposition:
        asked = _prepositional(verb.preposition, verb.case, about)
    else:
        asked = nominal(about, verb.case)
    return _verb_second(clause, asked) + "?"


def _verb_second(clause: Clause, front: str | None = None) -> str:
    """A main clause; whatever stands in front pushes the subject behind the verb."""
    if front is None and clause.opener is not None:
        front = adverbial(clause.opener)
    if front is None:
        return f"{nominal(clause.subject, 'nom')} {_verb_first(clause, None)}"
    return f"{front} {_verb_first(clause, clause.subject)}"


def _verb_first(clause: Clause, subject: Nominal | None) -> str:
    finite, closing = _verb_parts(clause)
    words = [finite]
    _add_middle(words, clause.verb_phrase, person(clause.subject), subject, clause)
    words.append(closing.rstrip())
    return " ".join(filter(None, words)) + _tail(clause.verb_phrase, person(clause.subject))


def _verb_last(clause: Clause, subject_said: bool = False) -> str:
    """A subordinate clause; the subject of some is a relative pronoun, already said."""
    finite, closing = _verb_parts(clause)
    words: list[str] = []
    subject = None if subject_said else clause.subject
    _add_middle(words, clause.verb_phrase, person(clause.subject), subject, clause)
    words.append(closing + finite)
    return " ".join(filter(None, words)) + _tail(clause.verb_phrase, person(clause.subject))


def _infinitive(phrase: VerbPhrase, who: Person) -> str:
    words: list[str] = []
    _add_middle(words, phrase, who, None, None)
    words.append(zu_infinitive(phrase.verb.german))
    return " ".join(filter(None, words)) + _tail(phrase, who)


def _verb_parts(clause: Clause) -> tuple[str, str]:
    """The finite verb, and what closes the clause with the space it needs before that verb."""
    who = person(clause.subject)
    passive = clause.verb_phrase.passive
    verb = clause.verb_phrase.verb.german
    past = clause.tense == "past"
    infinitive = f"{verb.participle} werden " if passive else f"{verb.prefix}{verb.infinitive} "
    if clause.modal is not None and clause.modal.german:
        return (PRETERITE if past else IRREGULAR_PRESENT)[clause.modal.german][who], infinitive
    if clause.tense == "future":
        return IRREGULAR_PRESENT["werden"][who], infinitive
    if passive:
        forms = PRETERITE if past else IRREGULAR_PRESENT
        return forms["werden"][who], f"{verb.participle} "
    if past and verb.preterite is not None:
        return verb.preterite[who], verb.prefix
    if past or clause.tense == "perfect":
        return verb.auxiliary[who], f"{verb.participle} "
    return verb.present[who], verb.prefix


def _add_middle(
    words: list[str],
    phrase: VerbPhrase,
    who: Person,
    subject: Nominal | None,
    clause: Clause | None,
) -> None:
    """All that stands between the parts of the verb.

    Subject, pronouns and names come first, then time, definite objects, nicht, manner, place,
    indefinite objects, prepositional objects, goals, predicates. Under nicht, schon and nie,
    definite objects precede even the time. A subject that is not a personal pronoun follows
    reflexives; niemand and jemand follow all pronouns.
    """
    reflexive = [REFLEXIVE[who]] if phrase.verb.german.reflexive else []
    negation = clause.negation if clause else ""
    gern = clause.modal.german_adverb if clause and clause.modal else ""
    before, after = _NEGATIONS[negation]
    kein = bool(negation) and not gern and _takes_kein(phrase)
    nicht = [before, "nicht", after] if negation and not kein else []
    known, definite, indefinite = _objects(phrase, (before, after) if kein else None)
    adverbs = _adverbs(clause) if clause else []
    if gern:
        adverbs += (*nicht, gern)
        nicht = []
    if subject is None:
        words += (*reflexive, *known)
    elif subject in PERSONAL:
        words += (nominal(subject, "nom"), *reflexive, *known)
    elif isinstance(subject, Pronoun) and _has_pronoun(phrase):
        words += (*reflexive, *known, nominal(subject, "nom"))
    else:
        words += (*reflexive, nominal(subject, "nom"), *known)
    early = nicht or (clause is not None and clause.adverb in _AFTER_DEFINITE)
    words += (*definite, *adverbs) if early else (*adverbs, *definite)
    words += nicht
    for dependent in (phrase.company, phrase.manner, phrase.place):
        if dependent is not None:
            words.append(adverbial(dependent))
    words += indefinite
    if phrase.goal is not None:
        words.append(adverbial(phrase.goal))
    if phrase.predicate is not None:
        words.append(_predicate(phrase.predicate, kein))


def _has_pronoun(phrase: VerbPhrase) -> bool:
    return isinstance(phrase.object, Pronoun) or isinstance(phrase.recipient, Pronoun)


def _takes_kein(phrase: VerbPhrase) -> bool:
    """Whether the phrase has a noun that is negated by kein, so that nicht is not needed."""
    thing, verb = phrase.object, phrase.verb
    if isinstance(thing, NounPhrase):
        return thing.determiner in (A, BARE) and verb.case == "acc" and not verb.preposition
    return isinstance(phrase.predicate, Occupation)


def _objects(
    phrase: VerbPhrase, around_kein: tuple[str, str] | None
) -> tuple[list[str], list[str], list[str]]:
    """The objects that come first, the definite ones, and the indefinite and prepositional ones."""
    known: list[str] = []
    definite: list[str] = []
    indefinite: list[str] = []
    verb, thing, recipient = phrase.verb, phrase.object, phrase.recipient
    if recipient is not None:
        receiving = known if isinstance(recipient, Pronoun | Name) else definite
        receiving.append(nominal(recipient, "dat"))
    if thing is None:
        return known, definite, indefinite
    if isinstance(thing, Phrase):
        indefinite.append(thing.german)
    elif verb.preposition:
        indefinite.append(_prepositional(verb.preposition, verb.case, thing))
    elif isinstance(thing, Pronoun | Name):
        known.append(nominal(thing, verb.case))
    elif not isinstance(thing, NounPhrase) or thing.determiner.definite:
        definite.append(nominal(thing, verb.case, inline=False))
    elif around_kein is not None:
        before, after = around_kein
        indefinite += (before, _noun_phrase(thing, verb.case, NO), after)
    else:
        indefinite.append(_noun_phrase(thing, verb.case, thing.determiner))
    return known, definite, indefinite


def _adverbs(clause: Clause) -> list[str]:
    words = [] if clause.time is None else [adverbial(clause.time)]
    if clause.tense == "progressive" and clause.verb_phrase.verb.aspect != "condition":
        words.append("gerade")
    if clause.adverb is not None:
        words.append(clause.adverb.german)
    return words


def _tail(phrase: VerbPhrase, who: Person) -> str:
    """What follows the closing verb: a complement, or the relative clause of the object."""
    complement = phrase.complement
    if isinstance(complement, Content):
        return f", {complement.marker.german} {_verb_last(complement.clause)}"
    if isinstance(complement, Infinitive):
        um = "um " if complement.purpose else ""
        return f", {um}{_infinitive(complement.verb_phrase, who)}"
    thing = phrase.object
    if isinstance(thing, NounPhrase) and isinstance(thing.modifier, Relative):
        return f", {_relative(thing, thing.modifier)}"
    return ""


def _predicate(predicate: Predicate, negated: bool) -> str:
    if isinstance(predicate, Phrase):
        return predicate.german
    if isinstance(predicate, Toward):
        return f"{predicate.quality.german} {adverbial(predicate.complement)}"
    if isinstance(predicate, Occupation):
        if predicate.feminine:
            return f"keine {predicate.noun.feminine}" if negated else predicate.noun.feminine
        noun = predicate.noun.german_singular["nom"]
        return f"kein {noun}" if negated else noun
    standard = nominal(predicate.standard, "nom")
    if predicate.equal:
        return f"so {predicate.adjective.german} wie {standard}"
    return f"{predicate.adjective.german_comparative} als {standard}"


def adverbial(value: Adverbial) -> str:
    """An adverbial in any position."""
    if isinstance(value, Phrase):
        return value.german
    return _prepositional(value.german, value.case, value.nominal)


def _prepositional(preposition: str, case: Case, value: Nominal) -> str:
    text = nominal(value, case, inline=False)
    contracts = (
        value.determiner is THE
        if isinstance(value, NounPhrase)
        else isinstance(value, Possessed) and not isinstance(value.owner, Name)
    )
    if not contracts:
        return f"{preposition} {text}"
    article, _, rest = text.partition(" ")
    return f"{contract(preposition, article)} {rest}"


def nominal(value: Nominal, case: Case, inline: bool = True) -> str:
    """A noun phrase, name or pronoun in a case; the relative clause follows only if inline."""
    if isinstance(value, NounPhrase):
        text = _noun_phrase(value, case, value.determiner)
        if value.modifier is None:
            return text
        if isinstance(value.modifier, Phrase | PrepPhrase):
            return f"{text} {adverbial(value.modifier)}"
        return f"{text}, {_relative(value, value.modifier)}," if inline else text
    if isinstance(value, Pronoun):
        return value.german[case]
    if isinstance(value, Name):
        return value.german if case == "nom" else value.oblique
    if isinstance(value, Couple):
        return f"{nominal(value.first, case)} und {nominal(value.second, case)}"
    return _possessed(value, case)


def _possessed(value: Possessed, case: Case) -> str:
    """das neue Auto meines Bruders, but Annas neues Auto."""
    if isinstance(value.owner, Name):
        noun = _noun_phrase(NounPhrase(BARE, value.noun, value.plural, value.adjective), case, BARE)
        return f"{value.owner.oblique}s {noun}"
    noun = _noun_phrase(NounPhrase(THE, value.noun, value.plural, value.adjective), case, THE)
    return f"{noun} {nominal(value.owner, 'gen')}"


def _noun_phrase(phrase: NounPhrase, case: Case, opening: Determiner) -> str:
    noun, plural = phrase.noun, phrase.plural
    column = slot(noun, plural)
    form = _noun_form(noun, plural, case)
    if phrase.adjective is not None:
        form = f"{phrase.adjective.stem}{adjective_ending(opening.pattern, case, column)} {form}"
    article = determiner(opening.german, opening.pattern, case, column)
    return f"{article} {form}" if article else form


def _noun_form(noun: Noun, plural: bool, case: Case) -> str:
    return (noun.german_plural if plural else noun.german_singular)[case]


def _relative(phrase: NounPhrase, relative: Relative) -> str:
    column = slot(phrase.noun, phrase.plural)
    clause = relative.clause
    if relative.role == "subject":
        return f"{RELATIVE['nom', column]} {_verb_last(clause, subject_said=True)}"
    if relative.role == "owner":
        return f"{RELATIVE['gen', column]} {_verb_last(clause)}"
    if relative.role == "place":
        assert relative.preposition is not None
        return f"{relative.preposition.german} {RELATIVE['dat', column]} {_verb_last(clause)}"
    verb = clause.verb_phrase.verb
    pronoun = RELATIVE[verb.case, column]
    opening = f"{verb.preposition} {pronoun}" if verb.preposition else pronoun
    return f"{opening} {_verb_last(clause)}"
