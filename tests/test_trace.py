"""The way of a token: the model's own numbers, and each printed one follows from those above."""

import json
import re
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from arithmetic import Interval, close, value_of
from click.testing import CliRunner
from models import model_directory

from transduce import explain
from transduce.cli import main
from transduce.explain.page import WIDEST_PAGE
from transduce.model import Transformer

TEXT = "The cat sat because it was tired"
TARGET = "Die Katze saß , weil sie müde war"
VARIANTS = {
    "scaled": {},
    "unscaled": {"attention": "unscaled"},
    "additive": {"attention": "additive"},
    "restricted": {"neighbourhood": 3},
    "pre-norm": {"norm": "pre"},
    "pre-norm additive": {"norm": "pre", "attention": "additive", "activation": "gelu"},
    "without biases": {"attention_bias": False, "scale_embeddings": False, "activation": "silu"},
    "with an output bias": {"output_bias": True, "positions": "learned", "d_k": 5, "d_v": 3},
    "wide and uneven": {"d_model": 96, "n_heads": 3, "n_encoder_layers": 3, "n_decoder_layers": 1},
}


@pytest.fixture(params=VARIANTS)
def variant(request) -> explain.Example:
    example = explain.example(TEXT, TARGET, seed=3)
    torch.manual_seed(5)
    model = Transformer(example.model.config.replace(**VARIANTS[request.param])).eval()
    with torch.no_grad():
        for parameter in model.parameters():  # also of norms and biases, which begin as 1 and 0
            parameter.add_(0.1 * torch.randn_like(parameter))
    return replace(example, model=model)


def test_the_way_ends_at_the_models_own_probabilities(variant) -> None:
    model = variant.model
    logits = model(variant.source_ids, variant.target_ids)[0].detach()
    memory = model.encode(variant.source_ids).states[0]
    for source, target in ((0, 0), (3, 5), (7, 8)):
        traced = explain.trace(variant, source, target)
        torch.testing.assert_close(traced.encoder.result, memory[source])
        best = logits[target].topk(5)
        assert [one.token for one in traced.likeliest] == [
            variant.vocabulary[i] for i in best.indices.tolist()
        ]
        shown = torch.tensor([one.logit.value for one in traced.likeliest])
        torch.testing.assert_close(shown, best.values)
        shares = torch.tensor([one.probability for one in traced.likeliest])
        torch.testing.assert_close(shares, logits[target].softmax(-1)[best.indices])


def test_each_sub_layer_begins_where_the_one_before_ended(variant) -> None:
    traced = explain.trace(variant, 1, 2)
    config = variant.model.config
    for half, count in (
        (traced.encoder, 2 * config.encoder_depth),
        (traced.decoder, 3 * config.decoder_depth),
    ):
        assert len(half.steps) == count
        torch.testing.assert_close(half.steps[0].x, half.x)
        for before, after in pairwise(half.steps):
            torch.testing.assert_close(after.x, before.result)
        assert (half.norm is not None) == (config.norm == "pre")


def paragraphs(page: str) -> list[str]:
    """The numbered parts, without their numbers."""
    return [part.partition(". ")[2] for part in page.split("\n\n")[1:]]


def lines_of(part: str) -> list[str]:
    """The printed lines that are not tables, each whole."""
    joined = re.sub(r"\n {8}(?=\S)", " ", part)
    return [line.strip() for line in joined.split("\n")[1:] if re.match(r" {3}\S", line)]


def tables_of(part: str) -> list[list[tuple[str, list[Interval]]]]:
    """The rows of each table: a label, and a number for each column."""
    tables: list[list[tuple[str, list[Interval]]]] = []
    for line in part.split("\n"):
        if re.match(r" +\[1\]", line):
            tables.append([])
        found = re.fullmatch(r"  (\S.*?)((?:  +−?[\d.]+)*)", line)
        if found and not line.startswith(("   ", "  ─")):
            tables[-1].append((found[1], [value_of(cell) for cell in found[2].split()]))
    return tables


def check_table(rows: list[tuple[str, list[Interval]]], part: str) -> int:
    """Computes every column from top to bottom; the number of results that were compared."""
    compared = 0
    total: list[Interval] = []
    for label, cells in rows:
        if label.startswith("= "):
            assert all(map(close, total, cells)), (label, part)
            compared += 1
            total = cells
        elif label.startswith("+ "):
            total = [a + b for a, b in zip(total, cells, strict=True)]
        elif label == "× γ":
            total = [a * b for a, b in zip(total, cells, strict=True)]
        elif label.startswith("× "):
            factor = value_of(re.search(r"[\d.]+(?=$|:)", label)[0])
            total = [a * factor for a in total]
        elif label.startswith("("):
            mean, variance, eps = (
                value_of(re.search(rf"{sign} = (−?[\d.]+)", part)[1]) for sign in ("μ", "σ²", "ε")
            )
            spread = variance + eps
            root = Interval(max(spread.low, 1e-9) ** 0.5, spread.high**0.5)
            wanted = [(a - mean) / root for a in total]
            assert all(map(close, wanted, cells)), (label, part)
            compared += 1
            total = cells
        else:
            total = cells
    return compared


def test_every_line_of_arithmetic_comes_out_from_its_printed_numbers(variant) -> None:
    config = variant.model.config
    traced = explain.trace(variant, 2, 4)
    parts = paragraphs(explain.render_trace(traced))
    sums = columns = 0
    numeric = re.compile(r"(?:exp|max|GELU|SiLU|[\d.+−×/(), ]|more terms?)+")
    for part in parts[:-1]:
        for table in tables_of(part):
            columns += check_table(table, part)
        for line in lines_of(part):
            if not re.match(r"μ =|each head", line):
                sides = [side for side in line.split(" = ") if numeric.fullmatch(side)]
                assert len(sides) == 2, line
                assert close(*map(value_of, sides)), line
                sums += 1
    sublayers = 2 * config.encoder_depth + 3 * config.decoder_depth
    assert sums == 2 * sublayers + 2 * 5
    assert columns == 2 + expected_columns(config)


def expected_columns(config) -> int:
    """Results below the two embeddings: two of each norm, and a residual sum of each sub-layer."""
    sublayers = 2 * config.encoder_depth + 3 * config.decoder_depth
    return 3 * sublayers + (4 if config.norm == "pre" else 0)


def test_mean_and_variance_are_those_of_the_whole_vector(variant) -> None:
    traced = explain.trace(variant, 2, 4)
    for step in (*traced.encoder.steps, *traced.decoder.steps):
        n = len(step.norm.x)
        mean = float(step.norm.x.sum()) / n
        assert step.norm.mean == pytest.approx(mean, abs=1e-5)
        assert step.norm.variance == pytest.approx(
            sum((value - mean) ** 2 for value in step.norm.x.tolist()) / n, rel=1e-4
        )


def test_the_other_token_is_the_one_with_most_attention_between_both() -> None:
    example = explain.example(TEXT, TARGET, seed=3)
    maps = example.model.attention_maps(example.source_ids, example.target_ids)
    mean = sum(layer[0].mean(0) for layer in maps.cross)
    for token in range(5):
        assert explain.partners(example, "encoder", token) == (token, int(mean[:, token].argmax()))
        assert explain.partners(example, "decoder", token) == (int(mean[token].argmax()), token)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_command_follows_the_word_that_is_named(norm, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    directory = model_directory(tmp_path / "model", norm=norm)
    command = ["explain", "exqz runs", "--target", "exqz", "--model", str(directory), "--all"]
    page = CliRunner().invoke(main, [*command, "--from", "exqz"], catch_exceptions=False).stdout
    assert 'Embedding of the source token "-z" at position' in page
    assert max(map(len, page.split("\n"))) <= 80
    page = CliRunner().invoke(main, [*command, "--from", "<s>", "--kind", "cross"]).stdout
    assert 'Embedding of the target token "<s>" at position 0' in page
    assert '. The likeliest tokens after "<s>"' in page
    numbers = json.loads(CliRunner().invoke(main, [*command, "--json"]).stdout)
    assert len(numbers["decoder"]["steps"]) == 6
    assert len(numbers["likeliest"]) == 5


def test_a_long_word_is_cut() -> None:
    page = CliRunner().invoke(main, ["explain", "Donau" * 2500, "--seed", "0", "--all"]).stdout
    assert max(map(len, page.split("\n"))) <= WIDEST_PAGE


def test_one_layer_of_the_whole_way_is_an_error() -> None:
    result = CliRunner().invoke(main, ["explain", "a", "--seed", "0", "--all", "--layer", "1"])
    assert result.exit_code == 2
    assert result.stderr == (
        "transduce: --all shows every layer: leave out --all, or --layer and --head\n"
    )
