"""`transduce paper why`: each answer's claim holds in the numbers that were computed."""

import json
import math
import re
from functools import cache

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from layout import svg_texts

from transduce.charts import Bars, Heat, Lines
from transduce.cli import main
from transduce.figures.charts import draw_charts
from transduce.paper import why
from transduce.paper.why.positions import rotation
from transduce.paper.why.smoothing import entropy
from transduce.positions import sinusoids


@cache
def answered(what: str) -> why.Answer:
    return why.answer(what, quick=True, seed=3)


def test_scores_have_variance_d_k_and_only_scaled_ones_keep_entropy_and_gradient() -> None:
    numbers = answered("scaling").numbers
    for d_k, one in numbers["unscaled"].items():
        assert one["variance"] == pytest.approx(d_k, rel=0.1)
        assert numbers["scaled"][d_k]["variance"] == pytest.approx(1, rel=0.1)
        assert numbers["scaled"][d_k]["entropy"] == pytest.approx(4.35, abs=0.1)
    entropies = [one["entropy"] for one in numbers["unscaled"].values()]
    assert entropies == sorted(entropies, reverse=True)
    assert numbers["unscaled"][1024]["gradient"] < numbers["scaled"][1024]["gradient"] / 2


def test_the_gradient_is_the_norm_of_the_jacobian_of_the_softmax() -> None:
    from transduce.paper.why.scaling import KEYS, measure

    random = torch.Generator().manual_seed(2)
    q, k = torch.randn(1, 1, 8, generator=random), torch.randn(1, KEYS, 8, generator=random)
    scores = (q @ k.transpose(1, 2))[0, 0]
    jacobian = torch.autograd.functional.jacobian(lambda x: x.softmax(-1), scores)
    found = measure(8, scaled=False, queries=1, seed=2)
    assert found["gradient"] == pytest.approx(float(jacobian.norm()), rel=1e-4)


def test_scaling_makes_the_token_larger_than_its_position() -> None:
    numbers = answered("embedding").numbers
    start, trained = numbers["untrained (base)"], numbers["trained (en-de)"]
    assert start["position"] == pytest.approx(math.sqrt(512 / 2))
    assert start["embedding"] == pytest.approx(1, rel=0.02)
    assert start["scaled share"] == pytest.approx(2 / 3, abs=0.01)
    assert start["unscaled share"] < 0.01 < 0.5 < trained["scaled share"]
    assert numbers["logits"]["E, 1/√d_model"] == pytest.approx(1, rel=0.1)
    assert numbers["logits"]["E, 1"] == pytest.approx(math.sqrt(512), rel=0.1)


def test_a_rotation_by_k_moves_every_position_by_k() -> None:
    for d_model, k in ((6, 3), (64, 17)):
        waves = sinusoids(0, 400, d_model)
        np.testing.assert_allclose(waves[:300] @ rotation(k, d_model), waves[k : 300 + k])
        np.testing.assert_allclose(
            rotation(k, d_model) @ rotation(k, d_model).T, np.eye(d_model), atol=1e-12
        )


def test_similarity_depends_on_the_distance_alone_and_longer_sentences_are_harder() -> None:
    numbers = answered("positions").numbers
    assert max(numbers["rotation_error"].values()) < 1e-12
    assert numbers["similarity_spread"] < 1e-12
    assert numbers["similarity"][0] == pytest.approx(1)
    assert max(numbers["similarity"][1:]) < 1
    for by_length in numbers["perplexity"].values():
        inside, *_, outside = by_length.values()
        assert inside < outside


def test_layer_norm_is_batch_invariant_and_batch_norm_is_not() -> None:
    changes = answered("norm").numbers["changes"]
    assert max(changes["LayerNorm"].values()) < 1e-6
    assert min(changes["BatchNorm"].values()) > 0.05


def test_gradients_grow_with_depth_only_in_post_norm() -> None:
    gradients = answered("norm").numbers["gradients"]
    assert gradients["post"] == sorted(gradients["post"])
    assert gradients["post"][-1] > 3 * gradients["post"][0]
    assert gradients["pre"][-1] < gradients["pre"][0]


def test_a_correct_mask_hides_the_future_and_a_leaking_one_fails_when_decoding() -> None:
    numbers = answered("masks").numbers
    correct, leaking = (torch.tensor(numbers["reach"][name]) for name in ("correct", "leaking"))
    seen = torch.ones_like(correct, dtype=torch.bool)
    assert torch.equal(correct > 0, seen.tril())
    assert torch.equal(leaking > 0, seen.tril(1))
    assert numbers["leaking"]["training"] > 0.98
    assert numbers["leaking"]["decoding"] < numbers["correct"]["decoding"] - 0.2


def test_smoothing_makes_the_model_less_sure_and_its_perplexity_worse() -> None:
    numbers = answered("smoothing").numbers
    plain, smooth = numbers["results"]["0"], numbers["results"]["0.1"]
    assert smooth["confidence"] < plain["confidence"]
    assert smooth["perplexity"] > plain["perplexity"]
    assert smooth["smoothed"] < plain["smoothed"]
    assert math.log(smooth["smoothed"]) > numbers["floor"]


def test_the_least_smoothed_loss_is_the_entropy_of_its_targets() -> None:
    for epsilon, size in ((0.1, 37_000), (0.1, 8), (0.3, 50)):
        q = torch.full((size,), epsilon / (size - 1), dtype=torch.float64)
        q[0] = 1 - epsilon
        wanted = torch.distributions.Categorical(q).entropy()
        assert entropy(epsilon, size) == pytest.approx(float(wanted))


def test_one_head_cannot_do_two_look_ups_and_several_of_the_same_size_can() -> None:
    numbers = answered("heads").numbers
    assert numbers["same_size"]
    one, two, *more = (one["both"] for one in numbers["accuracy"].values())
    assert one < 0.5
    assert two > one + 0.2
    assert max(more) > 0.95


def test_training_with_warm_up_is_ahead_of_training_without() -> None:
    for losses in answered("warmup").numbers["losses"].values():
        assert losses["with"] < losses["without"] - 0.1


@pytest.mark.parametrize("what", why.QUESTIONS)
def test_an_answer_is_three_sentences_with_numbers_a_table_and_a_picture(
    what, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    found = answered(what)
    page = why.render(what, found)
    assert page.startswith(why.QUESTIONS[what].text)
    assert max(map(len, page.split("\n"))) <= 80
    for sentence in found.sentences:
        assert sentence.endswith(".")
        assert " ".join(sentence.split()) in " ".join(page.split())
    assert any(char.isdigit() for char in "".join(found.sentences))
    values = json.loads(why.to_json(what, found))
    assert values["what"] == what
    draw_charts(why.QUESTIONS[what].text, found.charts, tmp_path / "f.svg")
    texts = svg_texts(tmp_path / "f.svg")
    assert why.QUESTIONS[what].text in texts
    assert {chart.title for chart in found.charts} <= set(texts)


def test_the_charts_have_the_numbers_they_are_given(tmp_path) -> None:
    from transduce.charts import Line

    charts = [
        Bars("bars", "y", ["one", "two"], {"a": [1.0, 2.5], "b": [3.0, 4.0]}),
        Lines("lines", "x", "y", [Line("up", [1, 2, 4], [1.0, 10.0, 100.0])], True, True, True),
        Heat("heat", "x", "y", np.eye(2), ["r1", "r2"], ["c1", "c2"]),
    ]
    draw_charts("Title", charts, tmp_path / "f.svg")
    texts = svg_texts(tmp_path / "f.svg")
    assert {"Title", "1.0", "2.5", "3.0", "4.0", "one", "two", "a", "b", "up"} <= set(texts)
    assert {"r1", "r2", "c1", "c2", "bars", "lines", "heat"} <= set(texts)


def test_the_list_has_every_question(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    printed = CliRunner().invoke(main, ["paper", "why"]).stdout
    assert max(map(len, printed.split("\n"))) <= 80
    words = " ".join(printed.split())
    for name, question in why.QUESTIONS.items():
        assert f" {name} §{question.section}" in words


def test_the_help_has_the_time_of_every_question() -> None:
    page = " ".join(CliRunner().invoke(main, ["paper", "why", "--help"]).stdout.split())
    for name, question in why.QUESTIONS.items():
        assert re.search(rf"\b{name}\b[^()]*\({question.seconds}", page), name


def test_the_command_prints_and_draws_the_answer(tmp_path) -> None:
    file = tmp_path / "f.png"
    command = ["paper", "why", "scaling", "--quick", "--seed", "3", "--output", str(file)]
    done = CliRunner().invoke(main, command, catch_exceptions=False)
    assert done.stdout.startswith("Why are scores divided by √d_k? (§3.2.1)\n")
    assert file.read_bytes().startswith(b"\x89PNG")
    numbers = json.loads(CliRunner().invoke(main, [*command, "--json"]).stdout)
    assert numbers["unscaled"]["4"] == answered("scaling").numbers["unscaled"][4]


def test_a_question_that_does_not_exist_is_an_error() -> None:
    done = CliRunner().invoke(main, ["paper", "why", "adam"])
    assert done.exit_code == 2
    assert done.stderr == (
        "transduce: paper why adam: the questions are scaling, embedding, positions, norm, masks, "
        "smoothing, heads, warmup\n"
    )
