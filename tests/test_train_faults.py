"""Faults while training: damaged files, a full disk, and values that are not finite."""

import itertools
import math
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load_file, save_file
from training import QUICK, sign, train, words, write_corpus

from transduce.cli import main
from transduce.errors import ModelError
from transduce.train.run import read_metrics
from transduce.train.state import read_state

DAMAGED = b'[1]\n7\n{"step": "x"}\n\xff\xfe\x00\n' + b"[" * 100_000 + b"\n"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> list[str]:
    return write_corpus(tmp_path_factory.mktemp("text"))


def damage(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("name", ["model.safetensors", "optimiser.safetensors", "state.json"])
def test_a_damaged_checkpoint_is_logged_and_the_one_before_it_is_used(
    tmp_path, corpus, name
) -> None:
    run = tmp_path / "run"
    train(run, corpus, *QUICK, "train.steps=10")
    damage(run / "checkpoints" / "step-00000010" / name)
    result = train(run, corpus, *QUICK, "train.steps=12")
    assert "step-00000010 cannot be used" in result.stderr
    assert "trying the one before it" in result.stderr
    assert "continuing from step 5" in result.stderr


def test_a_half_written_checkpoint_is_not_a_checkpoint(tmp_path, corpus) -> None:
    run = tmp_path / "run"
    train(run, corpus, *QUICK, "train.steps=10")
    last = run / "checkpoints" / "step-00000010"
    last.rename(last.with_name(".step-00000010.123.part"))
    (last.with_name(".step-00000010.123.part") / "state.json").unlink()
    assert "continuing from step 5" in train(run, corpus, *QUICK, "train.steps=12").stderr


def test_a_full_disk_is_an_error_that_names_the_last_checkpoint(
    tmp_path, corpus, monkeypatch
) -> None:
    run = tmp_path / "run"
    train(run, corpus, *QUICK, "train.steps=5")

    def no_room(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("transduce.train.state.save_file", no_room)
    result = CliRunner().invoke(main, words(run, corpus, *QUICK, "train.steps=10"))
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    assert (
        "step-00000005 is intact: free some space, and the same command continues" in result.stderr
    )
    monkeypatch.undo()
    assert "continuing from step 5" in train(run, corpus, *QUICK, "train.steps=10").stderr
    assert not list((run / "checkpoints").glob(".*"))


def spoil_gradient(monkeypatch, calls: set[int], value: float = math.inf) -> None:
    """One number of the gradient becomes `value` in these calls; the reported loss stays."""
    from transduce.train.objective import Gradient

    honest, count = Gradient.of, itertools.count(1)

    def of(self, store, batch):
        result = honest(self, store, batch)
        if next(count) in calls:
            next(self.objective.parameters()).grad[-1, -1] = value
        return result

    monkeypatch.setattr(Gradient, "of", of)


@pytest.mark.parametrize("clip", [[], ["train.clip_norm=1"]], ids=["", "clipped"])
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_an_infinite_gradient_on_a_checkpoint_step_is_rolled_back_and_never_saved(
    tmp_path, corpus, monkeypatch, value, clip
) -> None:
    spoil_gradient(monkeypatch, {10}, value)
    result = train(tmp_path / "run", corpus, *QUICK, "train.steps=12", *clip)
    assert "the gradient is not finite at step 10: back to step 5 with half" in result.stderr
    record = read_metrics(tmp_path / "run" / "metrics.jsonl")
    (rollback,) = [entry for entry in record if entry["event"] == "rollback"]
    assert (rollback["step"], rollback["failed_step"]) == (5, 10)
    rates = {e["step"]: e["learning_rate"] for e in record if e["event"] == "train"}
    assert rates[12] == pytest.approx(rates[5] * 12 / 5 / 2)
    for file in (tmp_path / "run").rglob("*.safetensors"):
        assert all(tensor.isfinite().all() for tensor in load_file(file).values()), file


def test_a_loss_that_is_not_finite_is_rolled_back(tmp_path, corpus, monkeypatch) -> None:
    """A weight that overflows the logits, so that the network itself computes such a loss."""
    from transduce.train.loop import Trainer

    honest, count = Trainer._step, itertools.count(1)

    def step(self, *args):
        if next(count) == 8:
            with torch.no_grad():
                next(self.learner.model.parameters())[:] = 3e38
        return honest(self, *args)

    monkeypatch.setattr(Trainer, "_step", step)
    result = train(tmp_path / "run", corpus, *QUICK, "train.steps=12")
    assert "the loss is not finite at step 8: back to step 5 with half" in result.stderr


def test_weights_that_are_not_finite_are_never_saved_and_end_with_advice(
    tmp_path, corpus, monkeypatch
) -> None:
    """So high a learning rate that the first update overflows, though its gradient is finite."""
    monkeypatch.setattr("transduce.train.loop.scheduled_rate", lambda *_: 1e300)
    result = CliRunner().invoke(main, words(tmp_path / "run", corpus, "train.checkpoint_steps=1"))
    assert result.exit_code == 2
    assert "the weights are not finite at step 1: back to step 0 with half" in result.stderr
    assert "at step 1, again after 3 rollbacks: lower train.lr_factor or" in result.stderr
    assert not list((tmp_path / "run" / "checkpoints").glob("*"))


@pytest.mark.parametrize("name", ["model.safetensors", "optimiser.safetensors"])
def test_a_checkpoint_with_infinite_or_nan_values_is_skipped(tmp_path, corpus, name) -> None:
    run = tmp_path / "run"
    train(run, corpus, *QUICK, "train.steps=10")
    folder = run / "checkpoints" / "step-00000010"
    tensors = load_file(folder / name)
    next(iter(tensors.values())).view(-1)[3] = math.inf
    save_file(tensors, folder / name)
    sign(folder)
    result = train(run, corpus, *QUICK, "train.steps=12")
    assert f"step-00000010/{name} has values that are infinite or NaN" in result.stderr
    assert "continuing from step 5" in result.stderr


def test_a_run_continues_with_a_damaged_record_lock_and_list_of_files(tmp_path, corpus) -> None:
    run = tmp_path / "run"
    train(run, corpus, *QUICK, "train.steps=10")
    for name in ("metrics.jsonl", "lock", "inputs.json"):
        (run / name).write_bytes(DAMAGED + (run / name).read_bytes())
    alone = CliRunner().invoke(main, ["train", str(run)])
    assert alone.exit_code == 2
    assert "inputs.json is damaged" in alone.stderr
    assert "name the files again" in alone.stderr
    result = train(run, corpus, *QUICK, "train.steps=12")
    assert "continuing from step 10" in result.stderr
    assert f"{run / 'metrics.jsonl'} is damaged: it is kept as metrics.jsonl.damaged" in (
        result.stderr
    )
    assert (run / "metrics.jsonl.damaged").read_bytes().startswith(DAMAGED)
    steps = [e["step"] for e in read_metrics(run / "metrics.jsonl") if e["event"] == "train"]
    assert steps == list(range(1, 13))
    assert CliRunner().invoke(main, ["train", str(run)]).exit_code == 0


def test_a_checkpoint_with_a_damaged_state_is_skipped(tmp_path, corpus) -> None:
    run = tmp_path / "run"
    train(run, corpus, *QUICK, "train.steps=10")
    folder = run / "checkpoints" / "step-00000010"
    for state in ("", "[]", "7", '{"step": "ten"}', "[" * 100_000, "\x00", '{"scheduled": true}'):
        (folder / "state.json").write_text(state, "utf-8")
        with pytest.raises(ModelError, match=r"state\.json"):
            read_state(folder)
    sign(folder)
    result = train(run, corpus, *QUICK, "train.steps=12")
    assert "step-00000010 cannot be used" in result.stderr
    assert "continuing from step 5" in result.stderr
