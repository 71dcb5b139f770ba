"""§6.1: the mean of the last checkpoints, exactly."""

import json
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import digits
import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load_file

from transduce.cli import main
from transduce.directory import ModelDirectory, sha256
from transduce.tokenizer import Tokenizer


def invoke(*args: str):
    return CliRunner().invoke(main, [*args])


def write_checksums(folder: Path) -> None:
    files = (file for file in folder.iterdir() if file.is_file() and file.stem != "checksums")
    sums = {file.name: sha256(file) for file in files}
    (folder / "checksums.json").write_text(json.dumps(sums), "utf-8")


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """A run with checkpoints at steps 2, 4, 6, 8, 10 and 12, whose model is the mean of five."""
    folder = tmp_path_factory.mktemp("runs")
    train = digits.write(folder / "train.tsv", digits.pairs(300, seed=1))
    steps = ("train.steps=12", "train.checkpoint_steps=2", "train.validate_steps=12")
    settings = digits.settings(*digits.SMALL, *steps, "train.keep=6")
    run = folder / "run"
    result = invoke("train", str(run), "--train", str(train), *settings)
    assert result.exit_code == 0, result.output
    return run


@pytest.fixture
def run(finished, tmp_path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def checkpoint(run: Path, step: int) -> Path:
    return run / "checkpoints" / f"step-{step:08d}"


def mean(run: Path, *steps: int) -> dict[str, torch.Tensor]:
    several = [load_file(checkpoint(run, step) / "model.safetensors") for step in steps]
    return {
        name: torch.stack([weights[name].double() for weights in several]).mean(0).float()
        for name in several[0]
    }


def assert_equal(model: Path, weights: dict[str, torch.Tensor]) -> None:
    found = load_file(model / "model.safetensors")
    assert found.keys() == weights.keys()
    for name, weight in weights.items():
        torch.testing.assert_close(found[name], weight, rtol=0, atol=1e-7)


def damage(run: Path, step: int) -> Path:
    file = checkpoint(run, step) / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    return file


def test_the_model_is_the_arithmetic_mean_of_the_last_checkpoints(run, tmp_path) -> None:
    result = invoke("average", str(run), "--last", "3", "--output", str(tmp_path / "mean"))
    assert result.exit_code == 0, result.stderr
    assert_equal(tmp_path / "mean", mean(run, 8, 10, 12))
    parameters = sum(
        p.numel() for p in ModelDirectory.open(tmp_path / "mean").network().parameters()
    )
    assert result.stderr == (
        f"{tmp_path / 'mean'}: mean of 3 checkpoints (steps 8, 10, 12); {parameters:,} parameters\n"
    )


def test_averaging_as_training_did_gives_the_model_of_training(run) -> None:
    """In so short a run the last checkpoint is better than an average, so it is the model."""

    def perplexity() -> float:
        return float(re.findall(r"perplexity ([\d.]+)", card(run))[-1])

    left, best = (run / "model" / "model.safetensors").read_bytes(), perplexity()
    assert "better than the mean of 5 checkpoints" in card(run)
    assert invoke("average", str(run)).exit_code == 0
    assert (run / "model" / "model.safetensors").read_bytes() != left
    assert perplexity() > best
    assert invoke("average", str(run), "--last", "1").exit_code == 0
    assert (run / "model" / "model.safetensors").read_bytes() == left
    assert perplexity() == best


def card(run: Path) -> str:
    return (run / "model" / "card.md").read_text("utf-8")


def test_the_card_says_what_was_averaged(run) -> None:
    assert invoke("average", str(run), "--last", "2").exit_code == 0
    assert "- weights: mean of 2 checkpoints (steps 10, 12)\n" in card(run)
    assert "- training: train.tsv; " in card(run)
    assert (run / "model" / "tokens.model").read_bytes() == (run / "tokens.model").read_bytes()


def test_shares_of_other_models_are_mixed_in(run, tmp_path) -> None:
    train = digits.write(tmp_path / "train.tsv", digits.pairs(300, seed=2))
    settings = digits.settings("train.steps=4", "train.checkpoint_steps=2")
    second, out = tmp_path / "second", tmp_path / "out"
    began = invoke("train", str(second), "--from", str(run), "--train", str(train), *settings)
    assert began.exit_code == 0, began.output
    before, trained = load_file(run / "model" / "model.safetensors"), mean(second, 2, 4)
    last = load_file(second / "model" / "model.safetensors")
    assert any(not torch.equal(before[name], trained[name]) for name in before)
    shares = ["--mix", f"{run}/model:0.25", "--mix", f"{second}/model:0.125"]
    done = invoke("average", str(second), "--last", "2", *shares, "--output", str(out))
    assert done.exit_code == 0, done.output
    parts = ((0.25, before), (0.125, last), (0.625, trained))
    expected = {
        name: sum(share * weights[name].double() for share, weights in parts).float()
        for name in before
    }
    assert_equal(out, expected)
    card = (out / "card.md").read_text("utf-8")
    assert f"with 25% of {run.name} and 12% of second" in card


def test_what_cannot_be_mixed_in_is_one_sentence(run, tmp_path) -> None:
    other = Path(shutil.copytree(run / "model", tmp_path / "other"))
    text = (source.replace(" ", "") for source, _ in digits.pairs(300, seed=3))
    size = ModelDirectory.open(other).config.vocab_size
    Tokenizer.learn(text, size, other / "tokens.model")
    write_checksums(other)
    for mixes, sentence in {
        ("model",): "--mix model: write MODEL:SHARE, such as RUN/from:0.3",
        ("model:1",): "the shares of --mix must be above 0 and less than 1 in all",
        ("a:0.5", "b:0.5"): "the shares of --mix must be above 0 and less than 1 in all",
        ("en-de:0.5",): "en-de cannot be mixed in: its network has another shape",
        (f"{other}:0.5",): f"{other} cannot be mixed in: its vocabulary is another",
    }.items():
        words = [word for mix in mixes for word in ("--mix", mix)]
        done = invoke("average", str(run), *words)
        assert done.exit_code == 2
        assert sentence in done.output


def test_fewer_checkpoints_than_asked_for_are_all_averaged(run) -> None:
    for step in (2, 4, 6, 8):
        shutil.rmtree(checkpoint(run, step))
    result = invoke("average", str(run))
    assert result.exit_code == 0
    assert result.stderr.startswith("2 checkpoints are usable, not 5: all are averaged\n")
    assert_equal(run / "model", mean(run, 10, 12))


def test_a_damaged_checkpoint_is_named_and_left_out(run) -> None:
    file = damage(run, 10)
    result = invoke("average", str(run), "--last", "3")
    assert result.exit_code == 0
    assert result.stderr.startswith(
        f"{file} is damaged: its checksum is not the one in checksums.json; it is left out\n"
    )
    assert_equal(run / "model", mean(run, 6, 8, 12))


def test_a_checkpoint_saved_on_a_signal_is_not_averaged(run) -> None:
    folder = checkpoint(run, 12)
    state = json.loads((folder / "state.json").read_text("utf-8"))
    (folder / "state.json").write_text(json.dumps({**state, "scheduled": False}), "utf-8")
    write_checksums(folder)
    assert invoke("average", str(run), "--last", "2").exit_code == 0
    assert_equal(run / "model", mean(run, 8, 10))


def test_without_the_encoded_corpus_the_averaged_model_is_not_scored(run) -> None:
    shutil.rmtree(run / "data")
    result = invoke("average", str(run))
    assert result.exit_code == 0
    assert "the averaged model is not scored without the data" in result.stderr
    assert "perplexity" not in card(run)


def refusal(*args: str) -> str:
    result = invoke("average", *args)
    assert result.exit_code == 2
    return result.stderr.split("\n")[-2]


def test_averaging_a_run_without_checkpoints_is_an_error(run) -> None:
    shutil.rmtree(run / "checkpoints")
    assert refusal(str(run)) == (
        f"transduce: {run} has no checkpoint to average yet: train it first"
    )


def test_averaging_a_run_with_only_damaged_checkpoints_is_an_error(run) -> None:
    for step in (2, 4, 6, 8, 10, 12):
        damage(run, step)
    assert refusal(str(run)) == (
        f"transduce: {run} has no checkpoint to average: none is intact and on schedule"
    )


def test_averaging_a_directory_that_is_not_a_run_is_an_error(tmp_path) -> None:
    assert refusal(str(tmp_path)) == f"transduce: {tmp_path} is not a run: it has no config.toml"


def test_a_directory_that_is_not_a_model_is_never_overwritten(run, tmp_path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.txt").write_text("mine", "utf-8")
    assert refusal(str(run), "--output", str(notes)) == (
        f"transduce: {notes} is not empty and not a model directory: name another with --output"
    )
    assert (notes / "a.txt").read_text("utf-8") == "mine"


def test_an_averaged_model_may_have_int8_weights_and_a_note_in_its_card(run, tmp_path) -> None:
    note, out = tmp_path / "note.md", tmp_path / "small"
    note.write_text("## Limits\n\nDigits only.\n", "utf-8")
    args = ("--dtype", "int8", "--note", str(note), "--output", str(out))
    assert invoke("average", str(run), *args).exit_code == 0
    size, whole = ((d / "model.safetensors").stat().st_size for d in (out, run / "model"))
    assert size < whole / 2
    assert (out / "card.md").read_text("utf-8").endswith("\n\n## Limits\n\nDigits only.\n")
    assert ModelDirectory.open(out).description.dtype == "int8"


def test_a_note_that_cannot_be_read_is_an_error(run, tmp_path) -> None:
    result = invoke("average", str(run), "--note", str(tmp_path / "none"))
    assert result.exit_code == 2
    assert "none cannot be read" in result.stderr


def test_a_full_disk_is_an_error_and_keeps_the_existing_model(run) -> None:
    before = (run / "model" / "model.safetensors").read_bytes()
    limit = len(before) // 2
    done = subprocess.run(
        [sys.executable, "-m", "transduce", "average", str(run), "--last", "2"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"transduce: {run / 'model'} could not be written: ")
    assert "File too large" in done.stderr
    assert done.stderr.count("\n") == 1
    assert (run / "model" / "model.safetensors").read_bytes() == before


def test_a_model_records_how_many_sentences_its_lines_have(finished, tmp_path) -> None:
    lines = [(f"{a}! {a}!", f"{b}! {b}!") for a, b in digits.pairs(300, seed=1)]
    train = digits.write(tmp_path / "train.tsv", lines)
    settings = digits.settings(*digits.SMALL, "train.steps=2", "train.checkpoint_steps=2")
    run = tmp_path / "run"
    assert invoke("train", str(run), "--train", str(train), *settings).exit_code == 0
    per_line = [
        ModelDirectory.open(path / "model").description.sentences_per_line
        for path in (run, finished)
    ]
    assert per_line == [2.0, 1.0]
    assert ModelDirectory.open(run / "model").description.low_score is None  # nothing was decoded
