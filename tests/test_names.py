"""Names that the model does not know are kept."""

import pytest

from transduce.search import Hypothesis
from transduce.translate.join import Found
from transduce.translate.plan import Unit
from transduce.translate.restore.familiar import keep_names, keep_titles, with_familiar_names
from transduce.translate.restore.names import german_names, names
from transduce.translate.restore.places import keep_places
from transduce.translate.restore.second import SecondSearch
from transduce.translate.traits import Traits
from transduce.translate.translator import Translator

ENGLISH = Traits("en", "de")
# in no training data of the bundled model; of several languages
UNSEEN = ["Okonkwo", "Siobhan", "Tuscaloosa", "Whitfield", "Petrovic", "Abernathy", "Kowalski"]
TITLES = ["Dr {} will see you now.", "I think Dr {} is at home."]
SENTENCES = ["I met {} yesterday.", "Do you know {}?", "Tom thinks that {} is tired."]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("My name is Elizabeth.", ["Elizabeth"]),
        ("Mr Johnson lives in Ankara.", ["Johnson", "Ankara"]),
        ("Yesterday I saw Dr Patel and Mrs. Hussain.", ["Patel", "Hussain"]),
        ("We flew to New York, and Tom stayed.", ["New York", "Tom"]),
        ("He met Jean-Luc and Ann O'Hara.", ["Jean-Luc", "Ann O'Hara"]),
        ("Everyone knows that I can swim.", []),
        ("He met the Bulgarian ambassador and an Egyptian.", ["Egyptian"]),
        ("What is it? Nothing. She left.", []),
        ("can I come with you, or is OK not enough?", []),
    ],
)
def test_a_word_with_a_capital_inside_a_sentence_is_a_name(text, found) -> None:
    assert [name.text for name in names(text)] == found


def test_a_name_takes_the_place_and_the_genitive_of_the_familiar_one() -> None:
    source = "I know that Hendricks's friend lives in Leeds."
    attempts = with_familiar_names(source, names(source))
    assert [attempt.text for attempt in attempts] == [
        "I know that Tom's friend lives in Boston.",
        "I know that Boston's friend lives in Maria.",
        "I know that Maria's friend lives in Tom.",
    ]
    output = "Ich weiß, dass Toms Freund in Boston lebt."
    assert attempts[0].restored(output, "de") == "Ich weiß, dass Hendricks’ Freund in Leeds lebt."
    assert attempts[0].restored("Tom und Tom wohnen in Boston.", "de") is None
    assert attempts[0].restored("Ein Freund wohnt in Boston.", "de") is None


def test_a_familiar_name_of_the_source_is_not_used_for_another() -> None:
    source = "I think Tom knows Abernathy."
    lost = [name for name in names(source) if name.text != "Tom"]
    assert [attempt.text for attempt in with_familiar_names(source, lost)] == [
        "I think Tom knows Boston.",
        "I think Tom knows Maria.",
    ]


def not_scored(*_: object) -> list[float]:
    raise AssertionError


def result(text: str, log_prob: float) -> Found:
    return Found((Hypothesis((), log_prob, log_prob, True),), (text,))


def kept(traits: Traits, tokens: int, log_prob: float, surer: float) -> str:
    """The translation after `keep_names`, of a name that has this many tokens."""
    unit = Unit("He is called Kowalski.", (1,))
    found = {unit: result("Er heißt Kowenki.", log_prob)}

    def changed(_unit: Unit, _old: Found, text: str, _flag: str) -> Found:
        return result(text, log_prob)

    keep_names(
        SecondSearch(
            found,
            traits,
            lambda _: (1,) * tokens,
            lambda units: [result("Er heißt Tom.", log_prob + surer) for _ in units],
            changed,
            not_scored,
        )
    )
    return found[unit].texts[0]


def test_a_lost_name_is_restored_if_the_model_is_surer_with_a_familiar_one() -> None:
    assert kept(ENGLISH, 4, -9.0, 3.0) == "Er heißt Kowalski."
    assert kept(ENGLISH, 4, -9.0, 1.0) == "Er heißt Kowenki."
    assert kept(ENGLISH, 2, -9.0, 3.0) == "Er heißt Kowenki."  # seen more often in training
    assert kept(ENGLISH, 1, -9.0, 30.0) == "Er heißt Kowenki."  # a single token is known


@pytest.mark.parametrize(
    ("name", "lost", "right"),
    [
        ("Glasgow", "Der Zug nach neun fährt ab.", "Der Zug nach Glasgow fährt ab."),
        ("Glasgow", "Der Zug nach fährt ab.", "Der Zug nach Glasgow fährt ab."),
        ("Glasgow", "Der Zug nach Glas fährt ab.", None),  # perhaps the name in German
        ("Glasgow", "Der schnelle Zug nach neun fährt ab.", None),  # differs elsewhere too
        ("Turkish", "Der Zug nach türkisch fährt ab.", None),  # not a name
    ],
)
def test_a_name_that_became_words_without_a_capital_is_restored(name, lost, right) -> None:
    unit = Unit(f"The train to {name} leaves.", (1,))
    found = {unit: result(lost, -1.0)}
    keep_names(
        SecondSearch(
            found,
            ENGLISH,
            lambda _: (1, 1),
            lambda units: [result("Der Zug nach Boston fährt ab.", -1.5) for _ in units],
            lambda _unit, _old, text, _flag: result(text, -1.0),
            not_scored,
        )
    )
    assert found[unit].texts[0] == (right or lost)


def test_of_two_lost_names_only_the_one_that_is_unknown_is_restored() -> None:
    unit = Unit("Then Kowalski moved to Warsaw.", (1,))
    found = {unit: result("Dann zog Kowenki nach Warschau.", -9.0)}
    outputs = {
        "Then Tom moved to Warsaw.": result("Dann zog Tom nach Warschau.", -3.5),
        "Then Tom moved to Boston.": result("Dann zog Tom nach Boston.", -3.0),
    }
    keep_names(
        SecondSearch(
            found,
            ENGLISH,
            lambda word: (1,) * (4 if word == "Kowalski" else 2),
            lambda units: [outputs.get(unit.text, result("", -99.0)) for unit in units],
            lambda _unit, _old, text, _flag: result(text, -1.0),
            not_scored,
        )
    )
    assert found[unit].texts[0] == "Dann zog Kowalski nach Warschau."


def test_a_title_may_be_translated_if_the_model_is_surer_of_a_familiar_name() -> None:
    unit = Unit("Then Dr Kowalski came.", (1,))
    found = {unit: result("Puis Kowenki est venu.", -9.0)}
    keep_names(
        SecondSearch(
            found,
            Traits("en", "fr"),
            lambda _: (1,) * 4,
            lambda units: [result("Puis le docteur Tom est venu.", -3.0) for _ in units],
            lambda _unit, _old, text, _flag: result(text, -3.0),
            not_scored,
        )
    )
    assert found[unit].texts[0] == "Puis le docteur Kowalski est venu."


def test_capitals_of_german_sources_mark_no_names() -> None:
    assert kept(Traits("de", "en"), 4, -9.0, 3.0) == "Er heißt Kowenki."
    assert kept(Traits(None, "de"), 4, -9.0, 3.0) == "Er heißt Kowenki."


@pytest.mark.parametrize(
    ("text", "sure", "perhaps"),
    [
        ("Mein Name ist Friederike Albrecht.", ["Friederike Albrecht"], []),
        ("Ich heiße Svenja, und das ist mein Bruder Ottokar.", ["Svenja", "Ottokar"], []),
        ("Ich habe Herrn Yilmaz und Frau Dr. Okonkwo getroffen.", ["Yilmaz", "Okonkwo"], []),
        ("Wir fahren von Karlsruhe nach Chemnitz.", [], ["Karlsruhe", "Chemnitz"]),
        ("Tante Wilhelmine wohnt in Bielefeld.", ["Wilhelmine"], ["Bielefeld"]),
        ("Ich ging mit einer Frau Kaffee trinken.", [], []),
        ("Das heißt Krieg.", [], []),
        ("Die Kinder leben in Sicherheit.", [], []),
        ("Der Hund liegt in Decken gehüllt.", [], []),
    ],
)
def test_german_names_are_known_by_what_stands_before_them(text, sure, perhaps) -> None:
    found = german_names(text)
    assert [name.text for name in found if name.sure] == sure
    assert [name.text for name in found if not name.sure] == perhaps


def translated_again(source: str, first: str, again: str, surer: float) -> str:
    """The translation of a German source after `keep_names`, whose names have three tokens."""
    unit = Unit(source, (1,))
    found = {unit: result(first, -9.0)}
    keep_names(
        SecondSearch(
            found,
            Traits("de", "en"),
            lambda word: (1,) * (1 if word in {"Zeit", "Haus"} else 3),
            lambda units: [result(again, surer - 9.0) for _ in units],
            lambda _unit, _old, text, _flag: result(text, surer - 9.0),
            not_scored,
        )
    )
    return found[unit].texts[0]


@pytest.mark.parametrize(
    ("source", "first", "again", "right"),
    [
        ("Herr Svenson ist da.", "Mr Swine is here.", "Mr Tom is here.", "Mr Svenson is here."),
        (
            "Er lebt in Karlsruhe.",
            "He lives in Karl's.",
            "He lives in Tom.",
            "He lives in Karlsruhe.",
        ),
        ("Er lebt in Sizilien.", "He lives in Sizil.", "He lives in Tom.", "He lives in Sicily."),
        ("Er lebt in Sizilien.", "He lives in Sicily.", "He lives in Tom.", None),
        ("Er lebt in Museen.", "He lives in town.", "He lives in Tom.", None),  # nothing alike
        ("Herrn Svensons Haus brennt.", "Mr Swine burns.", "Mr Tom burns.", None),  # a genitive
        (
            "Ob Herr Svenson Zeit hat?",
            "Has Mr Swine time?",
            "Has Mr Tom time?",
            "Has Mr Svenson time?",
        ),
    ],
)
def test_a_german_name_is_restored_if_it_can_only_be_one_or_was_spoilt(
    source, first, again, right
) -> None:
    assert translated_again(source, first, again, 2.0) == (right or first)


def test_a_german_name_that_may_be_a_noun_is_not_restored_if_the_model_is_hardly_surer() -> None:
    texts = "Er lebt in Karlsruhe.", "He lives in Karl's.", "He lives in Tom."
    assert translated_again(*texts, 0.5) == texts[1]


def test_titles_have_a_full_stop_in_german() -> None:
    unit = Unit("Dr Weber saw Prof Lang.", (1,))
    for target, right in (("de", "Dr. Weber sah Prof. Lang."), ("fr", "Dr Weber sah Prof Lang.")):
        found = {unit: result("Dr Weber sah Prof Lang.", -1.0)}
        keep_titles(
            SecondSearch(
                found,
                Traits("en", target),
                lambda _: (1,),
                lambda units: [],
                lambda _unit, _old, text, _flag: result(text, -1.0),
                not_scored,
            )
        )
        assert found[unit].texts[0] == right


@pytest.mark.parametrize(
    ("languages", "source", "output", "right"),
    [
        ("de-en", "Sie wohnt in Nürnberg.", "She lives in Nürnberg.", "She lives in Nuremberg."),
        ("de-en", "Wir lieben Neuseeland.", "We love Neuseeland.", "We love New Zealand."),
        ("en-de", "The Rhine rises.", "Der Rhine steigt.", "Der Rhein steigt."),
        ("en-de", "I love New Zealand.", "Ich liebe New Zealand.", "Ich liebe Neuseeland."),
        ("en-de", "Ask Florence!", "Frag Florence!", None),  # a person
        ("en-de", "He left Vienna.", "Er verließ Prague.", None),  # not in the source
        ("en-fr", "He left Vienna.", "Il a quitté Vienna.", None),  # not measured
    ],
)
def test_the_name_of_a_place_that_was_not_translated_is(languages, source, output, right) -> None:
    unit = Unit(source, (1,))
    found = {unit: result(output, -1.0)}
    keep_places(
        SecondSearch(
            found,
            Traits(*languages.split("-")),
            lambda _: (1,),
            lambda units: [],
            lambda _unit, _old, text, _flag: result(text, -1.0),
            not_scored,
        )
    )
    assert found[unit].texts[0] == (right or output)


def test_the_bundled_model_keeps_german_names_and_translates_those_of_places() -> None:
    persons = ["Mein Name ist {}.", "Herr {} ist krank.", "Ich habe mit Frau {} gesprochen."]
    places = ["Sie wohnt in {}.", "Wir fahren morgen nach {}.", "Er kommt aus {}."]
    wanted = {sentence.format(name): name for name in UNSEEN for sentence in persons}
    towns = dict.fromkeys(["Karlsruhe", "Bielefeld", "Chemnitz", "Winnipeg", "Oldenburg"])
    forms = {**{name: name for name in towns}, "Sizilien": "Sicily", "Nürnberg": "Nuremberg"}
    wanted |= {sentence.format(name): form for name, form in forms.items() for sentence in places}
    found = Translator.load("de-en").translate(list(wanted))
    right = sum(name in text for name, text in zip(wanted.values(), found, strict=True))
    assert right >= 0.8 * len(wanted), found


def test_the_bundled_model_keeps_unseen_names() -> None:
    texts = [sentence.format(name) for name in UNSEEN for sentence in SENTENCES]
    expected = [name for name in UNSEEN for _ in SENTENCES]
    found = Translator.load().results(texts)
    right = sum(name in one.translation for name, one in zip(expected, found, strict=True))
    assert right >= 0.7 * len(texts)
    alone = [Translator.load().translate(text) for text in texts[:6]]
    assert alone == [one.translation for one in found[:6]]


def test_a_title_without_a_full_stop_and_its_name_are_kept() -> None:
    source = "Then Dr Okafor came."
    attempts = with_familiar_names(source, names(source))
    assert attempts[0].text == "Then Dr. Tom came."
    assert attempts[0].has_titles("Dann kam Dr. Tom.")
    assert not attempts[0].has_titles("Dann kam Drkafor.")
    assert not attempts[0].has_titles("Dr kam dann.")
    texts = [sentence.format(name) for name in UNSEEN for sentence in TITLES]
    expected = [name for name in UNSEEN for _ in TITLES]
    found = Translator.load().translate(texts)
    right = [f"Dr. {name}" in one for name, one in zip(expected, found, strict=True)]
    assert sum(right) >= 0.7 * len(texts), found


def test_names_that_have_a_german_form_are_translated() -> None:
    wanted = {"We live in Munich.": "München", "She comes from Italy.": "Italien"}
    found = Translator.load().translate(list(wanted))
    assert all(word in text for word, text in zip(wanted.values(), found, strict=True)), found
