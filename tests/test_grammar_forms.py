"""German inflection, numbers and times of the built-in corpus."""

import pytest
from grammar_phrases import (
    ANNA,
    VERB,
    the,
)

from transduce.grammar import english, german, times, to_german, words
from transduce.grammar.german import CASES
from transduce.grammar.lexicon import Determiner, Phrase
from transduce.grammar.nouns import NOUN
from transduce.grammar.syntax import (
    Possessed,
    PrepPhrase,
)
from transduce.grammar.words import (
    ADJECTIVE,
    BARE,
    MY,
    NO,
    NUMERALS,
    OUR,
    THE,
    THEIR,
    THIS,
    A,
)

DECLENSIONS = {
    (THE, "man", "old", False): "der alte Mann, den alten Mann, dem alten Mann, des alten Mannes",
    (THE, "woman", "old", False): "die alte Frau, die alte Frau, der alten Frau, der alten Frau",
    (THE, "book", "old", False): "das alte Buch, das alte Buch, dem alten Buch, des alten Buches",
    (THE, "book", "old", True): (
        "die alten Bücher, die alten Bücher, den alten Büchern, der alten Bücher"
    ),
    (THIS, "boy", "young", False): (
        "dieser junge Junge, diesen jungen Jungen, diesem jungen Jungen, dieses jungen Jungen"
    ),
    (THIS, "child", "", True): "diese Kinder, diese Kinder, diesen Kindern, dieser Kinder",
    (A, "dog", "small", False): (
        "ein kleiner Hund, einen kleinen Hund, einem kleinen Hund, eines kleinen Hundes"
    ),
    (A, "cat", "small", False): (
        "eine kleine Katze, eine kleine Katze, einer kleinen Katze, einer kleinen Katze"
    ),
    (A, "house", "dark", False): (
        "ein dunkles Haus, ein dunkles Haus, einem dunklen Haus, eines dunklen Hauses"
    ),
    (NO, "car", "expensive", True): (
        "keine teuren Autos, keine teuren Autos, keinen teuren Autos, keiner teuren Autos"
    ),
    (OUR, "student", "tired", False): (
        "unser müder Student, unseren müden Studenten, "
        "unserem müden Studenten, unseres müden Studenten"
    ),
    (THEIR, "daughter", "", True): "ihre Töchter, ihre Töchter, ihren Töchtern, ihrer Töchter",
    (BARE, "coffee", "cold", False): (
        "kalter Kaffee, kalten Kaffee, kaltem Kaffee, kalten Kaffees"
    ),
    (BARE, "milk", "cold", False): "kalte Milch, kalte Milch, kalter Milch, kalter Milch",
    (BARE, "water", "cold", False): "kaltes Wasser, kaltes Wasser, kaltem Wasser, kalten Wassers",
    (BARE, "apple", "fresh", True): (
        "frische Äpfel, frische Äpfel, frischen Äpfeln, frischer Äpfel"
    ),
    (NUMERALS[0], "friend", "old", True): (
        "zwei alte Freunde, zwei alte Freunde, zwei alten Freunden, zwei alter Freunde"
    ),
    (words.QUANTIFIERS[1], "guest", "polite", True): (
        "viele höfliche Gäste, viele höfliche Gäste, "
        "vielen höflichen Gästen, vieler höflicher Gäste"
    ),
}


@pytest.mark.parametrize(("phrase", "forms"), DECLENSIONS.items(), ids=lambda x: str(x)[-30:])
def test_a_noun_phrase_declines_as_in_a_grammar_book(
    phrase: tuple[Determiner, str, str, bool], forms: str
) -> None:
    determiner, noun, adjective, plural = phrase
    value = the(noun, adjective, determiner, plural)
    assert [to_german.nominal(value, case) for case in CASES] == forms.split(", ")


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        (PrepPhrase("in", "in", "dat", the("park")), "im Park"),
        (PrepPhrase("in", "in", "dat", the("kitchen")), "in der Küche"),
        (PrepPhrase("to", "in", "acc", the("café", "small")), "ins kleine Café"),
        (PrepPhrase("to", "zu", "dat", the("university")), "zur Universität"),
        (PrepPhrase("by", "von", "dat", the("boy")), "vom Jungen"),
        (PrepPhrase("in", "in", "dat", the("house", "", THIS)), "in diesem Haus"),
        (PrepPhrase("with", "mit", "dat", the("man")), "mit dem Mann"),
        (
            PrepPhrase("in", "in", "dat", Possessed(the("aunt", "", MY), NOUN["house"])),
            "im Haus meiner Tante",
        ),
        (
            PrepPhrase("in", "in", "dat", Possessed(ANNA, NOUN["house"], False, ADJECTIVE["new"])),
            "in Annas neuem Haus",
        ),
    ],
)
def test_a_preposition_contracts_with_the_article_only(phrase: PrepPhrase, expected: str) -> None:
    assert to_german.adverbial(phrase) == expected


@pytest.mark.parametrize(
    ("verb", "forms"),
    [
        ("eat", "esse isst isst essen essen"),
        ("read", "lese liest liest lesen lesen"),
        ("work", "arbeite arbeitest arbeitet arbeiten arbeiten"),
        ("feed", "füttere fütterst füttert füttern füttern"),
        ("invite", "lade lädst lädt laden laden"),
        ("dance", "tanze tanzt tanzt tanzen tanzen"),
        ("know", "weiß weißt weiß wissen wissen"),
        ("have", "habe hast hat haben haben"),
        ("greet", "begrüße begrüßt begrüßt begrüßen begrüßen"),
        ("take", "nehme nimmst nimmt nehmen nehmen"),
    ],
)
def test_a_verb_agrees_with_every_person(verb: str, forms: str) -> None:
    assert list(VERB[verb].german.present.values()) == forms.split()


def test_numbers_from_1_to_99_are_spelt_in_the_order_of_each_language() -> None:
    spelt = {
        1: "eins", 7: "sieben", 11: "elf", 12: "zwölf", 16: "sechzehn", 17: "siebzehn",
        20: "zwanzig", 21: "einundzwanzig", 30: "dreißig", 37: "siebenunddreißig",
        66: "sechsundsechzig", 70: "siebzig", 77: "siebenundsiebzig", 99: "neunundneunzig",
    }  # fmt: skip
    assert {n: german.number_word(n) for n in spelt} == spelt
    assert len({german.number_word(n) for n in range(1, 100)}) == 99
    assert len({english.number_word(n) for n in range(1, 100)}) == 99
    for n in range(21, 100):
        tens, _, unit = english.number_word(n).partition("-")
        assert bool(unit) == (n % 10 > 0) == ("und" in german.number_word(n)[2:])
        assert tens == english.number_word(n - n % 10)
        assert german.number_word(n).endswith(german.number_word(n - n % 10))


@pytest.mark.parametrize(
    ("phrase", "source", "target"),
    [
        (times.date(3, 3, 2019), "on March 3, 2019", "am 3. März 2019"),
        (times.date(12, 31), "on December 31", "am 31. Dezember"),
        (times.ON_WEEKDAY[2], "on Wednesday", "am Mittwoch"),
        (times.LAST_SEASON[0], "last spring", "letzten Frühling"),
        (times.at(times.clock(1, 0)), "at one o'clock", "um ein Uhr"),
        (times.at(times.clock(12, 2)), "at half past twelve", "um halb eins"),
        (times.at(times.clock(3, 3)), "at a quarter to four", "um Viertel vor vier"),
        (times.at(times.timetable(9, 5)), "at 9:05", "um 9:05 Uhr"),
        (times.price(12, 50), "12.50 euros", "12,50 Euro"),
        (times.ago(2, times.DAYS), "two days ago", "vor zwei Tagen"),
        (times.lasting(3, times.HOURS), "for three hours", "drei Stunden lang"),
        (times.so_far(3, times.YEARS), "for three years", "seit drei Jahren"),
    ],
)
def test_a_time_is_said_as_each_language_says_it(phrase: Phrase, source: str, target: str) -> None:
    assert phrase == Phrase(source, target)
