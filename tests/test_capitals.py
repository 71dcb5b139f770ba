"""Text in capitals."""

import pytest
from models import model_directory, pairs

from transduce.translate.capitals import in_capitals, ordinary_case
from transduce.translate.translator import Translator


@pytest.mark.parametrize("text", ["THE TRAIN IS LATE.", "ÖFFNEN SIE DIE TÜR!", "I AM 24, OK?"])
def test_words_in_capitals_are_recognised(text) -> None:
    assert in_capitals(text)


@pytest.mark.parametrize(
    "text", ["", "NATO", "A380", "I am at IBM.", "МОСКВА", "犬が走る", "X Y Z"]
)
def test_names_and_other_text_are_not(text) -> None:
    assert not in_capitals(text)


def test_words_are_written_as_the_vocabulary_has_them() -> None:
    known = {"the", "train", "to", "London", "is", "late", "USA", "I"}

    def length(text):
        return sum(1 if word in known else len(word) for word in text.split())

    assert ordinary_case("THE TRAIN TO LONDON IS LATE.", length) == "The train to London is late."
    assert ordinary_case("IS LATE THE USA? I'M LATE.", length) == "Is late the USA? I'm late."
    assert ordinary_case("SEE HTTPS://A.ORG/B LATE", length) == "See HTTPS://A.ORG/B late"


def test_the_translation_of_capitals_is_that_of_ordinary_case_in_capitals(tmp_path) -> None:
    translator = Translator.load(model_directory(tmp_path / "model"))
    texts = [source for source, _ in pairs(6) if not any(c.isdigit() for c in source)]
    results = translator.results([text.upper() for text in texts])
    plans = translator.plan([text.upper() for text in texts])
    ordinary = translator.translate([plan.parts[0][0].text for plan in plans])
    assert [r.translation for r in results] == [text.upper() for text in ordinary]
    assert all("capitals" in result.flags for result in results)
    assert [result.text for result in results] == [text.upper() for text in texts]
    assert not any("capitals" in r.flags for r in translator.results(texts))
