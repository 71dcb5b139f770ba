"""Tables 1, 2 and 3: what is measured, how results are compared, and that runs can be resumed."""

import json
import math
import re

import pytest
import torch
from click.testing import CliRunner

from transduce import grammar
from transduce.cli import main
from transduce.figures import tables as pictures
from transduce.paper import experiments, table1, table2, table3
from transduce.paper.experiments import Experiment, read_rows
from transduce.train.run import Run

PNG = b"\x89PNG"


def run(*words):
    return CliRunner().invoke(main, ["paper", *map(str, words)])


def row(name: str, bleu: float, perplexity: float = 5.0, **more):
    return {
        "name": name, "bleu": bleu, "perplexity": perplexity, "parameters": 2_605_056,
        "steps": 10, "seconds": 60.0, "target_tokens": 1000, "operations": 10**12,
        "target_tokens_per_cpu_second": 100 / 60,
        "sentences_per_cpu_second": 9.0, "machine": {"cores": 2}, "curve": [], "settings": {},
        "data": {"train": [{"file": "train.en"}, {"file": "train.de"}]}, **more,
    }  # fmt: skip


SMALL = table1.Sizes((32, 64, 128), (16, 32, 64), 64, 32, (16, 50))


@pytest.fixture(scope="module")
def measured():
    return table1.measure(SMALL)


def test_the_operations_of_each_layer_grow_as_the_paper_says(measured) -> None:
    for layer, found in zip(table1.LAYERS, measured, strict=True):
        exponents = (table1.exponent(found.operations), table1.exponent(found.operations_by_width))
        assert exponents == pytest.approx(layer.exponents, abs=0.05), layer.name


def test_only_the_recurrence_waits_for_every_position(measured) -> None:
    for found in measured:
        growth = 1 if found.name == "recurrent" else 0
        assert table1.exponent(found.depths) == pytest.approx(growth, abs=0.1), found.name


@pytest.mark.parametrize("n", [16, 50])
def test_path_lengths_are_those_of_the_paper(measured, n) -> None:
    """1; n; ⌈log_k n⌉ dilated convolutions; n/r neighbourhoods, half of which lie on each side."""
    found = {one.name: one.paths[n] for one in measured}
    half = table1.NEIGHBOURHOOD // 2
    assert found == {
        "self-attention": 1,
        "recurrent": n,
        "convolutional": math.ceil(math.log(n, table1.KERNEL)),
        "restricted": math.ceil((n - 1) / half),
    }


def test_restricted_attention_sees_its_neighbourhood_only() -> None:
    x = torch.randn(1, 40, 8, requires_grad=True)
    (gradient,) = torch.autograd.grad(table1.RestrictedSelfAttention()(x)[0, 20].sum(), x)
    near = gradient[0].abs().sum(-1).nonzero().flatten().tolist()
    assert near == list(range(12, 29))


def test_table_1_is_printed_and_drawn(measured, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(table1, "measure", lambda sizes: measured)
    monkeypatch.setenv("COLUMNS", "120")  # no cell is wrapped, whatever the times are
    page = run("table1", "--quick", "--output", tmp_path / "t.png")
    assert page.exit_code == 0, page.output
    for words in ("n² · d", "self-attention", "log_k n", "n^2.0"):
        assert words in page.stdout
    assert (tmp_path / "t.png").read_bytes().startswith(PNG)
    assert json.loads(run("table1", "--quick", "--json").stdout)[1]["name"] == "recurrent"


def test_the_papers_costs_are_hours_times_devices_times_their_speed() -> None:
    for one in table2.PAPER:
        if one.recomputed:
            assert one.recomputed == pytest.approx(one.flops[0], rel=0.02)


def test_the_time_to_a_bleu_is_that_of_the_first_validation_that_reaches_it() -> None:
    curve = [
        {"step": step, "tokens": 100 * step, "seconds": 60.0 * step, "bleu": bleu}
        for step, bleu in ((1, 5.0), (2, 20.0), (3, 19.0))
    ]
    slow = [{**point, "bleu": point["bleu"] / 2} for point in curve]
    rows = [row("Transformer", 20.0, curve=curve), row("recurrent", 10.0, curve=slow)]
    assert table2.goal_of(rows) == 10.0
    assert table2.minutes_to(rows[0], 10.0) == pytest.approx(2)
    assert table2.minutes_to(rows[1], 15.0) is None
    points = table2.points(rows)["Transformer"]
    assert points[-1] == (pytest.approx(0.3 * 10**12), 19.0)


def test_a_change_within_the_noise_is_called_so_and_others_are_compared() -> None:
    rows = [
        row("base", 30.0), row("base, seed 2", 31.0, 5.2), row("h = 1", 29.6, 5.7),
        row("N = 1", 20.0, 4.2), row("d_ff = 512", 25.0), row("h = 8", 34.0, 4.5),
        row("pre-norm", 35.0, 5.9),
    ]  # fmt: skip
    found = {li.variation.name: (li.by_bleu, li.by_perplexity) for li in table3.compared(rows)}
    assert found == {
        "base": ("", ""),
        "base, seed 2": ("", ""),
        "h = 1": ("noise", "agrees"),
        "N = 1": ("agrees", "disagrees"),
        "d_ff = 512": ("disagrees", "noise"),
        "h = 8": ("none", "none"),
        "pre-norm": ("better", "worse"),
    }
    assert table3.noise_of(rows).bleu == 1.0
    assert not table3.compared(rows[:1])  # the noise is unknown


def test_rows_that_are_not_trained_have_the_papers_numbers_only(monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    page = table3.render([row("base", 30.0), row("base, seed 2", 31.0), row("h = 1", 20.0)])
    assert re.search(r"A  h = 1 +5.29  24.9  5.00  20.0    2.61  noise +agrees\n", page)
    assert re.search(r"A  h = 4; 2 +5.00  25.5     –     –\n", page)
    assert "23 of 26 rows are not trained yet" in " ".join(page.split())
    assert "Two base rows are needed" in table3.render([row("base", 30.0)])
    assert "None of our rows is trained yet: --run" in table3.render([])
    assert all(len(line) <= 80 for line in page.splitlines())


def test_every_row_of_the_papers_table_is_a_change_to_tiny() -> None:
    """A–E and big; what the paper leaves, the row leaves."""
    groups = [v.group for v in table3.VARIATIONS if v.bleu is not None]
    assert [groups.count(group) for group in "ABCDE"] == [4, 2, 7, 4, 1]
    common = {"steps", "warmup_steps", "lr_factor", "seed"}
    for steps in (None, 20):
        for experiment in table3.experiments(steps=steps):
            assert experiment.config.train.steps == (steps or table3.STEPS)
    assert common <= set(type(experiment.config.train).model_fields)
    assert len({e.directory for e in table3.experiments()}) == len(table3.VARIATIONS)


@pytest.fixture
def quick(monkeypatch):
    """Runs of two steps on few sentences."""
    shrunk = (
        "model.vocab_size=400", "data.vocab_size=400", "model.d_model=16", "model.d_ff=16",
        "model.n_layers=1", "train.validate_steps=1", "train.checkpoint_steps=1",
    )  # fmt: skip
    monkeypatch.setattr(table3, "QUICK", shrunk)
    monkeypatch.setattr(table3, "QUICK_STEPS", 2)
    monkeypatch.setattr(table3, "QUICK_ROWS", ("base", "base, seed 2"))
    monkeypatch.setattr(table2, "QUICK", shrunk)
    monkeypatch.setattr(table2, "QUICK_STEPS", 2)
    splits = {"train": 60, "valid": 6, "test": 6}
    monkeypatch.setattr("transduce.train.inputs.BUILTIN", splits)


def test_a_table_is_trained_drawn_and_not_trained_again(quick, tmp_path) -> None:
    words = ["table3", "--quick", "--runs", tmp_path / "runs", "--output", tmp_path / "t.png"]
    first = run(*words)
    assert first.exit_code == 0, first.output
    assert "Table 3" in first.stdout
    assert (tmp_path / "t.png").read_bytes().startswith(PNG)
    results = tmp_path / "runs" / "results"
    rows = read_rows(results, table3.experiments(quick=True))
    assert [one["name"] for one in rows] == ["base", "base, seed 2"]
    assert all(one["steps"] == 2 and one["operations"] > 0 for one in rows)
    again = run(*words)
    assert again.stdout == first.stdout
    assert "of 2" not in again.stderr
    (results / "base.json").unlink()  # only this row is trained again
    again = run(*words)
    assert "1 of 2: base" in again.stderr
    assert "2 of 2" not in again.stderr
    assert read_rows(results, table3.experiments(quick=True))[0]["bleu"] == rows[0]["bleu"]


def test_a_row_names_the_files_that_it_was_scored_on(quick, tmp_path, monkeypatch) -> None:
    rows = [Experiment("base", "tiny", (*table3.QUICK, "train.steps=2"))]
    monkeypatch.setattr(table3, "experiments", lambda quick, steps: rows)
    for name, split, count in (("text", "train", 60), ("dev", "valid", 6), ("held-out", "test", 6)):
        pairs = grammar.sentences(split, count, seed=1)
        lines = [f"{pair.source}\t{pair.target}\n" for pair in pairs]
        (tmp_path / f"{name}.tsv").write_text("".join(lines), "utf-8")
    words = ["table3", "--run", "--train", tmp_path / "text.tsv", "--valid", tmp_path / "dev.tsv"]
    words += ["--runs", tmp_path / "runs", "--results", tmp_path / "results"]
    held_out = ("--test", tmp_path / "held-out.tsv")
    for more, file, told in (
        ((), "dev.tsv", "the validation data"),
        (held_out, "held-out.tsv", "held-out.tsv"),
    ):
        page = run(*words, *more)
        assert page.exit_code == 0, page.output
        (row,) = read_rows(tmp_path / "results" / "table3", rows)
        assert [item["file"] for item in row["data"]["test"]] == [file]
        assert f"BLEU of {told}, beam 4" in " ".join(page.stdout.split())
        (tmp_path / "results" / "table3" / "base.json").unlink()


def test_a_stopped_table_keeps_the_rows_that_are_done(quick, tmp_path, monkeypatch) -> None:
    words = ["table3", "--quick", "--runs", tmp_path / "runs"]
    train_run = experiments.train_run

    def stopped(run, *more):
        return 1 if run.directory.name == "base-seed-2" else train_run(run, *more)

    monkeypatch.setattr(experiments, "train_run", stopped)
    result = run(*words)
    assert result.exit_code == 130
    assert "stopped and saved; the same command continues" in result.stderr
    assert [file.name for file in (tmp_path / "runs" / "results").iterdir()] == ["base.json"]
    monkeypatch.setattr(experiments, "train_run", train_run)
    with Run(tmp_path / "runs" / "base-seed-2").locked():
        result = run(*words)
        assert "2 of 2: base, seed 2: skipped, as another process is training it" in result.stderr
    result = run(*words)
    assert result.exit_code == 0
    assert "1 of 2" not in result.stderr
    assert len(list((tmp_path / "runs" / "results").iterdir())) == 2


def test_training_to_convergence_continues_the_run_of_the_same_network(
    quick, tmp_path, monkeypatch
) -> None:
    """Two steps, then up to six, of which the first two are not repeated."""
    monkeypatch.setattr(table2, "PRESETS", {"Transformer": "tiny"})
    rows = [
        Experiment("Transformer", "tiny", (*table2.QUICK, "train.steps=2")),
        Experiment(
            "Transformer, converged", "tiny", (*table2.QUICK, "train.steps=6"), "Transformer"
        ),
    ]
    monkeypatch.setattr(table2, "experiments", lambda quick, steps: rows)
    result = run("table2", "--quick", "--runs", tmp_path)
    assert result.exit_code == 0, result.output
    first, second = read_rows(tmp_path / "results", rows)
    assert (first["steps"], second["steps"]) == (2, 6)
    assert second["curve"][:2] == first["curve"]
    assert second["seconds"] > first["seconds"]
    assert first["target_tokens_per_cpu_second"] > 0


def test_table_2_trains_equal_networks_to_equal_tokens_and_then_to_convergence() -> None:
    same, converged = (table2.experiments(steps=600)[i::2] for i in (0, 1))
    for one, longer in zip(same, converged, strict=True):
        assert longer.directory == one.directory
        assert longer.config.model == one.config.model
        assert (one.config.train.steps, longer.config.train.steps) == (600, 1200)
        assert longer.config.train.patience
    assert len({e.config.train.tokens_per_batch for e in same}) == 1


def test_mistakes_are_one_sentence(tmp_path) -> None:
    for words, sentence in {
        ("table3", "--steps", "5"): "are for --run: add it",
        ("table3", "--train", "a", "b"): "are for --run: add it",
        ("table2", "--run"): "--run needs --train SRC TGT and --valid SRC TGT",
    }.items():
        result = run(*words)
        assert result.exit_code == 2
        assert sentence in result.stderr


def test_table_2_prints_the_papers_rows_and_every_result(tmp_path) -> None:
    page = run("table2", "--results", tmp_path)
    assert page.exit_code == 0, page.output
    for words in ("GNMT + RL", "2.3e19", "3.3e18", "are not trained yet: --run"):
        assert words in page.stdout
    curve = [{"step": 1, "tokens": 500, "seconds": 60.0, "bleu": 5.0, "perplexity": 9.0}]
    rows = [row("Transformer", 30.0, curve=curve), row("recurrent", 20.0, curve=curve)]
    (tmp_path / "table2").mkdir()
    for one, name in zip(rows, ("transformer", "recurrent"), strict=True):
        (tmp_path / "table2" / f"{name}.json").write_text(json.dumps(one), "utf-8")
    record = {
        "title": "Tatoeba", "scores": {"bleu": 44.2},
        "machine": {"cores": 2, "cpu": "Intel(R) Xeon(R) Processor"},
        "training": {"seconds": 600.0, "operations": 994 * 10**12}, "model": {"parameters": 8e6},
    }  # fmt: skip
    (tmp_path / "tatoeba.json").write_text(json.dumps(record), "utf-8")
    page = run("table2", "--results", tmp_path, "--output", tmp_path / "t.svg")
    assert "recurrent" in page.stdout
    assert re.search(r"Tatoeba +8\.0 +44\.20 +9\.9e14 +10 +2 +Xeon\n", page.stdout)
    assert "BLEU against training cost" in (tmp_path / "t.svg").read_text("utf-8")


def test_pictures_need_no_results() -> None:
    assert pictures.costs({}, {}, "x").axes
