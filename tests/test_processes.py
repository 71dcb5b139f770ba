"""Several processes train one model, started by the real torchrun."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import digits
import psutil
import pytest

from transduce.train.run import read_metrics

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> list[str]:
    folder = tmp_path_factory.mktemp("text")
    train = digits.write(folder / "train.tsv", digits.pairs(600, seed=1))
    valid = digits.write(folder / "valid.tsv", digits.pairs(40, seed=2))
    return ["--train", str(train), "--valid", str(valid)]


def command(processes: int, run: Path, corpus: list[str], *settings: str) -> list[str]:
    start = ["-m"]
    if processes > 1:
        start = ["-m", "torch.distributed.run", "--standalone", "--max-restarts", "2"]
        start += ["--nproc-per-node", str(processes), "-m"]
    words = ["train", str(run), *corpus, *digits.settings(*digits.SMALL, *settings)]
    return [sys.executable, *start, "transduce", *words]


def start(*args: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(*args),  # type: ignore[arg-type]
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    log = process.communicate(timeout=300)[1]
    assert process.returncode == 0, log
    return log


def losses(run: Path) -> dict[int, float]:
    return {
        e["step"]: e["loss"] for e in read_metrics(run / "metrics.jsonl") if e["event"] == "train"
    }


def together(body: str, *args: object) -> list[tuple[int, str]]:
    """Runs a program in two processes that train together; their codes and messages."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = PROGRAM + textwrap.indent(textwrap.dedent(body), "    ")
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", program, *map(str, args)],
            env={**os.environ, **shared, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in (0, 1)
    ]
    outputs = [process.communicate(timeout=120)[0] for process in processes]
    return [(p.returncode, text) for p, text in zip(processes, outputs, strict=True)]


PROGRAM = """
import datetime, sys, time
from pathlib import Path
from torch.distributed import distributed_c10d
from transduce.errors import UserError
from transduce.train.processes import join
with join() as processes:
"""


def test_waiting_for_rank_0_may_take_longer_than_the_timeout_of_an_all_reduce() -> None:
    body = """
    distributed_c10d._set_pg_timeout(datetime.timedelta(seconds=3))
    print(processes.from_first(lambda: time.sleep(6) or f"from {processes.rank}"))
    print(processes.sum([processes.rank + 1.0]))
    """
    assert together(body) == [(0, "from 0\n[3.0]\n")] * 2


def test_the_other_processes_stop_when_rank_0_fails() -> None:
    body = """
    try:
        processes.from_first(lambda: 1 // 0 if processes.first else "")
    except (UserError, ZeroDivisionError) as error:
        print(error)
    """
    (_, first), (_, second) = together(body)
    assert "division" in first
    assert second == "rank 0 has stopped: its own message says why\n"


def test_all_processes_continue_from_the_checkpoint_that_rank_0_chooses(tmp_path, corpus) -> None:
    run = tmp_path / "run"
    finish(start(1, run, corpus, "train.steps=10", "train.checkpoint_steps=5"))
    folder = run / "checkpoints"
    other = Path(shutil.copytree(folder, tmp_path / "other"))
    shutil.rmtree(folder / "step-00000010")  # rank 0 lacks a checkpoint that the others have
    body = """
    from transduce.model import build_network
    from transduce.train.run import Run, read_config
    from transduce.train.state import Learner, load_newest
    learner = Learner(build_network(read_config(Run(Path(sys.argv[1]))).model))
    folder = Path(sys.argv[2 if processes.first else 3])
    try:
        print(load_newest(folder, learner, print, processes).step)
    except UserError as error:
        print(error)
    """
    assert together(body, run, folder, other) == [(0, "5\n")] * 2
    file = other / "step-00000005" / "state.json"
    file.write_text(file.read_text("utf-8") + " ", "utf-8")
    (_, first), (_, second) = together(body, run, folder, other)
    assert first == "5\n"
    assert second == (
        f"process 1 cannot load {other / 'step-00000005'}, which rank 0 has loaded "
        f"({file} is damaged: its checksum is not the one in checksums.json): all processes must "
        "see the same run directory\n"
    )


@pytest.mark.parametrize("accumulate", [1, 2])
def test_two_processes_have_the_loss_curve_of_one(tmp_path, corpus, accumulate) -> None:
    """The same global batch, without dropout, whose masks depend on the rank."""
    settings = ["train.steps=25", "model.p_drop=0.0", f"train.accumulate={accumulate}"]
    runs = {n: tmp_path / f"on-{n}" for n in (1, 2)}
    for n, run in runs.items():
        finish(start(n, run, corpus, *settings))
    one, two = losses(runs[1]), losses(runs[2])
    assert one.keys() == two.keys() == set(range(1, 26))
    assert max(abs(one[step] - two[step]) for step in one) < 1e-4
    assert one[25] < one[1] - 0.5  # a curve, not a line


def test_a_run_with_a_killed_worker_restarts_and_ends_with_the_same_weights(
    tmp_path, corpus
) -> None:
    settings = ["train.steps=40", "train.checkpoint_steps=5"]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    finish(start(2, whole, corpus, *settings))
    process = start(2, broken, corpus, *settings)
    while max(losses(broken), default=0) < 12:
        time.sleep(0.02)
        assert process.poll() is None, process.communicate()[1]
    first = int((broken / "lock").read_text("utf-8"))
    workers = psutil.Process(process.pid).children()
    (other,) = [worker for worker in workers if worker.pid != first and _is_worker(worker)]
    other.send_signal(signal.SIGKILL)
    log = finish(process)
    assert "continuing from step" in log
    weights = [(run / "model" / "model.safetensors").read_bytes() for run in (whole, broken)]
    assert weights[0] == weights[1]


def _is_worker(process: psutil.Process) -> bool:
    return "transduce" in process.cmdline()


def test_a_signal_stops_all_processes_at_the_same_step(tmp_path, corpus) -> None:
    run = tmp_path / "run"
    process = start(2, run, corpus, "train.steps=100000", "train.checkpoint_steps=100000")
    while max(losses(run), default=0) < 5:
        time.sleep(0.02)
        assert process.poll() is None, process.communicate()[1]
    process.send_signal(signal.SIGTERM)
    log = process.communicate(timeout=120)[1]
    step = max(losses(run))
    assert f"stopped and saved at step {step:,}" in log
    assert (run / "checkpoints" / f"step-{step:08d}").is_dir()
