"""`transduce bench train`: whole training steps beside other libraries, on the same batches."""

import json
import os
import statistics
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from transduce.batches import Indices, target_tokens
from transduce.bench.machine import machine
from transduce.bench.peers import NAMES, OURS, PEERS, check_exists, silence_transformers
from transduce.bench.process import rotated, worker
from transduce.bench.systems import batches_of, marian_directory
from transduce.bench.table import Column, render_table
from transduce.bench.text import BUILT_IN, MULTI30K, multi30k
from transduce.config import Config, resolve
from transduce.corpus.text import Text
from transduce.directory import write_model
from transduce.log import Log
from transduce.machine import matmul_peak
from transduce.model import Transformer
from transduce.model.operations import training_operations
from transduce.store import Store
from transduce.tasks import TRANSLATION
from transduce.train.inputs import Inputs, generate_builtin
from transduce.train.prepare import prepare, reopen
from transduce.train.run import Run, read_config, write_config

WORKER = "transduce.bench.worker"
WARM_UP = 2  # steps before the clock runs
TURN = 3  # steps that a system takes before it is the next one's turn

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
    loss: float  # a token of held-out text, without smoothing, when all steps are taken
    rounds: list[float]  # tokens per second in each


@dataclass(frozen=True)
class Report:
    """What was measured, and of what."""

    machine: str
    load: float  # processes that were running before ours, in the last minute
    data: str
    steps: int  # of each system, those before the clock runs included
    tokens_per_batch: int
    peak_gflops: float
    results: list[Speed]


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
    check_exists(peers, PEERS)
    load = os.getloadavg()[0]
    peak, measured, data = 0.0, [], ""
    for shape in shapes:
        with TemporaryDirectory(prefix="transduce-bench-") as folder:
            run = Run(Path(folder))
            data = set_up(run, bench_config(shape, tokens), files, log)
            if "huggingface" in peers:
                silence_transformers()
                export(new_model(run), marian_directory(run))
            peak = max(peak, matmul_peak())
            measured.append((shape, measure(run, [OURS, *peers], steps, shape, log)))
            peak = max(peak, matmul_peak())
    results = [
        speed_of(shape, name, systems, peak) for shape, systems in measured for name in systems
    ]
    return Report(machine(), load, data, WARM_UP + steps, tokens, peak / 1e9, results)


def bench_config(shape: str, tokens: int) -> Config:
    config = resolve(shape)
    return config.replace(train=config.train.replace(tokens_per_batch=tokens, **SCHEDULE))


def set_up(run: Run, config: Config, files: tuple[Path, ...], log: Log) -> str:
    """Leaves in a run its settings, the encoded text and the first weights; names the text.

    The network keeps its whole vocabulary where the text supports less, so that the pre-softmax
    layer costs what it costs.
    """
    write_config(run.config, config)
    text, what = find_text(run, files, log)
    prepare(run, config.data, Inputs(text), log, lambda _what, _count: None)
    write_model(run.model, new_model(run))
    return what


def new_model(run: Run) -> Transformer:
    config = read_config(run)
    torch.manual_seed(config.train.seed)
    return Transformer(config.model)


def find_text(run: Run, files: tuple[Path, ...], log: Log) -> tuple[Text, str]:
    """The given files, or Multi30k where it is at hand, or else the built-in corpus."""
    if files:
        text = TRANSLATION.text_of(files)
        return text, str(text)
    found = multi30k("train")
    if found:
        return TRANSLATION.text_of(found), MULTI30K
    generate_builtin(run, log)
    return Text((run.builtin("train"),)), BUILT_IN


@dataclass(frozen=True)
class Rounds:
    """What one system was observed to do."""

    seconds: list[float]  # of each round
    tokens: list[int]
    operations: list[int]
    peak_memory: int
    loss: float

    @property
    def tokens_per_second(self) -> list[float]:
        return [t / s for t, s in zip(self.tokens, self.seconds, strict=True)]


def measure(run: Run, names: Sequence[str], steps: int, shape: str, log: Log) -> dict[str, Rounds]:
    """Lets the systems take turns: `TURN` steps each on the same batches, round after round."""
    turns = [min(TURN, steps - start) for start in range(0, steps, TURN)]
    seconds: dict[str, list[float]] = {name: [] for name in names}
    with ExitStack() as closing:
        workers = {
            name: closing.enter_context(worker(name, WORKER, str(run.directory))) for name in names
        }
        for name in names:
            workers[name].ask(WARM_UP)
        for number, turn in enumerate(turns):
            for name in rotated(names, number):
                seconds[name].append(workers[name].ask(turn))
            rates = ", ".join(f"{name} {seconds[name][-1] / turn:.2f}" for name in names)
            log(f"{shape}, round {number + 1} of {len(turns)}, seconds a step: {rates}")
        ends = {name: workers[name].finish() for name in names}
    config, store = read_config(run), reopen(run).train
    batches = batches_of(store, config.train)
    next(islice(batches, WARM_UP - 1, None))
    work = [work_of(list(islice(batches, turn)), store, config) for turn in turns]
    tokens, operations = [w[0] for w in work], [w[1] for w in work]
    return {name: Rounds(seconds[name], tokens, operations, **ends[name]) for name in names}


def work_of(batches: list[Indices], store: Store, config: Config) -> tuple[int, int]:
    """The target tokens and the operations of some batches; every sentence has its EOS."""
    tokens = operations = 0
    for batch in batches:
        tokens += target_tokens(store, batch)
        lengths = (side[batch] for side in store.lengths)
        operations += training_operations(config.model, *lengths)
    return tokens, operations


def speed_of(shape: str, name: str, systems: dict[str, Rounds], peak: float) -> Speed:
    rounds, ours = systems[name], systems[OURS]
    rates = zip(rounds.operations, rounds.seconds, strict=True)
    operations = statistics.median(o / s for o, s in rates)
    neighbours = zip(rounds.seconds, ours.seconds, strict=True)
    return Speed(
        shape=shape,
        system=name,
        target_tokens_per_second=statistics.median(rounds.tokens_per_second),
        ratio=statistics.median(theirs / our for theirs, our in neighbours),
        peak_memory_mb=rounds.peak_memory / 2**20,
        gflops=operations / 1e9,
        share_of_peak=operations / peak,
        loss=rounds.loss,
        rounds=rounds.tokens_per_second,
    )


def to_json(report: Report) -> str:
    return json.dumps(asdict(report), indent=2)


def render(report: Report) -> str:
    columns: list[Column] = [
        ("shape", "left"),
        ("system", "left"),
        ("tokens/s", "right"),
        ("ours ÷ theirs", "right"),
        ("peak MB", "right"),
        ("GFLOP/s", "right"),
        ("of peak", "right"),
        ("loss", "right"),
    ]
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
        for r in report.results
    ]
    table = render_table("whole training steps, median of the rounds", columns, rows)
    return table + notes(report) + report.machine


def notes(report: Report) -> str:
    """What the figures mean."""
    load = f"{report.load:.1f} processes were running before: on a quiet machine it is 0.\n"
    return (
        f"{report.data}; {report.steps} steps of {report.tokens_per_batch:,} tokens a side, the "
        f"first {WARM_UP} not timed.\n"
        "The same first weights, batches, dropout, label smoothing and Adam; the systems take "
        "turns, each in\nits own process. "
        "tokens/s: target tokens without padding; forward, loss, backward, optimiser.\n"
        "GFLOP/s: matrix products of those tokens, forward and backward, the same count for all; "
        f"peak:\n{report.peak_gflops:.0f} GFLOP/s, the fastest large float32 product. "
        "loss: of held-out text, a token, unsmoothed.\n"
        f"{load if report.load > 0.5 else ''}"
    )
