"""Minimum risk training: its gradient, its effect, and what it refuses."""

import copy

import pytest
import torch
from click.testing import CliRunner
from sacrebleu.metrics.bleu import BLEU
from safetensors.torch import load_file
from training import train, write_corpus

from transduce.batches import collate
from transduce.cli import main
from transduce.model import Transformer
from transduce.search import Search, length_penalty
from transduce.train.prepare import reopen
from transduce.train.risk import LIKELIHOOD, Risk, RiskObjective
from transduce.train.run import Run, read_config

CANDIDATES = 4


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("risk")
    train(folder / "run", write_corpus(folder), "train.steps=1", "model.p_drop=0.0")
    run = Run(folder / "run")
    data, config = reopen(run), read_config(run)
    torch.manual_seed(1)
    network = Transformer(config.model).double()
    batch = collate(data.train, torch.arange(6).numpy())
    adam = torch.optim.Adam(network.parameters(), lr=0.003)
    for _ in range(40):  # so that some candidates are half right
        adam.zero_grad()
        network.loss(batch, 0.1).smoothed.backward()
        adam.step()
    return network, data, batch


def test_the_gradient_is_that_of_the_expected_cost(prepared) -> None:
    """The risk written out, with autograd, from the network's own scores of the candidates."""
    network, data, batch = prepared
    found = Risk(network, data.tokenizer, CANDIDATES).candidates(batch)
    smoothed, nll = RiskObjective(network, 0.1)(found)
    parameters = list(network.parameters())
    ours = torch.autograd.grad(smoothed, parameters, allow_unused=True)

    bleu = BLEU(effective_order=True, smooth_method="add-k", smooth_value=1)
    expected, plain = torch.zeros(()).double(), torch.zeros(()).double()
    for i, reference in enumerate(ids_of(batch.target_out)):
        rows = ids_of(found.target_out[i * (CANDIDATES + 1) : (i + 1) * (CANDIDATES + 1)])
        assert rows[-1] == reference
        source = batch.source[i : i + 1]
        scores, costs = [], []
        for row in rows[:-1]:
            log_p = log_prob(network, source, row)
            scores.append(log_p / length_penalty(len(row) + 1, Search()))
            texts = data.tokenizer.decode(row), data.tokenizer.decode(reference)
            costs.append(1 - bleu.sentence_score(texts[0], [texts[1]]).score / 100)
        q = torch.stack(scores).softmax(0)
        expected = expected + (len(reference) + 1) * (q * torch.tensor(costs)).sum()
        plain = plain - log_prob(network, source, reference)
    torch.testing.assert_close(nll, plain)
    assert found.weights.abs().max() > 0.01
    assert found.risk == pytest.approx(expected.item())
    likelihood = network.loss(batch, 0.1).smoothed
    wanted = torch.autograd.grad(expected + LIKELIHOOD * likelihood, parameters, allow_unused=True)
    for a, b in zip(ours, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


def ids_of(rows) -> list[list[int]]:
    return [row[: row.index(2)] for row in rows.tolist()]


def log_prob(network, source, ids):
    outputs = torch.tensor([[*ids, 2]])
    logits = network(source, torch.tensor([[1, *ids]]))
    return logits.log_softmax(-1).gather(2, outputs[..., None]).sum()


def test_training_lowers_the_expected_cost(prepared) -> None:
    network, data, batch = prepared
    network = copy.deepcopy(network)
    risk = Risk(network, data.tokenizer, CANDIDATES)
    adam = torch.optim.Adam(network.parameters(), lr=0.001)
    before = risk.candidates(batch).risk
    for _ in range(15):
        adam.zero_grad()
        RiskObjective(network, 0.1)(risk.candidates(batch))[0].backward()
        adam.step()
    assert risk.candidates(batch).risk < 0.8 * before


def test_candidates_leave_the_network_as_it_was(prepared) -> None:
    network, data, batch = prepared
    network.train()
    Risk(network, data.tokenizer, CANDIDATES).candidates(batch)
    assert network.training


def test_a_sentence_with_few_candidates_is_filled_up_without_weight(prepared, monkeypatch) -> None:
    network, data, batch = prepared
    risk = Risk(network, data.tokenizer, CANDIDATES)
    monkeypatch.setattr(risk, "search", Search(beam=CANDIDATES, n_best=1))
    found = risk.candidates(batch)
    assert found.weights.shape == (6, CANDIDATES)
    assert found.weights.abs().sum() == 0  # a single candidate has the expected cost
    assert torch.isfinite(RiskObjective(network, 0.1)(found)[0])


def test_a_run_with_risk_stops_and_resumes_exactly(tmp_path) -> None:
    corpus = write_corpus(tmp_path)
    settings = ["train.risk=3", "train.checkpoint_steps=2", "train.tokens_per_batch=64"]
    settings += ["train.bleu_sentences=0", "train.validate_steps=4", "train.average=1"]
    train(tmp_path / "whole", corpus, *settings, "train.steps=4")
    train(tmp_path / "parts", corpus, *settings, "train.steps=2")
    train(tmp_path / "parts", corpus, *settings, "train.steps=4")
    weights = [load_file(tmp_path / run / "model/model.safetensors") for run in ("whole", "parts")]
    for name, weight in weights[0].items():
        assert torch.equal(weight, weights[1][name])
    card = (tmp_path / "whole" / "model" / "card.md").read_text("utf-8")
    assert "- minimum risk training, 3 candidates per sentence\n" in card


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--task", "lm", "--preset", "tiny-lm"],
            "train.risk = 4 is for translation with a Transformer: leave it out",
        ),
        (
            ["--set", "model.kind=recurrent"],
            "train.risk = 4 is for translation with a Transformer: leave it out",
        ),
        (
            ["--set", "train.consistency=5"],
            "train.risk and train.consistency exclude each other: set one to 0",
        ),
        (
            ["--set", "train.risk=1"],
            "train.risk = 1: candidates are compared, give 2 or more, or 0",
        ),
    ],
)
def test_what_cannot_be_trained_by_risk_is_refused(tmp_path, words, message) -> None:
    text = tmp_path / "train.tsv"
    text.write_text("a dog\tein Hund\n", "utf-8")
    run = ["train", str(tmp_path / "run"), "--train", str(text), "--set", "train.risk=4"]
    result = CliRunner().invoke(main, [*run, *words])
    assert (result.exit_code, result.stderr) == (2, f"transduce: {message}\n")
    assert not (tmp_path / "run").exists()
