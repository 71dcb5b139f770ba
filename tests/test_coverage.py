"""The coverage penalty: translations that leave a part of the source out are ranked lower."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from models import model_directory

from transduce.cli import main
from transduce.directory import sha256
from transduce.engines import Request
from transduce.errors import InputError
from transduce.search import PAPER, Hypothesis
from transduce.search.coverage import LEAST, coverage, rerank
from transduce.translate.translator import Translator

TEXTS = [
    "There are 365 days in a year.",
    "We met at the station yesterday.",
    "My sister has been living in Berlin for ten years.",
    "Could you tell me where the post office is?",
    "There is no milk in the fridge.",
    "He didn't say that he wasn't coming.",
]
BETA = 0.3
BUNDLED = Path(__file__).parent.parent / "transduce" / "bundled" / "en-de"


@pytest.fixture(scope="module", params=["torch", "ctranslate2"])
def translator(request):
    return Translator.load("en-de", engine=request.param)


def test_it_is_the_formula_of_wu_et_al() -> None:
    weights = np.array([[0.7, 0.2, 0.1], [0.6, 0.3, 0.0]], np.float32)
    assert coverage(weights) == pytest.approx(math.log(0.5) + math.log(0.1))
    assert coverage(np.eye(4, dtype=np.float32)) == 0
    nothing = np.zeros((0, 2), np.float32)
    assert coverage(nothing) == pytest.approx(2 * math.log(LEAST))


def test_more_attention_never_lowers_it_and_a_whole_token_is_enough() -> None:
    weights = np.random.default_rng().random((5, 4)).astype(np.float32)
    assert coverage(weights / 20) < coverage(weights / 10) < 0
    assert coverage(1 + weights) == coverage(2 + weights) == 0


def test_a_hypothesis_that_was_cut_stays_behind_those_that_ended() -> None:
    cut, short = Hypothesis((1, 2), -1.0, -1.0, ended=False), Hypothesis((1,), -2.0, -2.0)
    full, half = np.ones((2, 2), np.float32), np.zeros((1, 2), np.float32)
    found = rerank([cut, short], [full, half], replace(PAPER, coverage=1.0))
    assert [h.tokens for h in found] == [(1,), (1, 2)]


def test_the_candidates_of_the_beam_are_ranked_by_score_and_coverage(translator) -> None:
    sources = [tuple(translator.tokenizer.encode(text)) for text in TEXTS]
    plain = replace(PAPER, coverage=0.0, n_best=4)
    before, after = (
        translator.engine.search([Request(source, search) for source in sources])
        for search in (plain, replace(plain, coverage=BETA))
    )
    for source, some, found in zip(sources, before, after, strict=True):
        weights = translator.engine.alignment_weights([source] * 4, [h.tokens for h in some])
        scores = {
            h.tokens: h.score + BETA * coverage(w[1:]) for h, w in zip(some, weights, strict=True)
        }
        assert [h.tokens for h in found] == sorted(scores, key=lambda t: -scores[t])
        assert [h.score for h in found] == pytest.approx(sorted(scores.values())[::-1], abs=1e-3)
        assert {h.tokens: h.log_prob for h in found} == {h.tokens: h.log_prob for h in some}
    assert [h[0].tokens for h in before] != [h[0].tokens for h in after]


def test_nothing_is_left_out(translator) -> None:
    assert translator.translate(TEXTS[0], coverage=BETA) == "Es gibt 365 Tage in einem Jahr."


def test_a_translation_is_independent_of_n_best_and_of_the_other_sentences(translator) -> None:
    together = translator.translate(TEXTS, batch_size=4, coverage=BETA)
    assert [translator.translate(text, coverage=BETA) for text in TEXTS] == together
    several = translator.results(TEXTS, n_best=3, coverage=BETA)
    assert [result.translation for result in several] == together


@pytest.fixture
def covering(tmp_path) -> Path:
    """A copy of the bundled model with a coverage penalty of its own."""
    model = Path(shutil.copytree(BUNDLED, tmp_path / "model"))
    config = json.loads((model / "config.json").read_text("utf-8"))
    (model / "config.json").write_text(json.dumps({**config, "coverage": BETA}), "utf-8")
    sums = json.loads((model / "checksums.json").read_text("utf-8"))
    sums["config.json"] = sha256(model / "config.json")
    (model / "checksums.json").write_text(json.dumps(sums), "utf-8")
    return model


def test_a_model_may_have_a_penalty_of_its_own_unless_another_is_given(covering) -> None:
    bundled, model = Translator.load("en-de"), Translator.load(covering)
    assert model.resolved(PAPER).coverage == BETA
    assert model.translate(TEXTS) == bundled.translate(TEXTS, coverage=BETA)
    without = model.translate(TEXTS, coverage=0.0)
    assert without == bundled.translate(TEXTS, coverage=0.0) != model.translate(TEXTS)
    given = CliRunner().invoke(
        main, ["translate", *TEXTS, "--model", str(covering), "--coverage", "0"]
    )
    assert given.stdout.splitlines() == without


def test_attend_and_explain_read_the_translation_that_translate_prints(covering) -> None:
    run, model = CliRunner().invoke, ["--model", str(covering)]
    shown = run(main, ["attend", TEXTS[0], *model, "--kind", "cross", "--json"])
    assert shown.exit_code == 0, shown.output
    assert "Jahr" in shown.stdout
    assert "Jahr" in run(main, ["explain", TEXTS[0], *model, "--kind", "decoder"]).stdout


def test_the_record_and_the_card_of_an_evaluation_name_it(tmp_path) -> None:
    model, record = model_directory(tmp_path / "model"), tmp_path / "record.json"
    for name, some in (("src", TEXTS), ("ref", TEXTS[::-1])):
        (tmp_path / name).write_text("".join(f"{text}\n" for text in some), "utf-8")
    files = [str(tmp_path / name) for name in ("src", "ref")]
    options = ["--model", str(model), "--coverage", "0.25", "--record", str(record), "--card"]
    told = CliRunner().invoke(main, ["evaluate", *files, *options])
    assert told.exit_code == 0, told.output
    assert json.loads(record.read_text("utf-8"))["search"]["coverage"] == 0.25
    assert ", coverage 0.25:" in (model / "card.md").read_text("utf-8")


def test_mistakes_are_one_sentence(translator) -> None:
    with pytest.raises(InputError, match=r"coverage=-0\.1 must be at least 0"):
        translator.translate(TEXTS, coverage=-0.1)
    for words in (["--beam", "1"], ["--sample"]):
        told = CliRunner().invoke(main, ["translate", "a", "--coverage", "0.2", *words])
        assert told.exit_code == 2
        assert "--coverage chooses among the translations of a beam of 2 or more" in told.stderr
    told = CliRunner().invoke(main, ["translate", "a", "--coverage", "-1"])
    assert told.exit_code == 2
