"""Resuming a run: with what it can be continued, and when it is finished."""

import json
import shutil
import subprocess
import time

import digits
import pytest
from click.testing import CliRunner
from training import (
    QUICK,
    command,
    contents,
    final_weights,
    sign,
    step_reached,
    train,
    words,
    write_corpus,
)

from transduce.cli import main

STALE = ["train.lr_factor=1e-9", "train.validate_steps=2", "train.checkpoint_steps=100"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> list[str]:
    return write_corpus(tmp_path_factory.mktemp("text"))


def test_a_run_continues_from_its_directory_alone_and_can_be_made_longer(tmp_path, corpus) -> None:
    run = tmp_path / "run"
    train(run, corpus, *QUICK, "train.steps=10")
    result = CliRunner().invoke(main, ["train", str(run)])
    assert result.exit_code == 0, result.output
    longer = train(run, corpus, *QUICK, "train.steps=15")
    assert "continuing from step 10" in longer.stderr
    assert step_reached(run) == 15


def test_training_a_run_that_is_being_trained_is_an_error(tmp_path, corpus) -> None:
    run = tmp_path / "run"
    many = words(run, corpus, *QUICK, "train.steps=100000")
    process = subprocess.Popen(command(*many), stderr=subprocess.DEVNULL)
    try:
        while step_reached(run) < 1:
            time.sleep(0.02)
            assert process.poll() is None
        result = CliRunner().invoke(main, many)
        assert result.exit_code == 2
        assert f"{run} is being trained by process {process.pid}: wait until" in result.stderr
    finally:
        process.kill()
        process.wait()


def test_continuing_with_other_settings_is_an_error(tmp_path, corpus) -> None:
    run = tmp_path / "run"
    train(run, corpus, *QUICK, "train.steps=5")
    result = CliRunner().invoke(main, words(run, corpus, *QUICK, "model.n_heads=2"))
    assert result.exit_code == 2
    assert "was started with model.n_heads = 4, not 2: continue it with the same" in result.stderr


def test_continuing_with_other_text_is_an_error(tmp_path, corpus) -> None:
    run = tmp_path / "run"
    train(run, corpus, *QUICK, "train.steps=5")
    other = digits.write(tmp_path / "other.tsv", digits.pairs(200, seed=9))
    again = words(run, ["--train", str(other), *corpus[2:]], *QUICK)
    result = CliRunner().invoke(main, again)
    assert result.exit_code == 2
    assert "was started with other text: continue it with the same files" in result.stderr


def test_early_stopping_stays_stopped_until_patience_is_raised(tmp_path, corpus) -> None:
    run, early = tmp_path / "run", [*STALE, "train.steps=900"]
    result = train(run, corpus, *early, "train.patience=2")
    assert "no improvement in 2 validations: stopping here" in result.stderr
    stopped, before = step_reached(run), contents(run)
    assert stopped < 100
    again = train(run, corpus, *early, "train.patience=2")
    assert again.stderr == (
        f"{run} is finished, at step {stopped}, and its model is {run / 'model'}: raise "
        "train.patience to train it further\n"
    )
    assert contents(run) == before
    train(run, corpus, *early, "train.patience=4")
    assert step_reached(run) == stopped + 4  # two more validations
    assert contents(run)["model/model.safetensors"] != before["model/model.safetensors"]


def test_a_run_killed_after_early_stopping_writes_its_model_when_continued(
    tmp_path, corpus, monkeypatch
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    early = [*STALE, "train.steps=900", "train.patience=2"]
    train(whole, corpus, *early)
    with monkeypatch.context() as patch:
        patch.setattr("transduce.train.job.finish", lambda *_: 1 / 0)
        assert CliRunner().invoke(main, words(killed, corpus, *early)).exit_code == 1
    assert not (killed / "model").exists()
    train(killed, corpus, *early)
    assert step_reached(killed) == step_reached(whole)
    assert final_weights(killed) == final_weights(whole)


def test_a_finished_run_is_reported_and_its_model_is_not_changed(tmp_path, corpus) -> None:
    run = tmp_path / "run"
    train(run, corpus, *QUICK, "train.steps=10")
    assert CliRunner().invoke(main, ["average", str(run), "--stored", "int8"]).exit_code == 0
    card = run / "model" / "card.md"
    card.write_text(card.read_text("utf-8") + "BLEU 40.0\n", "utf-8")
    before = contents(run)
    for args in (words(run, corpus, *QUICK, "train.steps=10"), ["train", str(run)]):
        again = CliRunner().invoke(main, args)
        assert again.exit_code == 0
        assert again.stderr == (
            f"{run} is finished, at step 10, and its model is {run / 'model'}: raise "
            "train.steps to train it further\n"
        )
        assert contents(run) == before
    shutil.rmtree(run / "data")  # which a finished run does not need
    assert CliRunner().invoke(main, ["train", str(run)]).exit_code == 0
    assert not (run / "data").exists()


def test_an_extended_run_killed_before_its_model_is_written_writes_it_when_continued(
    tmp_path, corpus, monkeypatch
) -> None:
    run = tmp_path / "run"
    train(run, corpus, *QUICK, "train.steps=10")
    short = final_weights(run)
    with monkeypatch.context() as patch:
        patch.setattr("transduce.train.job.finish", lambda *_: 1 / 0)
        CliRunner().invoke(main, words(run, corpus, *QUICK, "train.steps=15"))
    assert final_weights(run) == short
    assert "ready" in train(run, corpus, *QUICK, "train.steps=15").stderr
    assert final_weights(run) != short


def test_a_run_of_an_older_version_continues_after_its_rollbacks(tmp_path, corpus) -> None:
    """Version 0.1 called rollbacks retreats, and kept the best weights beside the checkpoints."""
    run = tmp_path / "run"
    train(run, corpus, *QUICK, "train.steps=10")
    folder = run / "checkpoints" / "step-00000010"
    state = json.loads((folder / "state.json").read_text("utf-8"))
    del state["rollbacks"]
    (folder / "state.json").write_text(json.dumps({**state, "retreats": 2}), "utf-8")
    sign(folder)
    (run / "checkpoints" / "best").mkdir()
    assert "continuing from step 10" in train(run, corpus, *QUICK, "train.steps=15").stderr
    written = (run / "checkpoints" / "step-00000015" / "state.json").read_text("utf-8")
    assert json.loads(written)["rollbacks"] == 2
