"""Translations that are chosen by a model of the reverse direction too."""

import json

import pytest
from click.testing import CliRunner
from models import model_directory

from transduce.cli import main
from transduce.errors import InputError
from transduce.search import Hypothesis
from transduce.translate.reranking import WEIGHT, rerank
from transduce.translate.translator import Translator

TEXTS = [
    "I want to try doing something different.",
    "We met at the station yesterday.",
    "I would like a cup of coffee, please.",
    "My sister has been living in Berlin for ten years.",
    "It was so cold that we stayed at home.",
    "Could you tell me where the post office is?",
    "She didn't want to talk about it any more.",
    "If it rains tomorrow, we won't go.",
]


@pytest.fixture(scope="module", params=["torch", "ctranslate2"])
def translators(request):
    """The bundled model, the reverse one, and the first reranked by the second."""
    alone, reverse = (Translator.load(name, engine=request.param) for name in ("en-de", "de-en"))
    return alone, reverse, Translator.load("en-de", engine=request.param, reverse="de-en")


def hypotheses(**scores):
    return [Hypothesis((i,), score, score) for i, score in enumerate(scores.values())]


@pytest.mark.parametrize(
    ("reverse", "order"),
    [
        ({"a": (-1.0,), "b": (-1.0,)}, [0, 1]),
        ({"a": (-5.0, -4.0), "b": (-0.5, -0.4)}, [1, 0]),
        ({"a": (-1.8,), "b": (-1.0,)}, [1, 0]),
        ({"a": (-1.7,), "b": (-1.0,)}, [0, 1]),
        ({"a": (-99.0,), "b": None}, [0, 1]),  # too long to be scored
    ],
)
def test_the_weighted_log_probability_of_the_source_is_added_to_the_score(reverse, order) -> None:
    assert WEIGHT == 1 / 8
    found = hypotheses(a=-1.0, b=-1.095)
    (ranked,) = rerank(
        ["source"], [found], [["a", "b"]], lambda texts, *_: [reverse[text] for text in texts], 64
    )
    assert [h.tokens[0] for h in ranked] == order


def test_the_best_candidate_of_the_beam_by_both_models_is_the_translation(translators) -> None:
    alone, reverse, both = translators
    every, reranked = (one.results(TEXTS, beam=4, n_best=4) for one in (alone, both))
    for candidates, found in zip(every, reranked, strict=True):
        assert not candidates.flags + found.flags
        texts = [one.translation for one in candidates.alternatives]
        logs = [sum(scores) for scores in reverse.score(texts, [found.text] * len(texts))]
        scores = [one.score for one in candidates.alternatives]
        both_scores = [s + WEIGHT * log for s, log in zip(scores, logs, strict=True)]
        ranked = sorted(zip(both_scores, texts, strict=True), reverse=True)
        assert [one.translation for one in found.alternatives] == [text for _, text in ranked]
    assert [r.translation for r in every] != [r.translation for r in reranked]


def test_nothing_is_left_out(translators) -> None:
    assert translators[2].translate(TEXTS[0]) == "Ich will versuchen, etwas anderes zu tun."


def test_one_translation_is_the_first_of_the_n_best(translators) -> None:
    both = translators[2]
    several = both.results(TEXTS, beam=4, n_best=3)
    assert [r.translation for r in several] == both.translate(TEXTS)
    assert all(len(r.alternatives) <= 3 for r in several)


def test_a_translation_is_independent_of_the_other_sentences(translators) -> None:
    both = translators[2]
    together = both.translate(TEXTS, batch_size=3)
    assert [both.translate(text) for text in TEXTS] == together


def test_the_command_line_and_the_record_of_an_evaluation(tmp_path) -> None:
    models = [model_directory(tmp_path / name, seed=seed) for seed, name in enumerate("ab")]
    model, reverse = map(str, models)
    run = CliRunner().invoke
    told = run(main, ["translate", *TEXTS, "--model", model, "--reverse", reverse])
    assert told.exit_code == 0, told.output
    both = Translator.load(model, reverse=reverse)
    assert told.stdout.splitlines() == both.translate(TEXTS)
    for name, some in (("src", TEXTS), ("ref", TEXTS[::-1])):
        (tmp_path / name).write_text("".join(f"{text}\n" for text in some), "utf-8")
    files = [str(tmp_path / name) for name in ("src", "ref")]
    record = tmp_path / "r.json"
    more = ["--model", model, "--reverse", reverse, "--record", str(record), "--card"]
    told = run(main, ["evaluate", *files, *more])
    assert told.exit_code == 0, told.output
    assert json.loads(record.read_text("utf-8"))["search"]["reverse"] == "b"
    card = (models[0] / "card.md").read_text("utf-8")
    assert ", chosen by b too:" in card


def test_mistakes_are_one_sentence() -> None:
    both = Translator.load("en-de", reverse="de-en")
    with pytest.raises(InputError, match="among the candidates of a beam"):
        both.translate(TEXTS, beam=1)
    with pytest.raises(InputError, match="must translate de-en, but it translates en-de"):
        Translator.load("en-de", reverse="en-de")
    for words in (["--beam", "1"], ["--sample"]):
        told = CliRunner().invoke(main, ["translate", "a", "--reverse", "de-en", *words])
        assert told.exit_code == 2
        assert "--reverse chooses among the translations of a beam of 2 or more" in told.stderr
