"""`transduce info` reports what a run has on disk."""

import json
import math
import re
import shutil
import subprocess
import sys
from pathlib import Path

import digits
import pytest
from click.testing import CliRunner
from hypothesis import example, given
from hypothesis import strategies as st

from transduce.cli import main
from transduce.config import Config, config_of
from transduce.figures.series import Curves, Series, curves_of
from transduce.figures.terminal import Canvas, figures, plot, plots
from transduce.model_names import model_path
from transduce.store import Store
from transduce.train.run import Run, flat, read_config, read_metrics


def invoke(*args: str):
    return CliRunner().invoke(main, [*args])


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    train = digits.write(folder / "train.tsv", digits.pairs(300, seed=1))
    valid = digits.write(folder / "valid.tsv", digits.pairs(20, seed=2))
    steps = ("train.steps=12", "train.checkpoint_steps=4", "train.validate_steps=3")
    settings = digits.settings(*digits.SMALL, *steps)
    run = folder / "run"
    result = invoke("train", str(run), "--train", str(train), "--valid", str(valid), *settings)
    assert result.exit_code == 0, result.output
    return run


@pytest.fixture
def run(finished, tmp_path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


def facts_of(run: Path) -> dict:
    result = invoke("info", str(run), "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_progress_and_scores_are_those_of_the_record(finished) -> None:
    facts, metrics = facts_of(finished), read_metrics(finished / "metrics.jsonl")
    last = [entry for entry in metrics if entry["event"] == "train"][-1]
    for key in ("step", "epoch", "tokens", "seconds"):
        assert facts[key] == last[key]
    scores = [entry for entry in metrics if entry["event"] == "validation"]
    best = min(scores, key=lambda entry: entry["nll"])
    assert (facts["best"]["step"], facts["best"]["nll"]) == (best["step"], best["nll"])
    assert facts["last"]["step"] == facts["steps"] == 12
    assert facts["finished"]
    assert facts["training"]["read"] == Store.open(finished / "data" / "train").tally.read
    assert facts["curves"]["loss"]["values"] == [
        e["loss"] for e in metrics if e["event"] == "train"
    ]


def test_the_listed_settings_and_the_papers_make_up_the_run(finished) -> None:
    listed = facts_of(finished)["settings"]
    sections: dict[str, dict] = {}
    for name, value in {**flat(Config()), **listed}.items():
        if value is not None:
            section, key = name.split(".")
            sections.setdefault(section, {})[key] = value
    assert flat(config_of(sections)) == flat(read_config(Run(finished)))
    assert "train.label_smoothing" not in listed
    assert listed["model.d_model"] == 32


def test_the_page_names_every_checkpoint_and_draws_both_curves(finished) -> None:
    page = invoke("info", str(finished)).stdout
    for step in (4, 8, 12):
        assert re.search(rf"step +{step} .* MiB  whole\n", page)
    assert "step 12 of 12 (100 %)" in page
    assert "finished" in page
    assert "model.d_model = 32" in page
    assert "training loss" in page
    assert "validation perplexity" in page
    assert all(len(line) <= 80 for line in page.split("\n") if "⠀" <= line[-1:] <= "⣿")


def test_damaged_checkpoints_are_distinguished_from_intact_ones(run) -> None:
    weights = run / "checkpoints" / "step-00000008" / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    problems = {saved["step"]: saved["problem"] for saved in facts_of(run)["checkpoints"]}
    assert problems[4] is None
    assert problems[12] is None
    assert problems[8] == f"{weights} is damaged: its checksum is not the one in checksums.json"
    assert "is damaged" in invoke("info", str(run)).stdout


def test_a_run_that_is_being_trained_names_the_process(run) -> None:
    assert facts_of(run)["trained_by"] is None
    with Run(run).locked():
        process = (run / "lock").read_text("utf-8").strip()
        assert facts_of(run)["trained_by"] == process
        assert f"process {process} is training it now" in invoke("info", str(run)).stdout
    assert facts_of(run)["trained_by"] is None


def test_info_never_takes_the_lock_of_a_run(run, monkeypatch) -> None:
    (run / "lock").write_text("1\n", "utf-8")  # a process that is alive, and does not hold it

    def flock(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("fcntl.flock", flock)
    assert facts_of(run)["trained_by"] is None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.toml", b"[model"),
        ("config.toml", b"\xff\xfe"),
        ("config.toml", b"[model]\nn_heads = 'many'\n"),
        ("metrics.jsonl", b"\xff\xfe\n"),
        ("metrics.jsonl", b'[]\n{"step": "x"}\n{"step": 3}\n{"event": "train"}\n'),
        ("metrics.jsonl", b'{"step": 3, "event": "validation", "nll": "x"}\n'),
        ("metrics.jsonl", b'{"step": 3, "event": "train", "epoch": null, "tokens": []}\n'),
        ("metrics.jsonl", b"[" * 10**5),
        ("inputs.json", b"\x00"),
        ("lock", b"\xff"),
        ("data/train/meta.json", b"{}"),
        ("checkpoints/step-00000004/state.json", b"[]"),
        ("checkpoints/step-00000004/checksums.json", b"{}"),
    ],
)
def test_a_damaged_run_is_described_without_a_traceback(run, name, content) -> None:
    (run / name).write_bytes(content)
    facts = facts_of(run)
    page = invoke("info", str(run)).stdout
    if name in ("config.toml", "data/train/meta.json"):
        (problem,) = facts["problems"]
        assert problem in " ".join(page.split())
    elif name.startswith("checkpoints"):
        assert facts["checkpoints"][0]["problem"]
    else:
        assert facts["problems"] == []


def test_info_changes_nothing_in_a_run(run) -> None:
    def content() -> dict[str, bytes]:
        return {str(f): f.read_bytes() for f in run.rglob("*") if f.is_file()}

    before = content()
    assert invoke("info", str(run)).exit_code == 0
    assert content() == before


def test_info_of_an_interrupted_run_shows_the_command_to_continue(run) -> None:
    lines = (run / "metrics.jsonl").read_text("utf-8").split("\n")
    (run / "metrics.jsonl").write_text("\n".join(lines[:7])[:-9], "utf-8")
    shutil.rmtree(run / "model")
    facts = facts_of(run)
    assert facts["step"] < 12
    assert not facts["finished"]
    assert facts["model"] is None
    page = invoke("info", str(run)).stdout
    words = " ".join(page.split())
    assert "nobody trains it now: `transduce train` on this directory continues it" in words


def test_a_run_without_a_checkpoint_is_a_run(tmp_path) -> None:
    (tmp_path / "inputs.json").write_text("{}", "utf-8")
    assert "the data is not prepared yet" in invoke("info", str(tmp_path)).stdout
    result = invoke("info", str(tmp_path), "--output", str(tmp_path / "curve.png"))
    assert result.exit_code == 2
    assert result.stderr == (
        f"transduce: {tmp_path} has no learning curve yet: its training has not begun\n"
    )


def test_only_a_run_has_a_learning_curve(finished, tmp_path) -> None:
    result = invoke("info", str(finished / "model"), "--output", str(tmp_path / "curve.png"))
    assert result.exit_code == 2
    assert result.stderr == (
        f"transduce: {finished / 'model'} is not a run: only a run has a learning curve\n"
    )


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_the_plot_has_the_format_of_its_suffix(finished, tmp_path, suffix) -> None:
    output = tmp_path / f"curve.{suffix}"
    result = invoke("info", str(finished), "--output", str(output))
    assert result.exit_code == 0, result.output
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    assert output.read_bytes().startswith(starts[suffix])
    if suffix == "svg":
        text = output.read_text("utf-8")
        for label in ("training loss", "perplexity", "learning rate", "step", "validation"):
            assert label in text
        assert "BLEU" not in text  # none was measured
    assert [file.name for file in tmp_path.iterdir()] == [output.name]


def test_a_plot_with_another_suffix_is_an_error(finished, tmp_path) -> None:
    result = invoke("info", str(finished), "--output", str(tmp_path / "curve.gif"))
    assert result.exit_code == 2
    assert result.stderr == (
        "transduce: cannot draw curve.gif: the name must end in .svg, .png or .pdf\n"
    )


values = st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=20)


@given(values, st.booleans(), st.integers(30, 100), st.integers(2, 12))
@example([1.0, 999_999.0], True, 30, 2)  # its logarithm rounds to another label
def test_a_plot_fits_its_width_and_has_its_extremes_at_its_edges(
    numbers, logarithmic, width, height
) -> None:
    steps = tuple(range(10, 10 * len(numbers) + 10, 10))
    page = plot("loss", Series(steps, tuple(numbers)), steps[-1], logarithmic, width, height)
    _, *rows, axis, labels = page.split("\n")
    assert len(rows) == height
    assert all(len(line) <= width for line in (*rows, axis, labels))
    assert labels.endswith(f"step {steps[-1]:,}")
    dots = [re.search("[⠁-⣿]", row) is not None for row in rows]
    assert any(dots)
    if max(numbers) > 1.01 * min(numbers):
        assert dots[0]
        assert dots[-1]
        assert rows[0].split()[0] == figures(max(numbers))
        assert rows[-1].split()[0] == figures(min(numbers))


def test_a_falling_curve_never_rises_in_the_plot() -> None:
    series = Series(tuple(range(50)), tuple(10 * math.exp(-n / 9) for n in range(50)))
    rows = plot("loss", series, 49).split("\n")[1:-2]
    seen = [row[10:] for row in rows]
    for left, right in zip(range(60), range(1, 61), strict=True):
        tops = [
            next((i for i, row in enumerate(seen) if row[column : column + 1].strip()), None)
            for column in (left, right)
        ]
        assert None in tops or tops[0] <= tops[1]


def test_a_line_has_no_gaps() -> None:
    canvas = Canvas(10, 5)
    canvas.trace([(0.0, 0.0), (19.0, 19.0)])
    dots = sum(bin(cell).count("1") for row in canvas.cells for cell in row)
    assert dots == 20


def test_values_that_are_not_numbers_are_left_out_of_the_curves() -> None:
    record = [
        {"step": 1, "event": "train", "loss": 3.0, "perplexity": math.inf, "learning_rate": 1},
        {"step": 2, "event": "train", "loss": math.nan, "perplexity": 2.0, "learning_rate": 1},
        {"step": 2, "event": "validation", "perplexity": 5.0, "bleu": None},
        {"step": 2, "event": "rollback"},
    ]
    curves = curves_of(record)
    assert curves.loss == Series((1,), (3.0,))
    assert curves.training_perplexity == Series((2,), (2.0,))
    assert curves.bleu == Series((), ())
    nothing = Series((), ())
    assert plots(Curves(nothing, nothing, nothing, nothing, nothing)) == ""


def test_without_a_directory_the_bundled_model_is_described() -> None:
    page, named = invoke("info").stdout, invoke("info", str(model_path())).stdout
    assert page == named
    assert re.search(r"model\.safetensors +[\d,]+  ok\n", page)


def test_a_model_and_a_run_are_described_without_torch(finished) -> None:
    program = (
        "import sys; sys.modules |= {'torch': None, 'matplotlib': None}; "
        "from transduce.cli import main; main(sys.argv[1:])"
    )
    for directory in (finished / "model", finished):
        command = [sys.executable, "-c", program, "info", str(directory)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
