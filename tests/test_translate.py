"""The translator: any text, with both engines."""

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from models import model_directory, pairs

from transduce.engines.torch_engine import TorchEngine
from transduce.search import Search
from transduce.search.constraints import Never
from transduce.translate.options import DEFAULTS, TranslateOptions
from transduce.translate.translator import Translator


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return model_directory(tmp_path_factory.mktemp("translate") / "model")


@pytest.fixture(scope="module", params=["torch", "ctranslate2"])
def translator(request, directory):
    return Translator.load(directory, engine=request.param)


def test_a_list_of_texts_becomes_a_list_of_as_many_texts(translator) -> None:
    texts = [source for source, _ in pairs(20)]
    found = translator.translate(["", *texts, "  \n "])
    assert len(found) == 22
    assert found[0] == found[-1] == ""
    assert all(found[1:-1])


def test_a_translation_is_independent_of_the_batch(translator) -> None:
    texts = [source for source, _ in pairs(8)]
    alone = translator.translate(texts, TranslateOptions(batch_size=1))
    assert translator.translate(texts, TranslateOptions(batch_size=3)) == alone
    order = list(range(8))
    random.Random(1).shuffle(order)
    assert translator.translate([texts[i] for i in order]) == [alone[i] for i in order]
    assert translator.translate(texts * 2) == alone * 2
    assert [r.translation for r in translator.stream(iter(texts), chunk=5)] == alone


@pytest.mark.parametrize("n_best", [1, 3])
def test_scores_are_those_that_score_gives(translator, n_best) -> None:
    texts = [source for source, _ in pairs(15)]
    options = TranslateOptions(Search(n_best=n_best, penalty="none"), scores=True)
    for text, result in zip(texts, translator.results(texts, options), strict=True):
        assert len(result.alternatives) == n_best
        assert result.alternatives[0].translation == result.translation
        for one in result.alternatives:
            if len(one.token_scores) == len(one.tokens):
                continue  # cut at its limit
            assert one.score == pytest.approx(sum(one.token_scores), abs=1e-4)
            # the text may be encoded to other tokens than were found, so their ids are scored
            ids = [translator.tokenizer.target_vocabulary.index(token) for token in one.tokens]
            source = translator.tokenizer.encode(text)
            (log_probs,) = translator.engine.score([source], [ids])
            assert one.token_scores == pytest.approx(log_probs, abs=1e-4)


def test_a_text_that_is_too_long_is_translated_in_pieces_that_fit(translator) -> None:
    text = "  ".join(source for source, _ in pairs(12))
    whole = TranslateOptions(by_sentence=False)
    (plan,) = translator.plan([text], whole)
    assert "".join(unit.text + after for unit, after in plan.parts) == text
    assert max(len(unit.ids) for unit, _ in plan.parts) <= translator.max_length
    (result,) = translator.results([text], whole)
    alone = translator.results([unit.text for unit, _ in plan.parts], whole)
    assert result.translation == "  ".join(piece.translation for piece in alone)
    assert set(result.flags) == {"split", *(flag for piece in alone for flag in piece.flags)}


def test_by_sentence_equals_translating_each_sentence_alone(translator) -> None:
    sentences = [s for s, _ in pairs(40) if s.endswith((".", "?"))][:4]
    options = TranslateOptions(by_sentence=True)
    (result,) = translator.results(["  ".join(sentences)], options)
    assert result.translation == "  ".join(translator.translate(sentences))


def test_a_prefix_begins_the_translation(translator) -> None:
    texts = [source for source, _ in pairs(5)]
    for translation in translator.translate(texts, TranslateOptions(prefix="Der Hund")):
        assert translation.startswith("Der Hund")


def test_prefixes_and_alignments_load_the_network_once(directory, monkeypatch) -> None:
    opened = []
    start = TorchEngine.__init__
    monkeypatch.setattr(
        TorchEngine, "__init__", lambda self, *given: opened.append(1) or start(self, *given)
    )
    translator = Translator.load(directory, engine="ctranslate2")
    texts = [source for source, _ in pairs(3)]
    options = TranslateOptions(prefix="Der Hund", alignments=True)
    assert len({tuple(translator.translate(texts, options)) for _ in range(3)}) == 1
    assert opened == [1]


def test_calls_from_several_threads_give_what_each_gives_alone(translator) -> None:
    texts = [source for source, _ in pairs(24)]
    jobs = [(texts[i::6], replace(DEFAULTS, scores=i % 2 == 0)) for i in range(6)]
    jobs += [(texts[:4], TranslateOptions(Search(beam=2), prefix="Der"))] * 2
    alone = [translator.results(*job) for job in jobs]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda job: translator.results(*job), jobs * 2))
    assert [[r.translation for r in results] for results in together] == [
        [r.translation for r in results] for results in alone * 2
    ]


def test_what_a_constraint_excludes_is_never_written(translator) -> None:
    texts = [source for source, _ in pairs(4)]
    free = [set(translator.tokenizer.encode(t)) for t in translator.translate(texts)]
    banned = {text: Never(sorted(ids)) for text, ids in zip(texts[:2], free, strict=False)}

    def constraint(text):
        return (lambda _: banned[text]) if text in banned else None

    found = translator.results(texts, TranslateOptions(constraint=constraint))
    vocabulary = translator.tokenizer.target_vocabulary
    for text, result in zip(texts[:2], found, strict=False):
        assert not set(result.tokens) & {vocabulary[i] for i in banned[text].tokens}
    assert [r.translation for r in found[2:]] == translator.translate(texts[2:])


def test_alignments_refer_to_existing_words(translator) -> None:
    texts = [source for source, _ in pairs(10)]
    results = translator.results(texts, TranslateOptions(alignments=True))
    for text, result in zip(texts, results, strict=True):
        links = [tuple(map(int, link.split("-"))) for link in result.alignment.split()]
        assert all(0 <= i < len(text.split()) for i, _ in links)
        assert {j for _, j in links} <= set(range(len(result.translation.split()) + 1))
        assert links == sorted(links)


@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_a_source_as_long_as_learned_positions_has_a_translation(tmp_path, engine) -> None:
    model = model_directory(tmp_path / "model", positions="learned", max_positions=62, eos=-9.0)
    translator = Translator.load(model, engine=engine)
    (result,) = translator.results([" ".join(source for source, _ in pairs(8))])
    assert result.translation
