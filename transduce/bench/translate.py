"""`transduce bench translate`: text to text beside other systems, with the same model."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sacrebleu.metrics.bleu import BLEU

from transduce.bench import report
from transduce.bench.peers import check_exists
from transduce.bench.process import Answers, take_turns
from transduce.bench.report import median_ratio
from transduce.bench.text import Sentences
from transduce.bench.translators import HUGGINGFACE, OURS, PEERS, TORCH, WORKER, Job
from transduce.directory import ModelDirectory
from transduce.engines.router import open_engine, write_converted
from transduce.errors import UserError
from transduce.log import Log
from transduce.model import Transformer, require_transformer
from transduce.search import PAPER
from transduce.table import render_table
from transduce.tokenizer import TokenizerLike, load_tokenizer

WARM_UP = 8  # lines that are not timed

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
class Report(report.Report):
    lines: int
    distinct: int
    beam: int
    batch_size: int
    alone: int  # lines that were translated one by one
    bleu_signature: str  # empty without references
    results: list[Speed]

    def tables(self) -> Sequence[str]:
        """A table for each model, and how its systems ran."""
        headings = ("system", "lines/s", "tokens/s", "ours ÷ it", "torch ÷ it", "p50 / p99 ms")
        parts = []
        for model, some in groupby(self.results, lambda speed: speed.model):
            speeds = list(some)
            table = render_table(
                f"{model}, text to text", (*headings, "MB", "BLEU"), "<>>>>>>>", [*map(row, speeds)]
            )
            parts.append("\n".join([table, *(f"{s.system}: {s.runs}" for s in speeds)]))
        return parts

    def notes(self) -> Sequence[str]:
        return [
            f"{self.data}: {self.lines:,} lines, beam {self.beam}, batches of up to "
            f"{self.batch_size:,}, rounds: {len(self.results[0].rounds):,}, after "
            f"{min(WARM_UP, self.lines)} lines that are not timed.",
            f"Of the lines {self.distinct:,} are distinct: transduce translates a line only once."
            if self.distinct < self.lines
            else "",
            "The same weights in every system; they take turns, each in its own process. lines/s: "
            "from text to text, with tokenization, search and detokenization. tokens/s: of the "
            "output, in tokens of the model's own vocabulary. Both are medians of the rounds.",
            "ours ÷ it: transduce's lines/s over this system's in the same round, the median; "
            "torch ÷ it: transduce-torch's.",
            "Each searches by its own defaults: transduce with the length penalty of §6.1, and "
            f"again if a translation fails a check; huggingface with α = {PAPER.alpha}, batches in "
            "the order of the input; ctranslate2 with its defaults. No output is longer than the "
            f"longest source of its batch + {PAPER.extra_length} tokens.",
            f"p50, p99: milliseconds of one line alone, of {self.alone:,}. "
            "MB: the peak memory of the process.",
            f"BLEU: {self.bleu_signature}." if self.bleu_signature else "",
        ]


def row(speed: Speed) -> list[str]:
    return [
        speed.system,
        short(speed.lines_per_second),
        f"{speed.tokens_per_second:,.0f}",
        "" if speed.system == OURS else f"{speed.ratio:.2f}",
        "" if speed.system in (OURS, TORCH) else f"{speed.torch_ratio:.2f}",
        f"{short(speed.p50_ms)} / {short(speed.p99_ms)}",
        f"{speed.peak_memory_mb:,.0f}",
        "" if speed.bleu is None else f"{speed.bleu:.2f}",
    ]


def short(figure: float) -> str:
    return f"{figure:.1f}" if figure < 100 else f"{figure:,.0f}"


def check_systems(models: Sequence[Path], peers: Sequence[str]) -> None:
    """Raises UserError if a model cannot be opened or there is no such peer."""
    check_exists(peers, PEERS)
    for model in models:
        ModelDirectory.open(model)


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
    load = report.load()
    names = [OURS, TORCH, *(name for peer in peers for name in PEERS[peer])]
    bleu = BLEU(force=True)  # it is not asked here whether text is tokenized
    lines, results = text.sources, []
    requests = [
        [lines, *([line] for line in lines[:alone][number::rounds])] for number in range(rounds)
    ]
    with TemporaryDirectory(prefix="transduce-bench-") as folder:
        jobs = [
            Job(model, Path(folder) / str(number), beam, batch_size)
            for number, model in enumerate(models)
        ]
        for job in jobs:
            prepare(job, peers, export, log)
        for job in jobs:
            systems = take_turns(
                names,
                WORKER,
                [str(job.model), str(job.forms), str(job.beam), str(job.batch_size)],
                lines[:WARM_UP],
                requests,
                job.model.name,
                log,
            )
            tokenizer = load_tokenizer(job.model)
            results += [speed_of(job, name, systems, tokenizer, text, bleu) for name in names]
    return Report(
        machine=report.machine_line(),
        load=load,
        data=text.what,
        lines=len(lines),
        distinct=len(set(lines)),
        beam=beam,
        batch_size=batch_size,
        alone=min(alone, len(lines)),
        bleu_signature=str(bleu.get_signature()) if text.references else "",
        results=results,
    )


def prepare(job: Job, peers: Sequence[str], export: Export, log: Log) -> None:
    """Writes the model in every system's format, so that none converts it while it is timed."""
    model = ModelDirectory.open(job.model)
    open_engine(model, log=log)
    job.forms.mkdir()
    for peer in peers:
        try:
            if peer == HUGGINGFACE:
                network = require_transformer(model.network(), peer)
                export(network, job.forms / peer, model.tokenizer)
            else:
                write_converted(model, job.forms / peer, int8=False)
        except (UserError, RuntimeError, ValueError) as error:
            raise UserError(
                f"{job.model} cannot be given to {peer}: {error}; leave {peer} out of --against"
            ) from None


def speed_of(
    job: Job,
    name: str,
    systems: dict[str, Answers],
    tokenizer: TokenizerLike,
    text: Sentences,
    bleu: BLEU,
) -> Speed:
    answers = systems[name]
    translations = answers.rounds[-1][0]["translations"]
    assert len(translations) == len(text.sources)
    rates = [len(text.sources) / seconds for seconds in answers.seconds]
    written = sum(map(len, tokenizer.encode_targets(translations)))
    alone = [answer["seconds"] for round_ in answers.rounds for answer in round_[1:]]
    median, worst = np.percentile(alone, [50, 99])
    score = None
    if text.references:
        score = float(bleu.corpus_score(translations, [text.references]).score)
    return Speed(
        model=str(job.model),
        system=name,
        lines_per_second=statistics.median(rates),
        tokens_per_second=statistics.median(written / seconds for seconds in answers.seconds),
        ratio=median_ratio(answers.seconds, systems[OURS].seconds),
        torch_ratio=median_ratio(answers.seconds, systems[TORCH].seconds),
        p50_ms=1000 * float(median),
        p99_ms=1000 * float(worst),
        peak_memory_mb=answers.last["peak_memory"] / 2**20,
        bleu=score,
        runs=answers.last["runs"],
        rounds=rates,
    )
