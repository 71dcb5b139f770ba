"""What training computes: gradients, precisions, a moving average, and tasks that are learned."""

import json
import random
import subprocess
import sys

import digits
import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load_file
from training import QUICK, command, train, write_corpus

from transduce.cli import main
from transduce.train.run import read_metrics
from transduce.train.state import Learner, numbered, read_state


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> list[str]:
    return write_corpus(tmp_path_factory.mktemp("text"))


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


@pytest.mark.parametrize("consistency", [0.0, 5.0])
@pytest.mark.parametrize("many", [2, 3])
def test_a_batch_in_micro_batches_has_the_gradient_of_the_whole_batch(
    tmp_path, corpus, many, consistency
) -> None:
    """How accumulation and processes share a batch; without dropout, which each part draws."""
    from transduce.model import Transformer
    from transduce.train.objective import Gradient
    from transduce.train.prepare import reopen
    from transduce.train.processes import Processes
    from transduce.train.run import Run, read_config

    settings = ["train.steps=1", "model.p_drop=0.0", f"train.consistency={consistency}"]
    train(tmp_path / "run", corpus, *settings)
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


def test_r_drop_reads_a_batch_twice_and_counts_its_tokens_once(tmp_path, corpus) -> None:
    losses, positions = [], []
    for number, consistency in enumerate((0.0, 5.0)):
        run = tmp_path / str(number)
        drop = "model.p_drop=0.5" if consistency else "model.p_drop=0.0"
        train(
            run,
            corpus,
            "train.steps=1",
            "train.log_steps=1",
            drop,
            f"train.consistency={consistency}",
        )
        losses.append(
            [e["loss"] for e in read_metrics(run / "metrics.jsonl") if e["event"] == "train"]
        )
        positions.append(read_state(numbered(run / "checkpoints")[-1])[0])
    once, twice = positions
    assert (twice.tokens, twice.operations) == (once.tokens, 2 * once.operations)
    assert losses[1] > losses[0]


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
