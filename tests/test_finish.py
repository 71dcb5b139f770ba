"""The model that a run leaves: the average of its last checkpoints, or a better one of them."""

import json
import re
from pathlib import Path

import digits
import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load_file

from transduce.cli import main
from transduce.tasks import TRANSLATION
from transduce.train import state
from transduce.train.run import Run, numbered, read_metrics
from transduce.train.validate import ValidationScores

STEPS = ("train.checkpoint_steps=5", "train.validate_steps=5", "train.keep=2", "train.average=2")


def train(folder: Path, *settings: str) -> tuple[Run, str]:
    file = digits.write(folder / "train.tsv", digits.pairs(400, seed=1))
    valid = digits.write(folder / "valid.tsv", digits.pairs(40, seed=2))
    words = ["--train", str(file), "--valid", str(valid)]
    options = digits.settings(*digits.SMALL, *STEPS, *settings)
    done = CliRunner().invoke(main, ["train", str(folder / "run"), *words, *options])
    assert done.exit_code == 0, done.output
    return Run(folder / "run"), done.stderr


def weights(path: Path) -> dict[str, torch.Tensor]:
    return load_file(path / "model.safetensors")


def final(run: Run) -> dict:
    return read_metrics(run.metrics)[-1]


def test_the_average_is_the_model_where_it_is_better(tmp_path) -> None:
    run, log = train(tmp_path, "train.steps=40", "train.warmup_steps=30")
    mean = state.average([run.checkpoints / f"step-{step:08d}" for step in (35, 40)])
    torch.testing.assert_close(weights(run.model), mean)
    assert final(run)["what"] == "mean of 2 checkpoints (steps 35, 40)"
    assert "better than" not in log


def test_a_last_checkpoint_that_is_better_than_the_average_is_the_model(
    tmp_path, monkeypatch
) -> None:
    average = state.average
    monkeypatch.setattr(
        state, "average", lambda paths: {n: torch.zeros_like(w) for n, w in average(paths).items()}
    )
    run, log = train(tmp_path, "train.steps=40", "train.warmup_steps=30")
    last = run.checkpoints / "step-00000040"
    torch.testing.assert_close(weights(run.model), weights(last), rtol=0, atol=0)
    what = "checkpoint of step 40, better than the mean of 2 checkpoints (steps 35, 40)"
    assert f"the model is the {what} on the validation data" in log
    assert what in (run.model / "card.md").read_text("utf-8")
    assert final(run)["what"] == what
    scores = [e["nll"] for e in read_metrics(run.metrics) if e.get("event") == "validation"]
    assert final(run)["nll"] == pytest.approx(scores[-1], rel=1e-5)


@pytest.mark.parametrize("ema", [0.0, 0.1])
def test_an_earlier_checkpoint_that_is_the_best_is_kept_and_is_the_model(tmp_path, ema) -> None:
    rising = ("train.warmup_steps=1000", "train.lr_factor=9000.0", f"train.ema={ema}")
    run, log = train(tmp_path, "train.steps=40", *rising)
    scores = {
        e["step"]: e["nll"] for e in read_metrics(run.metrics) if e.get("event") == "validation"
    }
    step = min(scores, key=lambda step: scores[step])
    assert step < 35, "the learning rate does not ruin the network"
    best = run.checkpoints / f"step-{step:08d}"
    assert state.best(run) == best
    assert numbered(run.checkpoints) == sorted(
        [best, *(run.checkpoints / f"step-000000{n}" for n in (35, 40))]
    )
    assert f"the model is the checkpoint of step {step}, better than the " in log
    torch.testing.assert_close(weights(run.model), state.weights_at(best, ema > 0))
    assert final(run)["nll"] == pytest.approx(scores[step], rel=1e-5)


def test_a_damaged_best_checkpoint_is_not_the_model(tmp_path) -> None:
    rising = ("train.warmup_steps=1000", "train.lr_factor=9000.0")
    run, _ = train(tmp_path, "train.steps=40", *rising)
    best = state.best(run)
    assert best is not None
    content = bytearray((best / "model.safetensors").read_bytes())
    content[-3] ^= 1
    (best / "model.safetensors").write_bytes(content)
    run, log = train(tmp_path, "train.steps=41", *rising)
    assert f"checkpoint of step {state.step_of(best)}," not in log


def test_a_checkpoint_saved_on_a_signal_is_never_the_best(tmp_path) -> None:
    run, _ = train(tmp_path, "train.steps=40", "train.warmup_steps=30")
    best = state.best(run)
    assert best == run.checkpoints / "step-00000040"
    facts = json.loads((best / "state.json").read_text("utf-8"))
    (best / "state.json").write_text(json.dumps({**facts, "scheduled": False}), "utf-8")
    assert state.best(run) != best


def test_a_model_is_better_only_if_its_main_metric_is_not_worse() -> None:
    metric, _ = TRANSLATION.metrics

    def scores(nll: float, bleu: float | None = None) -> ValidationScores:
        return ValidationScores(nll, 10, {} if bleu is None else {metric: bleu})

    assert scores(1.0).beats(scores(2.0))
    assert not scores(2.0).beats(scores(1.0))
    assert scores(1.0, 20.0).beats(scores(2.0, 20.0))
    assert not scores(1.0, 19.0).beats(scores(2.0, 20.0))


def test_the_card_of_int8_weights_has_their_scores_and_says_so(tmp_path) -> None:
    run, _ = train(tmp_path, "train.steps=40", "train.warmup_steps=30")
    perplexities = {}
    for dtype in ("float32", "int8"):
        out = tmp_path / dtype
        words = ["average", str(run.directory), "--last", "2", "--dtype", dtype]
        done = CliRunner().invoke(main, [*words, "--output", str(out)])
        assert done.exit_code == 0, done.output
        card = (out / "card.md").read_text("utf-8")
        assert ("stored as int8" in card) == (dtype == "int8")
        perplexities[dtype] = float(re.search(r"perplexity ([\d.]+)", card)[1])
    pairs = [tmp_path / name for name in ("s", "t")]
    for file, side in zip(pairs, zip(*digits.pairs(40, seed=2), strict=True), strict=True):
        file.write_text("".join(f"{line}\n" for line in side), "utf-8")
    words = ["score", *map(str, pairs), "--model", str(tmp_path / "int8"), "--engine", "torch"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    measured = float(re.search(r"perplexity ([\d.]+)", done.stderr)[1])
    assert perplexities["int8"] == pytest.approx(measured, abs=0.002)
    assert perplexities["int8"] != perplexities["float32"]
