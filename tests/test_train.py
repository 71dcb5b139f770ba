"""Training: the paper's optimiser and average, and what a run leaves, also if it is killed."""

import random
import re
import signal
import subprocess
import time
from pathlib import Path

import digits
import pytest
import torch
from safetensors.torch import load_file
from training import (
    QUICK,
    command,
    contents,
    final_weights,
    step_reached,
    train,
    words,
    write_corpus,
)

from transduce.corpus.text import Corpus, Text
from transduce.directory import ModelDirectory
from transduce.train.inputs import Inputs
from transduce.train.publish import languages_of
from transduce.train.run import read_metrics
from transduce.train.state import Learner

MIXED = [
    *QUICK,
    "data.noise_swap_numbers=0.2",
    "data.bpe_dropout=0.1",
    "data.bpe_dropout_copies=2",
    "train.consistency=2",
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> list[str]:
    return write_corpus(tmp_path_factory.mktemp("text"))


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
    parts = ("train.tsv", "600 pairs read", "30 steps", "R-Drop, α 2", "perplexity", "mean of 5")
    for part in parts:
        assert part in card


def test_validation_data_is_held_out_when_none_is_given(tmp_path, corpus) -> None:
    result = train(tmp_path / "run", corpus[:2], *QUICK, "train.steps=5")
    held_out = re.search(r"no validation data given: training pairs held out: (\d+)", result.stderr)
    assert held_out
    assert 9 <= int(held_out[1]) <= 12  # one in fifty of 600, less the duplicates


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


def test_the_optimiser_is_the_papers() -> None:
    """§5.3: β₁ = 0.9, β₂ = 0.98, ε = 10⁻⁹; no weight decay."""
    from transduce.config import ModelConfig
    from transduce.model import Transformer

    small = ModelConfig(vocab_size=11, d_model=8, d_ff=8, n_heads=2, n_layers=1)
    (adam,) = Learner(Transformer(small)).optimisers
    for group in adam.param_groups:
        assert group["betas"] == (0.9, 0.98)
        assert (group["eps"], group["weight_decay"], group["amsgrad"]) == (1e-9, 0, False)


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
