"""The worked example: every printed number is the model's own, and follows from the one above."""

import json
import math
import re
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from arithmetic import close, value_of
from click.testing import CliRunner
from models import model_directory, pairs, search

from transduce import explain
from transduce.cli import main
from transduce.directory import ModelDirectory
from transduce.engines.router import open_engine
from transduce.errors import InputError
from transduce.explain.page import MOST_BARS, WIDEST_PAGE
from transduce.model import Transformer
from transduce.tokenizer import load_tokenizer

TEXT = "The cat sat because it was tired"
TARGET = "Die Katze saß , weil sie müde war"
VARIANTS = {
    "scaled": {},
    "unscaled": {"attention": "unscaled"},
    "additive": {"attention": "additive"},
    "restricted": {"neighbourhood": 3},
    "pre-norm": {"norm": "pre"},
    "without biases": {"attention_bias": False},
    "wide": {"d_model": 96, "n_heads": 3},
    "large scores": {"attention": "unscaled"},
}


def variant_of(name: str) -> explain.Example:
    """The example, with a network of another kind."""
    example = explain.example(TEXT, TARGET, seed=3)
    model = Transformer(example.model.config.replace(**VARIANTS[name])).eval()
    if name == "large scores":
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(6)
    return replace(example, model=model)


@pytest.fixture(params=["encoder", "decoder", "cross"])
def kind(request) -> str:
    return str(request.param)


@pytest.fixture(params=VARIANTS)
def variant(request) -> explain.Example:
    torch.manual_seed(3)
    return variant_of(request.param)


@pytest.fixture
def worked(kind) -> explain.Worked:
    return explain.work_out(explain.example(TEXT, TARGET, seed=3), kind, layer=2, head=2)


def test_each_step_follows_from_the_one_before(variant, kind) -> None:
    worked = explain.work_out(variant, kind, layer=2, head=2)
    bias = 0 if worked.b_q is None else worked.b_q
    torch.testing.assert_close(worked.x @ worked.w_q + bias, worked.q)
    if worked.attention == "additive":
        assert worked.dots is None
        hidden = torch.tanh(worked.q[:, None] + worked.k)
        torch.testing.assert_close(hidden @ worked.w, worked.scores)
    else:
        torch.testing.assert_close(worked.q @ worked.k.T, worked.dots)
        root = math.sqrt(worked.q.shape[1]) if worked.attention == "scaled" else 1
        torch.testing.assert_close(worked.dots / root, worked.scores)
    masked = worked.scores.masked_fill(~worked.visible, -math.inf)
    torch.testing.assert_close(masked.softmax(-1), worked.weights)
    torch.testing.assert_close(worked.weights @ worked.v, worked.output)


def test_the_weights_are_those_of_the_models_own_pass(variant, kind) -> None:
    maps = variant.model.attention_maps(variant.source_ids, variant.target_ids)
    for layer in (1, 2):
        for head in (1, 2):
            worked = explain.work_out(variant, kind, layer, head)
            torch.testing.assert_close(worked.weights, getattr(maps, kind)[layer - 1][0, head - 1])


def sums_of(page: str) -> list[list[str]]:
    """The equal parts of each line of arithmetic, without those in letters."""
    section = page[page.index("\n9. ") : page.index("\n\n10. ")]
    lines = re.sub(r"\n {8}", " ", section).split("\n   ")[1:]
    numeric = re.compile(r"(?:exp|tanh|√|[\d.+−×/() ]|more terms?)+")
    return [[part for part in line.split(" = ") if numeric.fullmatch(part)] for line in lines]


def test_every_line_of_arithmetic_comes_out_from_its_printed_numbers(variant, kind) -> None:
    for head in (1, 2):
        worked = explain.work_out(variant, kind, layer=2, head=head)
        for word in worked.queries[:: len(worked.queries) // 2]:
            lines = sums_of(explain.render(worked, word))
            assert len(lines) == (5 if worked.attention == "scaled" else 4)
            for parts in lines:
                assert len(parts) >= 2
                for one, other in pairwise(value_of(part) for part in parts):
                    assert close(one, other), parts


@pytest.mark.parametrize("name", ["scaled", "without biases"])
def test_a_page_adds_biases_only_if_there_are_some(name) -> None:
    page = explain.render(explain.work_out(variant_of(name), "encoder", 1, 1), None)
    assert (" + b" in page) == (name == "scaled")


@pytest.mark.parametrize("name", ["unscaled", "additive"])
def test_a_page_names_the_root_of_d_k_only_if_it_divides_by_it(name) -> None:
    page = explain.render(explain.work_out(variant_of(name), "encoder", 1, 1), None)
    assert "√" not in page
    assert "equation 1" not in page.split("\n")[0] or "without" in page.split("\n")[0]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("encoder", "more than 1 position away"),
        ("decoder", "after the query or more than 1 position away"),
    ],
)
def test_restricted_attention_hides_what_is_far(kind, reason) -> None:
    worked = explain.work_out(variant_of("restricted"), kind, 1, 1)
    mask = explain.render(worked, None).split("\n6. ")[1].split("\n7. ")[0]
    assert reason in mask
    assert mask.count("−∞") == int((~worked.visible).sum()) + 1  # and the word in the title
    assert not worked.visible.all()


def test_the_neighbourhood_does_not_restrict_attention_over_the_encoder() -> None:
    page = explain.render(explain.work_out(variant_of("restricted"), "cross", 1, 1), None)
    assert "6. mask: none, every query sees every key" in page


def test_a_sentence_of_more_than_256_tokens_is_an_error() -> None:
    result = CliRunner().invoke(main, ["explain", "a " * 300, "--seed", "0"])
    assert result.exit_code == 2
    assert result.stderr == (
        "transduce: the sentence has 300 tokens, and explain shows at most 256: "
        "give a shorter one\n"
    )


def test_a_word_of_40_000_letters_is_cut_or_an_error(directory) -> None:
    word = "Donaudampfschiff" * 2500
    result = CliRunner().invoke(main, ["explain", word, "--seed", "0"])
    assert max(map(len, result.stdout.split("\n"))) <= WIDEST_PAGE
    result = CliRunner().invoke(main, ["explain", word, "--model", str(directory)])
    assert result.exit_code == 2
    assert "and explain shows at most 256: give a shorter one" in result.stderr


def test_every_token_and_every_step_is_on_the_page(worked) -> None:
    page = explain.render(worked, None)
    for step in range(1, 11):
        assert f"\n{step}. " in page
    for token in worked.queries + worked.keys:
        assert token in page
    assert max(len(line) for line in page.split("\n")) <= WIDEST_PAGE


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
            "--seed creates a random model: leave out --model or --seed",
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
def test_a_layer_head_word_or_model_that_does_not_exist_is_named(args, sentence) -> None:
    result = CliRunner().invoke(main, args)
    assert result.exit_code == 2
    assert result.stderr == f"transduce: {sentence}\n"


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return model_directory(tmp_path_factory.mktemp("explain") / "model")


def test_a_trained_model_reads_its_own_translation(directory) -> None:
    text = pairs(1)[0][0]
    example = explain.of_model(directory, text, None)
    tokenizer, engine = (
        load_tokenizer(directory),
        open_engine(ModelDirectory.open(directory), engine="torch"),
    )
    ((found, *_),) = search(engine, [tokenizer.encode(text)])
    assert example.target_ids[0, 1:].tolist() == list(found.tokens)
    maps = example.model.attention_maps(example.source_ids, example.target_ids)
    worked = explain.work_out(example, "cross", 2, 3)
    torch.testing.assert_close(worked.weights, maps.cross[1][0, 2])


def test_a_word_cut_into_tokens_is_shown_with_hyphens(directory) -> None:
    example = explain.of_model(directory, "exqz runs", "exqz")
    word = example.source[: example.source.index("-z") + 1]
    assert "".join(piece.removeprefix("-") for piece in word).lstrip("▁") == "exqz"
    assert all(piece.startswith("-") for piece in word[1:])


def test_keys_and_values_of_cross_attention_come_from_the_encoders_output(directory) -> None:
    example = explain.of_model(directory, pairs(1)[0][0], None)
    worked = explain.work_out(example, "cross", 1, 2)
    memory = example.model.encode(example.source_ids).states[0]
    torch.testing.assert_close(worked.memory, memory)
    attention = example.model.decoder[0].cross_attention
    kv = attention.keys_values(memory[None])
    torch.testing.assert_close(worked.k, kv.keys[0, 1])
    torch.testing.assert_close(worked.v, kv.values[0, 1])
    page = explain.render(worked, None)
    assert "m, the output of the encoder: the keys and values come from it" in page
    assert f"{worked.memory[0, 0]:.3f}".replace("-", "−") in page
    assert "3. K = mW^K" in page
    assert explain.work_out(example, "encoder", 1, 2).memory is None
    assert "m, the output" not in explain.render(explain.work_out(example, "decoder", 1, 1), None)


def test_a_word_of_several_tokens_is_its_last_row(directory) -> None:
    example = explain.of_model(directory, "exqz runs", "exqz runs")
    worked = explain.work_out(example, "encoder", 1, 1)
    last = worked.queries.index("-z")
    word = explain.render(worked, "exqz")
    assert f'10. The largest weights of "{worked.queries[last]}"' in word
    tokens = [token for token in worked.queries[: last + 1] if token != "▁"]
    assert f"The word is {len(tokens)} tokens, {' '.join(tokens)}; this is the row" in word
    assert word.replace("\n", "") != explain.render(worked, worked.queries[-1]).replace("\n", "")


@pytest.mark.parametrize("kind", ["decoder", "cross"])
def test_the_decoders_weights_are_said_to_be_for_the_next_token(kind) -> None:
    worked = explain.work_out(explain.example("a b", "c d e", seed=0), kind, 1, 1)
    for token, following in (("<s>", "c"), ("d", "e"), ("e", "</s>")):
        text = " ".join(explain.render(worked, token).split())
        assert f'Having read "{token}", the decoder predicts the next token, "{following}"' in text
        assert f'to write "{following}", not to write "{token}"' in text


def test_the_encoders_weights_are_said_to_be_shares_of_values() -> None:
    worked = explain.work_out(explain.example("a b", "c d", seed=0), "encoder", 1, 1)
    assert 'shares of these tokens\' values in the new vector of "b"' in explain.render(worked, "b")


def test_the_bars_are_the_largest_weights_of_the_row(worked) -> None:
    page = explain.render(worked, worked.queries[2])
    bars = page[page.index("\n10. ") :]
    shown = [float(n) for n in re.findall(r"([\d.]+) %", bars)]
    wanted = (100 * worked.weights[2]).sort(descending=True).values[:MOST_BARS]
    assert shown == pytest.approx(wanted.tolist(), abs=0.051)


def test_the_library_raises_what_the_command_line_prints() -> None:
    with pytest.raises(InputError, match="there is no word"):
        explain.example("", None, 0)


@pytest.mark.parametrize("name", ["scaled", "wide"])
def test_the_printed_root_is_that_of_d_k(name) -> None:
    worked = explain.work_out(variant_of(name), "encoder", 1, 1)
    root = re.search(r"\n5\. QKᵀ/√d_k = QKᵀ/([\d.]+),", explain.render(worked, None))[1]
    assert float(root) == pytest.approx(math.sqrt(worked.q.shape[1]), rel=0.005)


def test_each_printed_row_of_weights_sums_to_100(worked) -> None:
    table = explain.render(worked, None).split("\n7. ")[1].split("\n8. ")[0]
    rows = [re.findall(r"\d+\.\d", line) for line in table.split("\n")[3:] if line]
    assert len(rows) == len(worked.queries)
    for row in rows:
        assert sum(map(float, row)) == pytest.approx(100, abs=0.05 * len(row))
