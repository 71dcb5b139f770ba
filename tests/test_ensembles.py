"""Sampled translations and ensembles."""

import pytest
import torch
from click.testing import CliRunner
from models import model_directory, pairs

from transduce.cli import main
from transduce.directory import ModelDirectory
from transduce.engines.ensemble import Ensemble, mean
from transduce.errors import ModelError
from transduce.search import GREEDY, Sampling, Search
from transduce.translate.options import TranslateOptions
from transduce.translate.translator import Translator

SAMPLED = TranslateOptions(Search(beam=1, sampling=Sampling(1.0), seed=7))


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return [model_directory(folder / f"model{seed}", seed=seed) for seed in (0, 1)]


@pytest.fixture(scope="module", params=["torch", "ctranslate2"])
def translator(request, models):
    return Translator.load(models[0], engine=request.param)


TEXTS = [source for source, _ in pairs(6)]


def test_a_sample_is_independent_of_the_other_sentences(translator) -> None:
    together = translator.translate(TEXTS, SAMPLED)
    assert [translator.translate([text], SAMPLED)[0] for text in TEXTS] == together
    assert translator.translate(TEXTS[::-1], SAMPLED)[::-1] == together


def test_another_seed_gives_another_sample(translator) -> None:
    other = TranslateOptions(Search(beam=1, sampling=Sampling(1.0), seed=8))
    assert translator.translate(TEXTS, other) != translator.translate(TEXTS, SAMPLED)


def test_n_best_are_independent_samples_and_the_first_is_the_only_one_of_one(translator) -> None:
    three = TranslateOptions(Search(beam=1, sampling=Sampling(1.0), seed=7, n_best=3))
    found = translator.results(TEXTS[:2], three)
    assert [result.translation for result in found] == translator.translate(TEXTS[:2], SAMPLED)
    assert all(len({a.translation for a in result.alternatives}) == 3 for result in found)


def test_a_temperature_of_0_is_greedy_search(models) -> None:
    torch_translator = Translator.load(models[0], engine="torch")
    cold = TranslateOptions(Search(beam=1, sampling=Sampling(0.0)))
    flagged = [r.flags for r in torch_translator.results(TEXTS, TranslateOptions(GREEDY))]
    found = torch_translator.translate(TEXTS, cold)
    wanted = torch_translator.translate(TEXTS, TranslateOptions(GREEDY))
    assert [f for f, flags in zip(found, flagged, strict=True) if not flags] == [
        w for w, flags in zip(wanted, flagged, strict=True) if not flags
    ]


def test_an_ensemble_of_a_model_with_itself_is_the_model(models) -> None:
    alone = Translator.load(models[0], engine="torch")
    both = Translator.ensemble([models[0], models[0]])
    assert both.translate(TEXTS) == alone.translate(TEXTS)
    for one, two in zip(alone.score(TEXTS, TEXTS), both.score(TEXTS, TEXTS), strict=True):
        assert one == pytest.approx(two, abs=1e-4)


def test_the_probabilities_of_an_ensemble_are_the_mean(models) -> None:
    networks = [ModelDirectory.open(model).network().double() for model in models]
    source, target = torch.randint(4, 300, (2, 5)), torch.randint(4, 300, (2, 4))
    wanted = sum(network(source, target).softmax(-1) for network in networks) / 2
    ensemble = Ensemble(networks)
    torch.testing.assert_close(ensemble(source, target).exp(), wanted)
    state = ensemble.start(source)
    for t in range(4):
        scores, state = ensemble.step(target[:, t], state)
        torch.testing.assert_close(scores.exp(), wanted[:, t])


def test_the_mean_of_probabilities_that_underflow_is_finite() -> None:
    far = torch.tensor([[0.0, 1000.0, -1000.0]])
    assert torch.isfinite(mean([far, -far])).all()


def test_different_vocabularies_are_an_error(models) -> None:
    with pytest.raises(ModelError, match="have different vocabularies: the models of an ensemble"):
        Translator.ensemble([models[0], "en-de"])


def test_the_command_line_takes_several_models(models) -> None:
    words = ["translate", TEXTS[0], "--model", str(models[0]), "--model", str(models[1])]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    assert done.stdout == Translator.ensemble(models).translate([TEXTS[0]])[0] + "\n"
    for more, sentence in {
        ("--engine", "ctranslate2"): "an ensemble is decoded by torch",
        ("--temperature", "0.5"): "need --sample: add it",
    }.items():
        refused = CliRunner().invoke(main, [*words, *more])
        assert refused.exit_code == 2
        assert sentence in refused.stderr
