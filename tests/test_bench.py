"""What `transduce bench` counts and compares. Nothing here is timed."""

import importlib.util
import json
import statistics
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from torch.utils.flop_counter import FlopCounterMode

from transduce import grammar
from transduce.batches import Batch
from transduce.bench.peers import BFLOAT16, NAMES, OURS, PEERS, TorchTransformer
from transduce.bench.process import take_turns, worker
from transduce.bench.report import median_ratio
from transduce.bench.train import Report, Speed, set_up, write_first_weights
from transduce.bench.trainers import WORKER, batches_of, loss_of, system_of
from transduce.cli import main
from transduce.config import Config, DataConfig, ModelConfig, TrainConfig
from transduce.errors import UserError
from transduce.exchange.huggingface import write_huggingface
from transduce.model import Transformer, attention
from transduce.model.operations import training_operations
from transduce.train.objective import Objective
from transduce.train.prepare import reopen
from transduce.train.run import Run

TRANSFORMERS = importlib.util.find_spec("transformers") is not None
INSTALLED = [name for name in PEERS if name != "huggingface" or TRANSFORMERS]
CONFIG = Config(
    model=ModelConfig(vocab_size=500, d_model=32, d_ff=48, n_heads=4, n_layers=2, p_drop=0.0),
    data=DataConfig(vocab_size=400),
    train=TrainConfig(tokens_per_batch=256, warmup_steps=10),
)


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch) -> Iterator[None]:
    """Small products are as fast with one, and threads fight where other tests run beside."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # of the systems' own processes
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> Path:
    """Sentence pairs of the built-in corpus."""
    file = tmp_path_factory.mktemp("text") / "pairs.tsv"
    pairs = grammar.sentences("train", 400, seed=0)
    file.write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), "utf-8")
    return file


@pytest.fixture(scope="module")
def run(text, tmp_path_factory) -> Run:
    """Encoded text and first weights, as every system finds them."""
    run = Run(tmp_path_factory.mktemp("run"))
    set_up(run, CONFIG, (text,), lambda _: None)
    write_first_weights(run, write_huggingface if TRANSFORMERS else None)
    return run


def test_operations_are_those_counted_by_hand() -> None:
    config = ModelConfig(vocab_size=10, d_model=4, d_ff=8, n_heads=2, n_layers=1)
    # three source tokens, two target tokens, heads of width 2; products of one number by another
    encoder = 3 * (4 * 12 + 4 * 4 + 2 * 4 * 8) + 2 * (3 * 3 * 2 + 3 * 3 * 2)
    masked = 2 * (4 * 12 + 4 * 4) + 2 * (2 * 2 * 2 + 2 * 2 * 2)
    across = 2 * (4 * 4 + 4 * 4) + 3 * 4 * 8 + 2 * (2 * 3 * 2 + 2 * 3 * 2)
    output = 2 * 4 * 10
    products = encoder + masked + across + 2 * (2 * 4 * 8) + output
    counted = training_operations(config, np.array([3]), np.array([2]))
    assert counted == 6 * products == 6192


@pytest.mark.parametrize("changes", [{}, {"d_k": 5, "d_v": 3, "n_encoder_layers": 3}], ids=str)
def test_operations_are_those_that_torch_counts_in_our_step(monkeypatch, changes) -> None:
    monkeypatch.setattr(attention, "fused_is_faster", lambda q, k: False)  # torch counts only bmm
    config = CONFIG.model.replace(**changes)
    rows, source, target = 3, 7, 5
    ids = torch.randint(3, config.vocab_size, (rows, source + target))
    objective = Objective(Transformer(config), smoothing=0.1)
    # torch counts addmm, but not its form in place
    in_place = {torch.ops.aten.addmm_: lambda _, a, b, **_shape: 2 * a[0] * a[1] * b[1]}
    with FlopCounterMode(display=False, custom_mapping=in_place) as counter:
        smoothed, _ = objective(Batch(ids[:, :source], ids[:, source:], ids[:, source:]))
        smoothed.backward()
    lengths = np.full(rows, source), np.full(rows, target)
    assert training_operations(config, *lengths) == counter.get_total_flops()


def test_systems_begin_with_the_same_loss_and_learn_the_same_from_the_same_batches(run) -> None:
    """Label smoothing spreads over V − 1 tokens here and over V in torch: hence not closer."""
    data = reopen(run)
    first, later = {}, {}
    for name in (OURS, BFLOAT16, *INSTALLED):
        system = system_of(name, run)
        first[name] = loss_of(system.network, data.valid, 256)
        batches = batches_of(data.train, CONFIG.train)
        for number in range(1, 9):
            system.step(number, next(batches))
        later[name] = loss_of(system.network, data.valid, 256)
    for name in (BFLOAT16, *INSTALLED):
        assert first[name] == pytest.approx(first[OURS], abs=1e-4)
        assert later[name] == pytest.approx(later[OURS], abs=1e-2)
    assert later[OURS] < first[OURS] - 0.3
    assert later[BFLOAT16] != later[OURS]


def test_torchs_network_drops_where_the_paper_does_and_nowhere_else() -> None:
    config = CONFIG.model.replace(p_drop=0.1)
    ours, theirs = Transformer(config).train(), TorchTransformer(config).train()
    ids = torch.randint(3, config.vocab_size, (2, 6))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        theirs(ids, ids)
    calls = {event.key: event.count for event in profile.key_averages()}
    sites = [m for m in ours.modules() if type(m).__name__ == "Dropout" and m.p]
    assert calls["aten::bernoulli_"] == len(sites)


def test_the_command_trains_every_system_and_its_json_keeps_its_keys(text, tmp_path) -> None:
    output = tmp_path / "bench.json"
    command = ["bench", "train", "--shape", "tiny", "--steps", "2", "--tokens", "256", "--json"]
    command += ["--against", ",".join(INSTALLED), "--train", str(text), "--output", str(output)]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report == json.loads(output.read_text("utf-8"))
    assert list(report) == [
        "machine",
        "load",
        "data",
        "steps",
        "tokens_per_batch",
        "peak_gflops",
        "results",
    ]
    assert [row["system"] for row in report["results"]] == [OURS, *INSTALLED]
    for row in report["results"]:
        assert list(row) == [
            "shape",
            "system",
            "target_tokens_per_second",
            "ratio",
            "peak_memory_mb",
            "gflops",
            "share_of_peak",
            "loss",
            "rounds",
        ]
        assert row["share_of_peak"] == pytest.approx(row["gflops"] / report["peak_gflops"])
        assert row["loss"] == pytest.approx(report["results"][0]["loss"], rel=0.02)
    assert report["results"][0]["ratio"] == 1
    table = Report(**{**report, "results": [Speed(**row) for row in report["results"]]}).render()
    assert all(NAMES[name] in table for name in (OURS, *INSTALLED))
    assert "pairs.tsv; 4 steps of 256 tokens a side, the first 2 not timed" in table


def test_the_ratio_is_the_median_over_the_rounds_of_neighbours_only() -> None:
    ours, theirs = [1.0, 2.0, 8.0], [3.0, 2.0, 16.0]
    assert median_ratio(theirs, ours) == statistics.median([3.0, 1.0, 2.0])
    assert median_ratio(ours, ours) == 1


def test_every_system_answers_every_round(run) -> None:
    asked = []
    rounds = [[{"steps": 1}], [{"steps": 2}], [{"steps": 1}]]
    arguments = [str(run.directory)], {"steps": 1}, rounds
    found = take_turns([OURS, "torch"], WORKER, *arguments, "tiny", asked.append)
    assert len(asked) == 3
    assert asked[1].startswith("tiny, round 2 of 3, seconds: transduce ")
    for answers in found.values():
        assert len(answers.seconds) == 3
        assert answers.last["peak_memory"] > 0


def test_an_unknown_peer_is_an_error_that_lists_the_known_ones() -> None:
    done = CliRunner().invoke(main, ["bench", "train", "--against", "torch,fairseq"])
    assert done.exit_code == 2
    assert done.stderr == "transduce: unknown peer 'fairseq'; known: torch, huggingface, bfloat16\n"


def test_without_transformers_the_extra_is_named(monkeypatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    done = CliRunner().invoke(main, ["bench", "train"])
    assert done.exit_code == 2
    assert "pip install 'transduce[huggingface]'" in done.stderr


def test_a_system_that_fails_is_named(tmp_path, capfd) -> None:
    with (
        pytest.raises(UserError, match="torch stopped with code 1 before it had finished"),
        worker("torch", WORKER, str(tmp_path)),
    ):
        pass
    assert str(tmp_path) in capfd.readouterr().err


def test_the_networks_ratio_is_that_of_its_two_times() -> None:
    command = ["bench", "model", "--shape", "tiny", "--batch", "1", "--length", "8", "--repeat"]
    done = CliRunner().invoke(main, [*command, "1", "--json"])
    assert done.exit_code == 0, done.output
    for row in json.loads(done.stdout)["results"]:
        assert row["ratio"] == pytest.approx(row["peer"] / row["ours"])
