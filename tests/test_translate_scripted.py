"""The translator with scripted engines: units of text, and repair of bad translations."""

import pytest
from models import model_directory

from transduce.search import Hypothesis, Search
from transduce.tokenizer import load_tokenizer
from transduce.translate.join import Found
from transduce.translate.options import TranslateOptions
from transduce.translate.plan import Plan, Unit
from transduce.translate.traits import Traits
from transduce.translate.translator import Translator

LOOP = "der Hund der Hund der Hund der Hund der Hund der Hund der Hund"
PLACEHOLDERS = dict.fromkeys(("Tom", "Boston", "Paris", "Maria"), "x")


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return model_directory(tmp_path_factory.mktemp("translate") / "model")


class Script:
    """An engine with fixed outputs: `first`, and `repaired` for a search without repeats."""

    name, compute, device = "script", "float32", "cpu"

    def unsupported(self, request):
        return None

    def __init__(self, tokenizer, first, repaired):
        self.first, self.repaired = (
            [Hypothesis(tuple(tokenizer.encode(text)), -1.0, -1.0) for text in texts]
            for texts in (first, repaired)
        )
        self.searches = []

    def search(self, requests, batch_size=64):
        self.sources = [request.source for request in requests]
        self.searches.append(requests[0].search)
        return [self.repaired if r.search.no_repeat else self.first for r in requests]

    def score(self, sources, targets, batch_size=64):
        return [(-1.0,) * (len(target) + 1) for target in targets]


@pytest.fixture
def scripted(directory):
    """A translator whose engine always finds the same translation."""
    tokenizer = load_tokenizer(directory)
    return Translator(tokenizer, Script(tokenizer, ["der Hund sieht die Katze"], ["nein"]))


def test_a_text_that_fits_is_one_unit_and_a_blank_one_none(scripted) -> None:
    dog = "a dog sleeps"
    whole = Unit(dog, tuple(scripted.tokenizer.encode(dog)))
    texts = [dog, f"\t{dog}\x00", " \u200b"]
    assert scripted.plan(texts) == [
        Plan(dog, ((whole, ""),)),
        Plan(texts[1], ((whole, ""),)),
        Plan(texts[2]),
    ]


def test_the_prefix_is_that_of_the_first_unit(scripted) -> None:
    options = TranslateOptions(by_sentence=True, prefix="Der Hund")
    (plan,) = scripted.plan(["A dog sleeps.  A cat sleeps. A bird."], options)
    ids = tuple(scripted.tokenizer.encode("Der Hund"))
    assert [unit.prefix for unit, _ in plan.parts] == [ids, (), ()]
    assert [after for _, after in plan.parts] == ["  ", " ", ""]


def test_units_that_several_texts_share_are_searched_once(scripted) -> None:
    plans = scripted.plan(["the dog sees the cat", " the dog sees the cat", "the cat sleeps"])
    found = scripted.search(plans)
    assert scripted.engine.sources == [unit.ids for unit in found]
    assert [unit.text for unit in found] == ["the dog sees the cat", "the cat sleeps"]


def test_joined_units_are_one_translation_with_the_score_of_all_their_tokens(scripted) -> None:
    def found(text, log_prob, *flags, alignment=()):
        tokens = tuple(scripted.tokenizer.encode(text))
        return Found((Hypothesis(tokens, log_prob, 0.0),), (text,), flags, alignment)

    units = [Unit("two words", (5,)), Unit("one", (6,))]
    of = {
        units[0]: found("zwei Worte", -3.0, "cut", "copy", alignment=((0, 0), (1, 1))),
        units[1]: found("eins", -1.0, "copy", alignment=((0, 0),)),
    }
    plan = Plan("two words\n one", ((units[0], "\n "), (units[1], "")), split=True)
    unpenalised = TranslateOptions(Search(penalty="none"))
    (joined,) = scripted.join([plan], of, unpenalised)
    assert joined.translation == "zwei Worte  eins"
    assert joined.score == -4.0
    assert joined.flags == ("cut", "copy", "split")
    assert joined.alignment == "0-0 1-1 2-2"
    (averaged,) = scripted.join([plan], of, TranslateOptions(Search(penalty="average", alpha=1.0)))
    assert averaged.score == pytest.approx(-4.0 / (len(joined.tokens) + 2))
    assert scripted.join([Plan(" ")], of)[0].translation == ""


def test_a_model_trained_on_several_sentences_per_line_translates_lines_whole(directory) -> None:
    tokenizer = load_tokenizer(directory)
    text = "A dog sleeps. A cat sleeps."
    for per_line, units in ((1.0, 2), (1.2, 2), (1.3, 1), (4.0, 1)):
        traits = Traits(sentences_per_line=per_line)
        translator = Translator(tokenizer, Script(tokenizer, ["x"], ["y"]), traits=traits)
        (plan,) = translator.plan([text])
        assert (len(plan.parts), plan.split) == (units, False)
        for chosen, count in ((True, 2), (False, 1)):
            (plan,) = translator.plan([text], TranslateOptions(by_sentence=chosen))
            assert len(plan.parts) == count


@pytest.mark.parametrize(
    ("first", "flag"),
    [
        (LOOP, "repetition"),
        ("", "empty"),
        ("the old dog sees the big cat", "copy"),
        (" ".join(f"w{i}" for i in range(200)), "length"),
    ],
)
def test_a_bad_translation_is_searched_again_and_flagged(directory, first, flag) -> None:
    tokenizer = load_tokenizer(directory)
    engine = Script(tokenizer, [first], [first, "der alte Hund sieht die Katze"])
    (result,) = Translator(tokenizer, engine).results(["the old dog sees the big cat"])
    assert result.translation == "der alte Hund sieht die Katze"
    assert result.flags == (flag, "repaired")
    assert engine.searches[1].beam >= 8
    assert engine.searches[1].no_repeat


def test_a_translation_that_cannot_be_repaired_is_kept_and_flagged(directory) -> None:
    tokenizer = load_tokenizer(directory)
    engine = Script(tokenizer, [LOOP], [LOOP, LOOP])
    (result,) = Translator(tokenizer, engine).results(["the old dog sees the big cat"])
    assert result.translation == LOOP
    assert result.flags == ("repetition",)


def test_a_good_translation_is_searched_once(scripted) -> None:
    (result,) = scripted.results(["the dog sees the cat"])
    assert (result.flags, len(scripted.engine.searches)) == ((), 1)


class Copier(Script):
    """An engine that writes the source, with what it cannot write replaced."""

    def __init__(self, tokenizer, **replaced):
        self.tokenizer, self.replaced, self.searches = tokenizer, replaced, []

    def search(self, requests, batch_size=64):
        self.searches += [self.tokenizer.decode(request.source) for request in requests]
        return [[self._hypothesis(self.tokenizer.decode(r.source))] for r in requests]

    def _hypothesis(self, text):
        for known, written in self.replaced.items():
            text = text.replace(known.replace("_", "."), written)
        return Hypothesis(tuple(self.tokenizer.encode(text.replace("the", "der"))), -1.0, -1.0)


def copier(directory, **replaced):
    tokenizer = load_tokenizer(directory)
    return Translator(tokenizer, Copier(tokenizer, **replaced), traits=Traits("en", "de"))


def test_a_wrong_number_is_replaced_by_that_of_the_source(directory) -> None:
    translator = copier(directory, **{"365": "35"})
    (result,) = translator.results(["the dog has 365 cats"])
    assert result.translation == "der dog has 365 cats"
    assert result.flags == ("missing", "inserted")
    ids = [translator.tokenizer.target_vocabulary.index(token) for token in result.tokens]
    assert translator.tokenizer.decode(ids) == result.translation


def test_a_lost_address_is_inserted_where_a_placeholder_was(directory) -> None:
    translator = copier(directory, **{"a@b_org": "nothing"})
    (result,) = translator.results(["the dog sees a@b.org here"])
    assert result.translation == "der dog sees a@b.org here"
    assert result.flags == ("missing", "inserted")
    assert any("Tom" in source for source in translator.engine.searches)


def test_an_address_without_a_place_is_appended(directory) -> None:
    translator = copier(directory, **{"a@b_org": "nothing", **PLACEHOLDERS})
    (result,) = translator.results(["the dog sees a@b.org here"])
    assert result.translation == "der dog sees nothing here (a@b.org)"
    assert result.flags == ("missing", "inserted")


def test_a_number_without_a_place_is_flagged_and_changes_nothing(directory) -> None:
    numbers = dict.fromkeys(("365", "20", "100", "10", "60", "7"), "y")
    translator = copier(directory, **numbers)
    (result,) = translator.results(["the dog sees 365 cats"])
    assert (result.translation, result.flags) == ("der dog sees y cats", ("missing",))
    unknown = Translator(translator.tokenizer, copier(directory, **{"365": "35"}).engine)
    (result,) = unknown.results(["the dog sees 365 cats"])  # of languages that are not known
    assert (result.translation, result.flags) == ("der dog sees 35 cats", ("missing",))


def test_insertions_are_independent_of_the_batch(directory) -> None:
    translator = copier(directory, **{"a@b_org": "nothing", "365": "35"})
    texts = ["the dog sees a@b.org", "the 365 cats", "the dog", "the 365 dogs at 7:45"]
    alone = [translator.results([text])[0] for text in texts]
    assert translator.results(texts) == alone
    assert translator.results(texts[::-1]) == alone[::-1]


def test_another_language_and_a_low_score_are_flagged_but_not_searched_again(directory) -> None:
    tokenizer = load_tokenizer(directory)
    engine = Script(tokenizer, ["der Hund sieht die Katze"], ["nein"])
    translator = Translator(tokenizer, engine, traits=Traits("en", "de", low_score=-0.01))
    (result,) = translator.results(["Wo ist der Hund und warum?"])
    assert (result.flags, len(engine.searches)) == (("language", "low-score"), 1)
