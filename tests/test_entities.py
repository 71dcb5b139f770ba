"""Numbers, addresses and the like: found, compared across languages, and put back."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.translate.entities import entities, localised, missing
from transduce.translate.numerals import numeral_forms
from transduce.translate.restore.insertion import corrected, masked
from transduce.translate.traits import Traits
from transduce.translate.translator import Translator

ENGLISH_GERMAN = Traits("en", "de")


def found(text) -> list[tuple[str, str]]:
    return [(one.kind, one.text) for one in entities(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mail anna.b+c@example.co.uk.", [("address", "anna.b+c@example.co.uk")]),
        ("See https://a.org/b?c=d, please!", [("address", "https://a.org/b?c=d")]),
        ("(www.x.de)", [("address", "www.x.de")]),
        ("Look at example.com.", [("address", "example.com")]),
        ("It is in ~/notes/a.txt.", [("address", "~/notes/a.txt")]),
        ("It is in C:\\Users\\me", [("address", "C:\\Users\\me")]),
        ("Ask @anna about #weather.", [("address", "@anna"), ("address", "#weather")]),
        ("An A380 and an MP3", [("address", "A380"), ("address", "MP3")]),
        ("+49 (30) 123-4567 or 555-0123", [("phone", "+49 (30) 123-4567"), ("phone", "555-0123")]),
        ("at 7:45 on 5/12/2020", [("time", "7:45"), ("date", "5/12/2020")]),
        ("1,000.50, or 1.000,50.", [("number", "1,000.50"), ("number", "1.000,50")]),
        ("1 000 000 people", [("number", "1 000 000")]),
        ("the 1st of 24 in the 1960s", [("number", "1"), ("number", "24"), ("number", "1960")]),
        ("He and/or she said no.", []),
        ("H2O is fine", []),
        ("forty-two, or Three hundred and six",
         [("number", "forty-two"), ("number", "Three hundred and six")]),
        ("zweiundvierzig oder hundert und sechzig",
         [("number", "zweiundvierzig"), ("number", "hundert und sechzig")]),
        ("nineteen eighty-four, twenty thousand, the twenty-first, one of twelve", []),
        ("vierzig Millionen, die Vierziger, der vierzigste, elf", []),
    ],
)  # fmt: skip
def test_entities_are_found_without_the_punctuation_after_them(text, expected) -> None:
    assert [pair for pair in found(text) if pair[1] != "H2O"] == expected


@pytest.mark.parametrize(
    ("english", "german"),
    [
        ("It costs 1,000.50 euros.", "Es kostet 1.000,50 Euro."),
        ("It costs 1.5 euros.", "Es kostet 1,50 Euro."),
        ("We meet at 7:45.", "Wir treffen uns um 7.45 Uhr."),
        ("We meet at 7:30.", "Wir treffen uns um halb acht."),
        ("We meet at 7:45 p.m.", "Wir treffen uns um 19:45 Uhr."),
        ("We meet at 7 p.m.", "Wir treffen uns um 19 Uhr."),
        ("There are 3 dogs.", "Da sind drei Hunde."),
        ("She is 24.", "Sie ist vierundzwanzig."),
        ("the 1st time", "das erste Mal"),
        ("It has 150,000 lines.", "Es hat hundertfünfzigtausend Zeilen."),
        ("Berlin has 4,000,000 people.", "Berlin hat 4 Millionen Einwohner."),
        ("on 5/12/2020", "am 12. Mai 2020"),
        ("from 2019-2020", "von 2019 bis 2020"),
        ("Call +49 30 1234567.", "Rufen Sie +49 (30) 123-4567 an."),
        ("A 20% rise", "Ein Anstieg um 20 %"),
        ("She is forty-two.", "Sie ist zweiundvierzig."),
        ("She is forty-two.", "Sie ist 42."),
        ("a hundred and one sheep", "hunderteins Schafe"),
        ("a hundred sheep", "100 Schafe"),
        ("at six p.m.", "um achtzehn Uhr"),
        ("a twenty-year-old", "ein Zwanzigjähriger, zwanzig"),
    ],
)
def test_numbers_that_are_written_in_another_way_are_not_missing(english, german) -> None:
    assert missing(english, german, "de") == []
    assert missing(german, english, "en") == []


@pytest.mark.parametrize(
    ("source", "output", "lost"),
    [
        ("There are 365 days.", "Es sind 35 Tage.", ["365"]),
        ("Mail a@b.org or c@d.org.", "Schreib an a@b.org.", ["c@d.org"]),
        ("Call 555-1234.", "Ruf 555-123 an.", ["555-1234"]),
        ("At 7:45 in room 12", "Um 7:54 in Zimmer 12", ["7:45"]),
        ("See https://a.org/b", "Siehe https://a.org", ["https://a.org/b"]),
        ("I have 24 dogs.", "Ich habe vier Hunde.", ["24"]),
        ("She is forty-two.", "Sie ist vierundvierzig.", ["forty-two"]),
        ("In sixty years", "In sechs Jahren", ["sixty"]),
    ],
)
def test_what_did_not_survive_is_missing(source, output, lost) -> None:
    assert [one.text for one in missing(source, output, "de")] == lost


@given(st.text())
def test_a_copy_of_any_text_misses_nothing(text) -> None:
    for language in ("en", "de", None):
        assert missing(text, text, language) == []


def test_small_numbers_are_not_missed_in_a_language_whose_words_are_not_known() -> None:
    assert missing("3 dogs", "trois chiens", "fr") == []
    assert missing("365 days", "trois jours", "fr") != []


@pytest.mark.parametrize("year", ["2013", "2014"])
def test_few_human_translations_of_news_miss_an_entity(data, year) -> None:
    english, german = (
        gzip.decompress((data / "newstest" / f"newstest{year}.{code}.gz").read_bytes())
        .decode()
        .split("\n")
        for code in ("en", "de")
    )
    for sources, outputs, code in ((english, german, "de"), (german, english, "en")):
        pairs = list(zip(sources, outputs, strict=True))
        assert sum(bool(entities(source)) for source in sources) > 500
        assert sum(bool(missing(a, b, code)) for a, b in pairs) < 0.012 * len(pairs)


@given(st.integers(0, 999_999))
def test_every_number_has_one_spelling_that_no_other_has(number) -> None:
    for language in ("en", "de"):
        spelled = numeral_forms(language, number)[0]
        for other in (number + 1, number * 10, number // 10):
            if other != number and other < 10**6:
                assert numeral_forms(language, other)[0] != spelled


def test_a_number_is_written_as_the_target_language_does() -> None:
    def written(text, *languages):
        return localised(entities(text)[0], *languages)

    assert written("1,000.50", "en", "de") == "1.000,50"
    assert written("1.000,50", "de", "en") == "1,000.50"
    assert written("1,000.50", "en", None) == written("1,000.50", "en", "zh") == "1,000.50"
    for same in ("7:45", "5.12.2020", "1987", "555-0123"):
        assert written(same, "en", "de") == same
    assert written("9.30 a.m.", "en", "de") == "9.30"


def fixed(source, output) -> str | None:
    return corrected(source, output, missing(source, output, "de"), ENGLISH_GERMAN)


def test_one_wrong_number_is_replaced() -> None:
    assert fixed("There are 365 days.", "Es sind 35 Tage.") == "Es sind 365 Tage."
    assert fixed("It costs 1,250.50.", "Es kostet 12,5.") == "Es kostet 1.250,50."
    assert fixed("I am forty-two.", "Ich bin vierundvierzig.") == "Ich bin zweiundvierzig."
    assert fixed("Forty-two came.", "Vierundvierzig kamen.") == "Zweiundvierzig kamen."
    assert fixed("I won 42 games.", "Ich gewann vierzig Spiele.") == "Ich gewann 42 Spiele."
    assert fixed("six hundred and one dogs", "hundert und sechzig Hunde") == "601 Hunde"
    assert fixed("Call 555-0199.", "Ruf 55-0199 an.") == "Ruf 555-0199 an."
    assert fixed("Call 555-0199.", "Ruf 555-019 an.") == "Ruf 555-0199 an."


@pytest.mark.parametrize(
    ("model", "sentence"),
    [("en-de", "There are {} books on the shelf."), ("de-en", "Wir haben {} Minuten gewartet.")],
)
def test_the_bundled_models_keep_numbers_in_words(model, sentence) -> None:
    numbers = [13, 17, 21, 24, 36, 42, 48, 55, 67, 72, 80, 83, 99, 150, 365]
    texts = [sentence.format(numeral_forms(model[:2], number)[0]) for number in numbers]
    found = Translator.load(model).translate(texts)
    kept = [not missing(text, one, model[3:]) for text, one in zip(texts, found, strict=True)]
    assert sum(kept) >= len(numbers) - 1, found


def test_nothing_is_replaced_where_it_is_not_certain_what() -> None:
    assert fixed("Two dogs and 365 cats", "2 Hunde und Katzen") is None
    assert fixed("365 cats", "Katzen") is None
    assert fixed("365 cats", "3 Katzen, 5 Hunde") is None
    assert fixed("12 dogs and 365 cats", "3 Hunde, 5 Katzen") is None
    assert fixed("Call 555-1234 now.", "Ruf um 5 Uhr an.") is None
    assert fixed("Mail a@b.org 3 times.", "Schreib 5 mal.") is None


def test_a_text_without_words_is_its_own_translation() -> None:
    assert fixed("https://a.org/b (12:30)", "haha") == "https://a.org/b (12:30)"


def test_a_masked_source_takes_its_entities_back() -> None:
    source = "Mail a@b.org before 7:45 about the 365 things."
    attempts = masked(source, entities(source))
    assert attempts
    for attempt in attempts:
        assert not [one for one in entities(source) if one.text in attempt.text]
        assert attempt.filled(attempt.text, ENGLISH_GERMAN) == source
        first = attempt.entities[0][0]
        assert attempt.filled(attempt.text.replace(first, ""), ENGLISH_GERMAN) is None
        assert attempt.filled(f"{attempt.text} {first}", ENGLISH_GERMAN) is None
    assert masked("a@b.c " * 9, entities("a@b.c " * 9)) == []
