"""Training from the command line: learning, stopping, resuming and failing."""

import hashlib
import itertools
import json
import math
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import digits
import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load_file, save_file

from transduce.cli import main
from transduce.corpus.text import Corpus, Text
from transduce.directory import ModelDirectory
from transduce.errors import ModelError
from transduce.train.inputs import Inputs
from transduce.train.publish import languages_of
from transduce.train.run import read_metrics
from transduce.train.state import Learner, read_state


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> list[str]:
    folder = tmp_path_factory.mktemp("text")
    train = digits.write(folder / "train.tsv", digits.pairs(600, seed=1))
    valid = digits.write(folder / "valid.tsv", digits.pairs(40, seed=2))
    return ["--train", str(train), "--valid", str(valid)]


def words(run: Path, corpus: list[str], *settings: str) -> list[str]:
    return ["train", str(run), *corpus, *digits.settings(*digits.SMALL, *settings)]


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "transduce", *args]


def train(run: Path, corpus: list[str], *settings: str):
    result = CliRunner().invoke(main, words(run, corpus, *settings))
    assert result.exit_code == 0, result.output
    return result


def final_weights(run: Path) -> bytes:
    return (run / "model" / "model.safetensors").read_bytes()


QUICK = ["train.steps=30", "train.checkpoint_steps=5", "train.validate_steps=10"]


MIXED = [
    *QUICK,
    "data.noise_swap_numbers=0.2",
    "data.bpe_dropout=0.1",
    "data.bpe_dropout_copies=2",
]


@pytest.fixture(scope="module")
def mixture(corpus) -> list[str]:
    """A second corpus, of which each epoch sees another half, and whose sources have a tag."""
    file = digits.write(Path(corpus[1]).with_name("second.tsv"), digits.pairs(300, seed=3))
    return [*corpus, "--train", f"{file}:0.5:tag=bt"]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory, mixture) -> Path:
    """An uninterrupted run of 30 steps, with both kinds of dropout, two corpora and noise."""
    run = tmp_path_factory.mktemp("runs") / "whole"
    done = subprocess.run(
        command(*words(run, mixture, *MIXED)), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return run


def step_reached(run: Path) -> int:
    return max((entry["step"] for entry in read_metrics(run / "metrics.jsonl")), default=0)


def traces(run: Path) -> set[str]:
    """How far a run has come: what it has prepared, trained and finished."""
    patterns = {
        "prepared": "prepared.json",
        "trained": "checkpoints/step-*",
        "finished": "model/config.json",
    }
    return {name for name, pattern in patterns.items() if list(run.glob(pattern))}


@pytest.mark.slow
def test_a_run_killed_at_random_moments_ends_with_the_same_files(
    tmp_path, mixture, uninterrupted
) -> None:
    """The moments are spread over preparing, training and finishing."""
    run, rng = tmp_path / "killed", random.Random()
    began = time.monotonic()
    subprocess.run(command("train", "--help"), capture_output=True, check=True)
    start_up = time.monotonic() - began
    killed_at, phases = [], [set(), {"prepared"}, {"prepared", "trained"}]
    for phase in (0, 0, 1, 2, 2, 2):
        process = subprocess.Popen(
            command(*words(run, mixture, *MIXED)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        while process.poll() is None and not traces(run) >= phases[phase]:
            time.sleep(0.005)
        if phase == 2 and rng.random() < 0.5:  # in the last steps, or while the model is made
            while process.poll() is None and step_reached(run) < 30:
                time.sleep(0.005)
        time.sleep(rng.uniform(0, 2 * start_up if phase == 0 else 0.3))
        if process.poll() is None:
            killed_at.append(frozenset(traces(run)))
            process.kill()
        process.communicate()
    train(run, mixture, *MIXED)
    assert len(killed_at) >= 3
    assert any("trained" not in found for found in killed_at)
    ends = [
        {name: content for name, content in contents(each).items() if name.startswith(kept)}
        for each in (run, uninterrupted)
        for kept in [("data/", "tokens.model", "model/model", "model/shortlist", "model/tokens")]
    ]
    assert ends[0] == ends[1]
    steps = [e["step"] for e in read_metrics(run / "metrics.jsonl") if e["event"] == "train"]
    assert steps == list(range(1, 31))  # no step is missing from the record, or there twice
    assert not list(run.rglob("*.part")) + list(run.rglob("*.old"))


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_stops_after_the_step_and_the_same_command_continues(
    tmp_path, mixture, uninterrupted, number, code
) -> None:
    run = tmp_path / "stopped"
    process = subprocess.Popen(
        command(*words(run, mixture, *MIXED)), stderr=subprocess.PIPE, text=True
    )
    while step_reached(run) < 7:
        time.sleep(0.01)
        assert process.poll() is None
    process.send_signal(number)
    _, log = process.communicate(timeout=60)
    assert process.returncode == code
    stopped = step_reached(run)
    assert f"stopped and saved at step {stopped:,}; the same command continues" in log
    assert "Traceback" not in log
    assert (run / "checkpoints" / f"step-{stopped:08d}").is_dir()
    result = train(run, mixture, *MIXED)
    assert f"continuing from step {stopped:,}" in result.stderr
    assert final_weights(run) == final_weights(uninterrupted)


def test_the_run_directory_has_all_its_files(uninterrupted) -> None:
    names = {path.name for path in uninterrupted.iterdir()}
    assert {"config.toml", "metrics.jsonl", "checkpoints", "data", "lock", "model"} <= names
    files = {path.name for path in (uninterrupted / "model").iterdir()}
    assert files == {
        "config.json",
        "model.safetensors",
        "tokens.model",
        "shortlist.safetensors",
        "card.md",
        "checksums.json",
    }
    steps = sorted(path.name for path in (uninterrupted / "checkpoints").iterdir())
    assert steps == [f"step-{step:08d}" for step in (10, 15, 20, 25, 30)]


def test_the_final_model_is_the_mean_of_the_last_checkpoints_or_a_better_one(uninterrupted) -> None:
    """§6.1: the last 5 checkpoints, averaged."""
    parts = [
        load_file(uninterrupted / "checkpoints" / f"step-{step:08d}" / "model.safetensors")
        for step in (10, 15, 20, 25, 30)
    ]
    model = ModelDirectory.open(uninterrupted / "model")
    if single := re.match(
        r"checkpoint of step (\d+), better than", model.description.weights or ""
    ):
        parts = [parts[int(single[1]) // 5 - 2]]
    for name, weight in model.network().named_parameters():
        mean = torch.stack([part[name].double() for part in parts]).mean(0).float()
        torch.testing.assert_close(weight.detach(), mean, rtol=0, atol=1e-7)


def test_the_card_says_what_it_was_trained_on(uninterrupted) -> None:
    card = (uninterrupted / "model" / "card.md").read_text("utf-8")
    for part in ("train.tsv", "600 pairs read", "30 steps", "perplexity", "mean of 5"):
        assert part in card


def test_a_run_continues_from_its_directory_alone_and_can_be_made_longer(tmp_path, corpus) -> None:
    run = tmp_path / "run"
    train(run, corpus, *QUICK, "train.steps=10")
    result = CliRunner().invoke(main, ["train", str(run)])
    assert result.exit_code == 0, result.output
    longer = train(run, corpus, *QUICK, "train.steps=15")
    assert "continuing from step 10" in longer.stderr
    assert step_reached(run) == 15


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


def test_gradients_are_clipped_to_the_norm_that_was_asked_for(
    tmp_path, corpus, monkeypatch
) -> None:
    norms: list[float] = []
    honest = Learner.update

    def update(self, rate):
        grads = [p.grad.flatten() for p in self.parameters.values()]
        norms.append(float(torch.cat(grads).norm()))
        honest(self, rate)

    monkeypatch.setattr(Learner, "update", update)
    train(tmp_path / "free", corpus, "train.steps=3")
    free = norms.copy()
    norms.clear()
    train(tmp_path / "clipped", corpus, "train.steps=3", f"train.clip_norm={free[0] / 2}")
    assert norms[0] == pytest.approx(free[0] / 2, rel=1e-4)
    norms.clear()
    train(tmp_path / "loose", corpus, "train.steps=3", f"train.clip_norm={2 * max(free)}")
    assert norms == free  # what is below the limit is left alone


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


def test_validation_data_is_held_out_when_none_is_given(tmp_path, corpus) -> None:
    result = train(tmp_path / "run", corpus[:2], *QUICK, "train.steps=5")
    held_out = re.search(r"no validation data given: training pairs held out: (\d+)", result.stderr)
    assert held_out
    assert 9 <= int(held_out[1]) <= 12  # one in fifty of 600, less the duplicates


STALE = ["train.lr_factor=1e-9", "train.validate_steps=2", "train.checkpoint_steps=100"]


def contents(run: Path) -> dict[str, bytes]:
    """Every file of a run but the lock, which holds the number of the last process."""
    files = (path for path in run.rglob("*") if path.is_file() and path.name != "lock")
    return {str(path.relative_to(run)): path.read_bytes() for path in files}


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


def test_a_checkpoint_is_saved_when_its_minutes_are_over(tmp_path, corpus) -> None:
    settings = ["train.steps=6", "train.checkpoint_steps=100", "train.validate_steps=100"]
    train(tmp_path / "rare", corpus, *settings, "train.checkpoint_minutes=60")
    train(tmp_path / "often", corpus, *settings, "train.checkpoint_minutes=1e-9", "train.keep=9")
    saved = {
        name: sorted(path.name for path in (tmp_path / name / "checkpoints").iterdir())
        for name in ("rare", "often")
    }
    assert saved["rare"] == ["step-00000006"]
    assert saved["often"] == [f"step-{step:08d}" for step in range(1, 7)]


def test_bfloat16_learns_as_float32_does(tmp_path, corpus) -> None:
    """Products in bfloat16; weights, moments and the model stay float32."""
    losses = {}
    for precision in ("float32", "bfloat16"):
        run = tmp_path / precision
        train(run, corpus, *QUICK, f"train.precision={precision}", "model.p_drop=0.0")
        entries = [e for e in read_metrics(run / "metrics.jsonl") if e["event"] == "train"]
        losses[precision] = [entry["loss"] for entry in entries]
        weights = load_file(run / "model" / "model.safetensors")
        assert {weight.dtype for weight in weights.values()} == {torch.float32}
    assert losses["bfloat16"] != losses["float32"]
    assert losses["bfloat16"] == pytest.approx(losses["float32"], abs=0.05)
    assert losses["bfloat16"][-1] < losses["bfloat16"][0] - 0.5


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


def sign(folder: Path) -> None:
    """Makes the checksums of a checkpoint agree with its files."""
    files = [path for path in folder.iterdir() if path.name != "checksums.json"]
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    (folder / "checksums.json").write_text(json.dumps(sums), "utf-8")


DAMAGED = b'[1]\n7\n{"step": "x"}\n\xff\xfe\x00\n' + b"[" * 100_000 + b"\n"


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


def test_the_final_model_is_the_exponential_moving_average_if_there_is_one(
    tmp_path, corpus
) -> None:
    run = tmp_path / "run"
    ema = ["train.ema=0.9", "train.steps=6", "train.checkpoint_steps=1", "train.keep=6"]
    train(run, corpus, *ema)
    folders = [run / "checkpoints" / f"step-{step:08d}" for step in range(1, 7)]
    final = load_file(run / "model" / "model.safetensors")
    stored = load_file(folders[-1] / "optimiser.safetensors")
    for name, weight in final.items():
        assert torch.equal(weight, stored[f"ema.{name}"])
    name = "output.weight" if "output.weight" in final else "source_embedding.weight"
    means = [load_file(f / "optimiser.safetensors")[f"ema.{name}"] for f in folders]
    weights = [load_file(f / "model.safetensors")[name] for f in folders]
    for before, mean, weight in zip(means, means[1:], weights[1:], strict=False):
        torch.testing.assert_close(mean, 0.9 * before + 0.1 * weight, rtol=0, atol=1e-6)


@pytest.mark.parametrize("many", [2, 3])
def test_a_batch_in_micro_batches_has_the_gradient_of_the_whole_batch(
    tmp_path, corpus, many
) -> None:
    """How accumulation and processes share a batch; without dropout, which each part draws."""
    from transduce.model import Transformer
    from transduce.train.objective import Gradient
    from transduce.train.prepare import reopen
    from transduce.train.processes import Processes
    from transduce.train.run import Run, read_config

    train(tmp_path / "run", corpus, "train.steps=1", "model.p_drop=0.0")
    data, config = reopen(Run(tmp_path / "run")), read_config(Run(tmp_path / "run"))
    model = Transformer(config.model).double()
    batch = torch.arange(50).numpy()
    grads = []
    for parts in (1, many):
        alone = Processes(0, 1, torch.device("cpu"))
        gradient = Gradient(model, config.train, alone, parts)
        model.zero_grad()
        result = gradient.of(data.train, batch)
        grads.append([p.grad.clone() for p in model.parameters()])
        assert result.nll > 0
    for whole, part in zip(*grads, strict=True):
        torch.testing.assert_close(whole, part, rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "optimiser", "steps"),
    [("copy", "adam", 1300), ("reverse", "adam", 1300), ("reverse", "muon", 650)],
)
def test_a_model_learns_a_task_with_any_seed(tmp_path, task, optimiser, steps) -> None:
    """A fresh seed each time; at least 98 % of unseen sequences must come out exactly right."""
    seed = random.SystemRandom().randrange(10**6)
    lines = digits.pairs(8000, seed, longest=6, task=task)
    seen = {source for source, _ in lines}
    others = digits.pairs(4000, seed + 1, longest=6, task=task)
    unseen = [pair for pair in others if pair[0] not in seen]
    text = digits.write(tmp_path / "train.tsv", lines)
    valid = digits.write(tmp_path / "valid.tsv", unseen[:400])
    settings = [
        *digits.SMALL,
        "model.d_model=64",
        "model.d_ff=128",
        "model.n_layers=2",
        "train.tokens_per_batch=1024",
        "model.p_drop=0.05",
        f"train.optimiser={optimiser}",
        f"train.steps={steps}",
        "train.warmup_steps=250",
        "train.checkpoint_steps=40",
        f"train.validate_steps={steps}",
        "train.log_steps=100",
        "train.bleu_sentences=400",
        f"train.seed={seed}",
    ]
    args = ["train", str(tmp_path / "run"), "--train", str(text), "--valid", str(valid)]
    done = subprocess.run(
        command(*args, *digits.settings(*settings)), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    final = read_metrics(tmp_path / "run" / "metrics.jsonl")[-1]
    assert final["event"] == "final"
    assert final["exact_match"] >= 0.98, f"seed {seed}: {json.dumps(final)}"


def test_the_optimiser_is_the_papers() -> None:
    """§5.3: β₁ = 0.9, β₂ = 0.98, ε = 10⁻⁹; no weight decay."""
    from transduce.config import ModelConfig
    from transduce.model import Transformer

    small = ModelConfig(vocab_size=11, d_model=8, d_ff=8, n_heads=2, n_layers=1)
    (adam,) = Learner(Transformer(small)).optimisers
    for group in adam.param_groups:
        assert group["betas"] == (0.9, 0.98)
        assert (group["eps"], group["weight_decay"], group["amsgrad"]) == (1e-9, 0, False)


@pytest.mark.slow
def test_the_bleu_of_the_log_is_that_of_evaluate_and_of_the_sacrebleu_command(tmp_path) -> None:
    lines = digits.pairs(400, seed=5)
    text, valid = (
        digits.write(tmp_path / name, some)
        for name, some in (("train.tsv", lines[:370]), ("valid.tsv", lines[370:]))
    )
    files = ["--train", str(text), "--valid", str(valid)]
    steps = ("train.steps=60", "train.validate_steps=60", "train.checkpoint_steps=60")
    train(tmp_path / "run", files, *steps, "train.bleu_sentences=30", "train.average=1")
    logged = {
        entry["event"]: entry["bleu"]
        for entry in read_metrics(tmp_path / "run" / "metrics.jsonl")
        if "bleu" in entry
    }
    source, reference, output = (tmp_path / name for name in ("src", "ref", "out"))
    source.write_text("".join(f"{a}\n" for a, _ in lines[370:]), "utf-8")
    reference.write_text("".join(f"{b}\n" for _, b in lines[370:]), "utf-8")
    model = ["--model", str(tmp_path / "run" / "model"), "--engine", "torch", "--json"]
    for event, beam in (("validation", "1"), ("final", "4")):
        words = ["evaluate", str(source), str(reference), *model, "--beam", beam]
        result = CliRunner().invoke(main, [*words, "--output", str(output)])
        assert json.loads(result.stdout)["bleu"] == pytest.approx(logged[event], abs=1e-9)
        program = [sys.executable, "-m", "sacrebleu", str(reference), "-i", str(output)]
        scored = subprocess.run([*program, "-w", "6"], capture_output=True, text=True, check=True)
        assert json.loads(scored.stdout)["score"] == pytest.approx(logged[event], abs=1e-5)
        assert logged[event] > 0


@pytest.mark.parametrize(
    ("sources", "targets", "codes"),
    [
        ("train.en.gz", "train.de.gz", ("en", "de")),
        ("corpus-en-de/train.tsv.gz", None, ("en", "de")),
        ("europarl.en-fra.tsv", None, ("en", "fra")),
        ("pairs.tsv", None, None),
        ("train.en.txt", "train.de.txt", ("en", "de")),
        ("source.txt", "target.txt", None),
    ],
)
def test_languages_are_read_from_file_names(sources, targets, codes) -> None:
    text = Text((Path("data") / sources,), (Path("data") / targets,) if targets else ())
    found = languages_of(Inputs((Corpus(text),)))
    assert tuple(found.values()) == (codes or ())
