"""`transduce bench translate`: text to text beside other systems, with the same model."""

import os
import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from transduce.bench.machine import machine
from transduce.bench.peers import check_exists
from transduce.bench.process import rotated, worker
from transduce.bench.text import Sentences
from transduce.bench.translators import CTRANSLATE2, HUGGINGFACE, OURS, PEERS, TORCH, Job
from transduce.directory import ModelDirectory
from transduce.engines.loader import open_engine, write_fast
from transduce.errors import UserError
from transduce.log import Log
from transduce.model import Transformer, require_transformer
from transduce.tokenizer import TokenizerLike, load_tokenizer

WORKER = "transduce.bench.translate_worker"
WARM_UP = 8  # lines before the clock runs

Export = Callable[[Transformer, Path, TokenizerLike], None]


@dataclass(frozen=True)
class Speed:
    """One system's translation of the lines with one model."""

    model: str
    system: str
    lines_per_second: float  # the median of the rounds
    tokens_per_second: float  # of the output, cut up by the model's own vocabulary; the same
    ratio: float  # transduce's lines per second ÷ this system's; the median of the rounds
    torch_ratio: float  # transduce-torch's ÷ this system's; the same
    p50_ms: float  # of one line alone
    p99_ms: float
    peak_memory_mb: float
    bleu: float | None  # sacreBLEU's, where there are references
    runs: str  # versions, number types, workers and threads
    rounds: list[float]  # lines per second in each


@dataclass(frozen=True)
class Report:
    """What was measured, and of what."""

    machine: str
    load: float  # processes that were running before ours, in the last minute
    data: str
    lines: int
    distinct: int
    beam: int
    batch_size: int
    alone: int  # lines that were translated one by one
    bleu_signature: str  # empty without references
    results: list[Speed]


@dataclass(frozen=True)
class Observed:
    """What one system was seen to do."""

    seconds: list[float]  # of each round
    alone: list[float]  # seconds of each line by itself
    translations: list[str]
    peak_memory: int
    runs: str


def bench_translate(
    models: Sequence[Path],
    peers: Sequence[str],
    text: Sentences,
    beam: int,
    batch_size: int,
    rounds: int,
    alone: int,
    export: Export,
    log: Log,
) -> Report:
    """Translates with each model in every system; `export` writes a Hugging Face directory."""
    check_exists(peers, PEERS)
    load, where = os.getloadavg()[0], machine()
    names = [OURS, TORCH, *(name for peer in peers for name in PEERS[peer])]
    bleu = BLEU(force=True)  # whether text looks tokenised is not asked here
    results = []
    with TemporaryDirectory(prefix="transduce-bench-") as folder:
        jobs = [
            Job(model, Path(folder) / str(number), beam, batch_size)
            for number, model in enumerate(models)
        ]
        for job in jobs:
            prepare(job, peers, export, log)
        for job in jobs:
            systems = measure(job, names, text.sources, rounds, alone, log)
            tokens = load_tokenizer(job.model)
            results += [speed_of(job, name, systems, tokens, text, bleu) for name in names]
    return Report(
        machine=where,
        load=load,
        data=text.what,
        lines=len(text.sources),
        distinct=len(set(text.sources)),
        beam=beam,
        batch_size=batch_size,
        alone=min(alone, len(text.sources)),
        bleu_signature=str(bleu.get_signature()) if text.references else "",
        results=results,
    )


def prepare(job: Job, peers: Sequence[str], export: Export, log: Log) -> None:
    """Leaves the model in every system's form, so that none makes it while it is measured."""
    model = ModelDirectory.open(job.model)
    open_engine(model, "auto", log)
    job.forms.mkdir()
    if HUGGINGFACE in peers:
        with _for_peer(HUGGINGFACE, job.model):
            export(
                require_transformer(model.network(), HUGGINGFACE),
                job.forms / HUGGINGFACE,
                model.tokenizer,
            )
    if CTRANSLATE2 in peers:
        with _for_peer(CTRANSLATE2, job.model):
            write_fast(model, job.forms / CTRANSLATE2)


@contextmanager
def _for_peer(peer: str, model: Path) -> Iterator[None]:
    try:
        yield
    except (UserError, RuntimeError, ValueError) as error:
        raise UserError(
            f"{model} cannot be given to {peer}: {error}; leave {peer} out of --against"
        ) from None


def measure(
    job: Job, names: Sequence[str], lines: Sequence[str], rounds: int, alone: int, log: Log
) -> dict[str, Observed]:
    """Lets the systems take turns: all lines, then some of those that come alone."""
    seconds: dict[str, list[float]] = {name: [] for name in names}
    apart: dict[str, list[float]] = {name: [] for name in names}
    translations: dict[str, list[str]] = {}
    arguments = [str(job.model), str(job.forms), str(job.beam), str(job.batch_size)]
    with ExitStack() as closing:
        workers = {name: closing.enter_context(worker(name, WORKER, *arguments)) for name in names}
        for name in names:
            workers[name].ask(lines[:WARM_UP])
        for number in range(rounds):
            for name in rotated(names, number):
                answer = workers[name].ask(lines)
                seconds[name].append(answer["seconds"])
                translations[name] = answer["translations"]
                for line in lines[:alone][number::rounds]:
                    apart[name].append(workers[name].ask([line])["seconds"])
            rates = ", ".join(f"{name} {len(lines) / seconds[name][-1]:.1f}" for name in names)
            log(f"{job.model.name}, round {number + 1} of {rounds}, lines a second: {rates}")
        ends = {name: workers[name].finish() for name in names}
    return {
        name: Observed(seconds[name], apart[name], translations[name], **ends[name])
        for name in names
    }


def speed_of(
    job: Job,
    name: str,
    systems: dict[str, Observed],
    tokens: TokenizerLike,
    text: Sentences,
    bleu: BLEU,
) -> Speed:
    seen = systems[name]
    assert len(seen.translations) == len(text.sources)
    rates = [len(text.sources) / seconds for seconds in seen.seconds]
    written = sum(map(len, tokens.encode_targets(seen.translations)))
    median, worst = np.percentile(seen.alone, [50, 99])
    score = None
    if text.references:
        score = float(bleu.corpus_score(seen.translations, [text.references]).score)
    return Speed(
        model=str(job.model),
        system=name,
        lines_per_second=statistics.median(rates),
        tokens_per_second=statistics.median(written / seconds for seconds in seen.seconds),
        ratio=times_as_fast(systems[OURS], seen),
        torch_ratio=times_as_fast(systems[TORCH], seen),
        p50_ms=1000 * float(median),
        p99_ms=1000 * float(worst),
        peak_memory_mb=seen.peak_memory / 2**20,
        bleu=score,
        runs=seen.runs,
        rounds=rates,
    )


def times_as_fast(ours: Observed, theirs: Observed) -> float:
    """The median, over the rounds, of their seconds ÷ ours."""
    neighbours = zip(theirs.seconds, ours.seconds, strict=True)
    return statistics.median(their / our for their, our in neighbours)
