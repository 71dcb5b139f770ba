"""The worked example: every printed number is the model's own, and follows from the one above."""

import json
import math
import re

import pytest
import torch
from click.testing import CliRunner
from models import model_directory, pairs

from transduce import explain
from transduce.cli import main
from transduce.engines.loader import open_reference
from transduce.errors import InputError
from transduce.tokenizer import load_tokenizer

TEXT = "The cat sat because it was tired"


@pytest.fixture(params=["encoder", "decoder", "cross"])
def worked(request) -> explain.Worked:
    example = explain.example(TEXT, "Die Katze saß , weil sie müde war", seed=3)
    return explain.work_out(example, request.param, layer=2, head=2)


def test_each_step_follows_from_the_one_before(worked) -> None:
    torch.testing.assert_close(worked.x @ worked.w_q + worked.b_q, worked.q)
    torch.testing.assert_close(worked.q @ worked.k.T, worked.dots)
    torch.testing.assert_close(worked.dots / math.sqrt(worked.q.shape[1]), worked.scores)
    masked = worked.scores.masked_fill(~worked.visible, -math.inf)
    torch.testing.assert_close(masked.softmax(-1), worked.weights)
    torch.testing.assert_close(worked.weights @ worked.v, worked.output)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_the_weights_are_those_of_the_models_own_pass(kind) -> None:
    example = explain.example(TEXT, "Die Katze saß", seed=3)
    maps = example.model.attention_maps(example.source_ids, example.target_ids)
    for layer in (1, 2):
        for head in (1, 2):
            worked = explain.work_out(example, kind, layer, head)
            torch.testing.assert_close(worked.weights, getattr(maps, kind)[layer - 1][0, head - 1])


def test_the_sum_by_hand_comes_out(worked) -> None:
    """The arithmetic as printed, done again from the printed digits."""
    page = explain.render(worked, None).replace("−", "-")
    found = re.search(r"q\([^)]*\) · k\([^)]*\) = (.*?) = (-?[\d.]+)\n", page, re.DOTALL)
    assert found
    products = [re.findall(r"-?[\d.]+", term) for term in found[1].split(" + ")]
    total = sum(float(a) * float(b) for a, b in products)
    assert total == pytest.approx(float(found[2]), abs=0.01)


def test_every_token_and_every_step_is_on_the_page(worked) -> None:
    page = explain.render(worked, None)
    for step in range(1, 11):
        assert f"\n{step}. " in page
    for token in worked.queries + worked.keys:
        assert token in page
    assert max(len(line) for line in page.split("\n")) <= explain.PAGE


def test_the_decoder_page_shows_what_the_mask_hides() -> None:
    example = explain.example("a b", "c d e", seed=0)
    page = explain.render(explain.work_out(example, "decoder", 1, 1), None)
    assert page.count("−∞") == 6 + 1  # the upper triangle of 4 × 4, and the word in the title


def test_json_holds_the_same_numbers() -> None:
    result = CliRunner().invoke(main, ["explain", TEXT, "--seed", "0", "--json"])
    worked = explain.work_out(explain.example(TEXT, None, 0), "encoder", 1, 1)
    torch.testing.assert_close(torch.tensor(json.loads(result.stdout)["weights"]), worked.weights)


def test_a_seed_repeats_the_example_and_another_changes_it() -> None:
    pages = [CliRunner().invoke(main, ["explain", TEXT, "--seed", s]).stdout for s in "001"]
    assert pages[0] == pages[1] != pages[2]


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["explain", " ", "--seed", "0"], "there is no word to explain: give a sentence"),
        (
            ["explain", "a b", "--seed", "0", "--model", "m"],
            "--seed makes a model of its own: leave out --model, or --seed",
        ),
        (["explain", "a b", "--model", "nowhere"], "no model directory nowhere"),
        (
            ["explain", "a b", "--seed", "0", "--layer", "3"],
            "--layer 3: this model has layers 1 to 2",
        ),
        (["explain", "a b", "--seed", "0", "--head", "9"], "--head 9: this model has heads 1 to 2"),
        (
            ["explain", "a b", "--seed", "0", "--from", "c"],
            "--from c: not one of the tokens a b </s>",
        ),
    ],
)
def test_what_is_not_there_is_refused(args, sentence) -> None:
    result = CliRunner().invoke(main, args)
    assert result.exit_code == 2
    assert result.stderr == f"transduce: {sentence}\n"


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return model_directory(tmp_path_factory.mktemp("explain") / "model")


def test_a_trained_model_reads_its_own_translation(directory) -> None:
    text = pairs(1)[0][0]
    example = explain.of_model(directory, text, None)
    tokens, engine = load_tokenizer(directory), open_reference(directory)
    ((found, *_),) = engine.search([tokens.encode(text)])
    assert example.target_ids[0, 1:].tolist() == list(found.tokens)
    maps = example.model.attention_maps(example.source_ids, example.target_ids)
    worked = explain.work_out(example, "cross", 2, 3)
    torch.testing.assert_close(worked.weights, maps.cross[1][0, 2])


def test_a_word_cut_into_tokens_is_shown_with_hyphens(directory) -> None:
    example = explain.of_model(directory, "exqz runs", "exqz")
    word = example.source[: example.source.index("-z") + 1]
    assert "".join(piece.removeprefix("-") for piece in word).lstrip("▁") == "exqz"
    assert all(piece.startswith("-") for piece in word[1:])


def test_the_bars_are_the_largest_weights_of_the_row(worked) -> None:
    page = explain.render(worked, worked.queries[2])
    bars = page[page.index("\n10. ") :]
    shown = [float(n) for n in re.findall(r"([\d.]+) %", bars)]
    wanted = (100 * worked.weights[2]).sort(descending=True).values[: explain.MOST_SEEN]
    assert shown == pytest.approx(wanted.tolist(), abs=0.051)


def test_the_library_raises_what_the_command_line_prints() -> None:
    with pytest.raises(InputError, match="there is no word"):
        explain.example("", None, 0)
