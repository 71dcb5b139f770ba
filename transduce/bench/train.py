"""`transduce bench train`: whole training steps beside other libraries, on the same batches."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from transduce.batches import target_tokens
from transduce.bench import report
from transduce.bench.peers import BFLOAT16, NAMES, OURS, PEERS, check_exists, silence_transformers
from transduce.bench.process import Answers, take_turns
from transduce.bench.report import median_ratio
from transduce.bench.text import find_training_text
from transduce.bench.trainers import WORKER, batches_of, marian_directory
from transduce.config import Config, resolve
from transduce.corpus.text import Corpus
from transduce.directory import write_model
from transduce.log import Log
from transduce.machine import matmul_peak
from transduce.model import Transformer
from transduce.model.operations import training_operations
from transduce.table import render_table
from transduce.train.inputs import Inputs
from transduce.train.prepare import prepare, reopen
from transduce.train.run import Run, read_config, write_config

WARM_UP = 2  # steps that are not timed
TURN = 3  # steps of one system before the next one's

# Short, so that within the few steps of a benchmark the loss falls enough to be compared.
SCHEDULE = {"warmup_steps": 400, "lr_factor": 1.0}

Export = Callable[[Transformer, Path], None]


@dataclass(frozen=True)
class Speed:
    """One system's training of one shape."""

    shape: str
    system: str
    target_tokens_per_second: float  # without padding; the median of the rounds
    ratio: float  # transduce's tokens per second ÷ this system's; the median of the rounds
    peak_memory_mb: float
    gflops: float  # 10⁹ operations of `training_operations` per second
    share_of_peak: float  # of the machine's, in large products
    loss: float  # per token of held-out text, without smoothing, when all steps are taken
    rounds: list[float]  # tokens per second in each


@dataclass(frozen=True)
class Report(report.Report):
    steps: int  # of each system, those that are not timed included
    tokens_per_batch: int
    peak_gflops: float
    results: list[Speed]

    def tables(self) -> Sequence[str]:
        headings = ("shape", "system", "tokens/s", "ours ÷ theirs", "peak MB", "GFLOP/s")
        rows = [
            (
                r.shape,
                NAMES[r.system],
                f"{r.target_tokens_per_second:,.0f}",
                "" if r.system == OURS else f"{r.ratio:.2f}",
                f"{r.peak_memory_mb:,.0f}",
                f"{r.gflops:.1f}",
                f"{100 * r.share_of_peak:.0f} %",
                f"{r.loss:.3f}",
            )
            for r in self.results
        ]
        title = "whole training steps, median of the rounds"
        return [render_table(title, (*headings, "of peak", "loss"), "<<>>>>>>", rows)]

    def notes(self) -> Sequence[str]:
        return [
            f"{self.data}; {self.steps} steps of {self.tokens_per_batch:,} tokens a side, the "
            f"first {WARM_UP} not timed.",
            "The same first weights, batches, dropout, label smoothing and Adam; the systems take "
            "turns, each in its own process. tokens/s: target tokens without padding; forward, "
            "loss, backward, optimiser.",
            "GFLOP/s: matrix products of those tokens, forward and backward, the same count for "
            f"all; peak: {self.peak_gflops:.0f} GFLOP/s, the fastest large float32 product. "
            "loss: per token of held-out text, unsmoothed.",
        ]


def bench_train(
    shapes: Sequence[str],
    peers: Sequence[str],
    steps: int,
    tokens: int,
    files: tuple[Path, ...],
    export: Export,
    log: Log,
) -> Report:
    """Trains each shape in every system; `export` writes a Hugging Face directory."""
    check_exists(peers, [*PEERS, BFLOAT16])
    load, peak, measured, data = report.load(), 0.0, [], ""
    turns = [WARM_UP, *(min(TURN, steps - start) for start in range(0, steps, TURN))]
    requests = [[{"steps": turn}] for turn in turns]
    for shape in shapes:
        with TemporaryDirectory(prefix="transduce-bench-") as folder:
            run = Run(Path(folder))
            config = resolve(shape)
            train = config.train.replace(tokens_per_batch=tokens, **SCHEDULE)
            data = set_up(run, config.replace(train=train), files, log)
            write_first_weights(run, export if "huggingface" in peers else None)
            peak = max(peak, matmul_peak())
            systems = take_turns(
                [OURS, *peers],
                WORKER,
                [str(run.directory)],
                requests[0][0],
                requests[1:],
                shape,
                log,
            )
            peak = max(peak, matmul_peak())
            measured.append((shape, systems, work_of(run, turns)[1:]))
    results = [
        speed_of(shape, name, systems, work, peak)
        for shape, systems, work in measured
        for name in systems
    ]
    where = report.machine_line()
    return Report(where, load, data, WARM_UP + steps, tokens, peak / 1e9, results)


def set_up(run: Run, config: Config, files: tuple[Path, ...], log: Log) -> str:
    """Leaves in a run its settings and the encoded text; names the text.

    The network keeps its whole vocabulary where the text supports less, so that the pre-softmax
    layer costs what it costs.
    """
    write_config(run.config, config)
    text, what = find_training_text(run, files, log)
    prepare(run, config.data, Inputs((Corpus(text),)), log)
    return what


def write_first_weights(run: Run, export: Export | None) -> None:
    """Leaves in a run the network that all systems begin with, if asked also in Marian's form."""
    config = read_config(run)
    torch.manual_seed(config.train.seed)
    network = Transformer(config.model)
    if not run.model.exists():
        write_model(run.model, network)
    if export and not marian_directory(run).exists():
        silence_transformers()
        export(network, marian_directory(run))


Work = tuple[int, int]  # target tokens, operations


def work_of(run: Run, turns: Sequence[int]) -> list[Work]:
    """The work of as many steps as each turn has, from the first batch on."""
    config, store = read_config(run), reopen(run).train
    batches, work = batches_of(store, config.train), []
    for turn in turns:
        rows = np.concatenate(list(islice(batches, turn)))
        lengths = (side[rows] for side in store.lengths)
        work.append((target_tokens(store, rows), training_operations(config.model, *lengths)))
    return work


def speed_of(
    shape: str, name: str, systems: dict[str, Answers], work: Sequence[Work], peak: float
) -> Speed:
    answers = systems[name]
    turns = list(zip(work, answers.seconds, strict=True))
    rates = [tokens / seconds for (tokens, _), seconds in turns]
    operations = statistics.median(count / seconds for (_, count), seconds in turns)
    return Speed(
        shape=shape,
        system=name,
        target_tokens_per_second=statistics.median(rates),
        ratio=median_ratio(answers.seconds, systems[OURS].seconds),
        peak_memory_mb=answers.last["peak_memory"] / 2**20,
        gflops=operations / 1e9,
        share_of_peak=operations / peak,
        loss=answers.last["loss"],
        rounds=rates,
    )
