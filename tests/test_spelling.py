"""Misspelt names are spelled as in the source; names that have a German form keep it."""

import pytest

from transduce.search import Hypothesis
from transduce.translate.join import Found
from transduce.translate.plan import Unit
from transduce.translate.restore.second import SecondSearch
from transduce.translate.restore.spelling import keep_spellings, respelled
from transduce.translate.traits import Traits
from transduce.translate.translator import Translator

ENGLISH = Traits("en", "de")
MISSPELT = ["Edinburgh", "Lagos", "Whitfield", "Elizabeth", "Cardiff", "Okafor", "Gareth"]
OWN_FORMS = {
    "Munich": "München",
    "Serbia": "Serbien",
    "Zurich": "Zürich",
    "Mexico": "Mexiko",
    "Luxembourg": "Luxemburg",
    "Greece": "Griechenland",
    "Africa": "Afrika",
}


@pytest.mark.parametrize(
    ("source", "output", "right"),
    [
        ("Go to Edinburgh!", "Geh nach Edinburg!", "Geh nach Edinburgh!"),
        ("Go to Lagos!", "Geh nach Lagosos!", "Geh nach Lagos!"),
        ("I met Dr Okafor.", "Ich traf Drkafor.", "Ich traf Okafor."),
        ("I am Gareth's son.", "Ich bin Garethurs Sohn.", "Ich bin Gareths Sohn."),
        ("I am Felix's son.", "Ich bin Felixens Sohn.", "Ich bin Felix’ Sohn."),
        ("I met Hamish in Leeds.", "Ich traf Hamisch in Leeds.", "Ich traf Hamish in Leeds."),
        ("Go to Edinburgh!", "Geh zum Edinburgher!", None),  # an ending
        ("Go to Edinburgh!", "Geh nach Hause!", None),
        ("Tom met Hamish.", "Tomisch traf Hamisch.", "Tomisch traf Hamish."),
        ("I met Hamish.", "Ich traf Hamisch oder Hamlish.", None),  # which of them?
    ],
)
def test_a_word_that_resembles_a_lost_name_becomes_it(source, output, right) -> None:
    found = [text for text, _ in respelled(source, output, ENGLISH)]
    assert found == [right] * (right is not None)


def test_other_target_languages_and_sources_with_capital_nouns_are_left_alone() -> None:
    for languages in (("en", "pl"), ("en", "fr"), ("de", "en"), ("en", None), (None, "de")):
        assert not list(respelled("I met Hamish.", "Ich traf Hamisch.", Traits(*languages)))


def kept(source: str, output: str, gain: float) -> str:
    """The translation after `keep_spellings`, if other spellings are so much more probable."""
    unit = Unit(source, (1,))
    found = {unit: Found((Hypothesis((), -3.0, -3.0, True),), (output,))}
    keep_spellings(
        SecondSearch(
            found,
            ENGLISH,
            lambda _: (1,),
            lambda _: [],
            lambda _unit, old, text, _flag: Found(old.hypotheses, (text,)),
            lambda _, texts: [-3.0 + gain * (text != output) for text in texts],
        )
    )
    return found[unit].texts[0]


@pytest.mark.parametrize("name", [("Edinburgh", "Edinburg"), ("Naples", "Naplas")])
def test_a_name_is_respelled_unless_the_model_knows_better(name) -> None:
    right, wrong = (f"Er mag {one}." for one in name)
    assert kept(f"He likes {name[0]}.", wrong, -2.9) == right
    assert kept(f"He likes {name[0]}.", wrong, -3.1) == wrong


@pytest.mark.parametrize(
    "name", [("Cuba", "Kuba"), ("Tokyo", "Tokio"), ("Spanish", "Spanisch"), ("Serbia", "Serbien")]
)
def test_a_form_of_the_target_language_is_replaced_only_if_it_is_hardly_more_probable(name) -> None:
    right, own = (f"Er mag {one}." for one in name)
    assert kept(f"He likes {name[0]}.", own, -0.8) == own
    assert kept(f"He likes {name[0]}.", own, -0.6) == right


def test_the_bundled_model_spells_names_right_and_keeps_german_ones() -> None:
    sentences = ["Do you know {}?", "He often talks about {}."]
    pairs = [(name, name) for name in MISSPELT] + list(OWN_FORMS.items())
    texts = [sentence.format(name) for name, _ in pairs for sentence in sentences]
    wanted = [word for _, word in pairs for _ in sentences]
    found = Translator.load().translate(texts)
    wrong = [one for word, one in zip(wanted, found, strict=True) if word not in one]
    assert len(wrong) <= 2, wrong
