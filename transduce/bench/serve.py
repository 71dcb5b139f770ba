"""`transduce bench serve`: throughput and latency of the server, beside others."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from transduce.bench import report
from transduce.bench.clients import Answer, as_list, closed_loop, in_turn, open_loop
from transduce.bench.servers import OURS, memory_of, servers, serving
from transduce.bench.text import Sentences
from transduce.directory import ModelDirectory
from transduce.engines.router import open_engine
from transduce.log import Log
from transduce.table import render_table

LOADS = (0.25, 0.5, 0.75, 1.0, 2.0, 4.0)  # of the capacity
LIST = 100  # sentences of a request
WARM_UP = 1.0  # seconds
RECOVERY = 2.0  # seconds
HALF = 0.5  # load of the soak
MINUTE = 60.0  # seconds


@dataclass(frozen=True)
class Closed:
    """Clients that wait for each answer before they send the next request."""

    system: str
    clients: int
    sentences_per_second: float
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True)
class Open:
    """Requests at a given rate."""

    system: str
    load: float  # rate ÷ transduce's capacity
    rate: float
    answered: int
    refused: int  # with 429 or 503
    lost: int  # without an answer
    p50_ms: float  # of those answered
    p99_ms: float
    slowest_refusal_ms: float


@dataclass(frozen=True)
class Lists:
    """Many sentences in one request, and one after the other."""

    system: str
    list_seconds: float
    single_seconds: float

    @property
    def ratio(self) -> float:
        return self.single_seconds / self.list_seconds


@dataclass(frozen=True)
class Minute:
    """A part of the soak, and the memory of the server after it."""

    found: Open
    memory_mb: float


@dataclass(frozen=True)
class Report(report.Report):
    model: str
    seconds: float  # of each loop
    closed: list[Closed]
    open: list[Open]
    lists: list[Lists]
    memory_mb: dict[str, list[float]]  # before and after the loops
    recovery_p50_ms: float  # of single requests, just after the largest load
    usual_p50_ms: float
    soak: list[Minute]

    def tables(self) -> Sequence[str]:
        closed = [
            [
                c.system,
                f"{c.clients}",
                f"{c.sentences_per_second:.1f}",
                _ms(c.p50_ms),
                _ms(c.p99_ms),
            ]
            for c in self.closed
        ]
        opened = [
            [
                o.system,
                f"{o.load:g} ×",
                f"{o.rate:.0f}",
                f"{o.answered:,}",
                f"{o.refused:,}",
                f"{o.lost:,}",
                f"{_ms(o.p50_ms)} / {_ms(o.p99_ms)}",
                _ms(o.slowest_refusal_ms) if o.refused else "",
            ]
            for o in self.open
        ]
        soak = [
            [
                f"{i}",
                f"{m.found.answered:,}",
                f"{m.found.refused:,}",
                f"{m.found.lost:,}",
                f"{_ms(m.found.p50_ms)} / {_ms(m.found.p99_ms)}",
                f"{m.memory_mb:.0f}",
            ]
            for i, m in enumerate(self.soak, 1)
        ]
        lists = [
            [one.system, f"{one.list_seconds:.2f}", f"{one.single_seconds:.2f}", f"{one.ratio:.1f}"]
            for one in self.lists
        ]
        return [
            render_table(
                "Clients that wait for each answer",
                ("system", "clients", "sentences/s", "p50 ms", "p99 ms"),
                "<>>>>",
                closed,
            ),
            render_table(
                "Requests at a given rate",
                (
                    "system",
                    "load",
                    "per s",
                    "answered",
                    "refused",
                    "lost",
                    "p50 / p99 ms",
                    "refusal",
                ),
                "<>>>>>>>",
                opened,
            ),
            render_table(
                f"{LIST} sentences",
                ("system", "one list, s", "one by one, s", "ratio"),
                "<>>>",
                lists,
            ),
            *_soak_table(soak),
        ]

    def notes(self) -> Sequence[str]:
        memory = "; ".join(
            f"{name} {before:.0f} MB before and {after:.0f} MB after"
            for name, (before, after) in self.memory_mb.items()
        )
        return [
            f"{self.data}, one sentence a request, {self.model}, {self.seconds:g} s for each row, "
            "clients on the same machine. plain: a thread and a call of CTranslate2 for each "
            "request, the same converted int8 model and number of workers, beam 4; it checks no "
            "translation. libretranslate: as its users start it, on the same model in int8.",
            "load: of transduce's sentences/s with 16 clients or the most measured. refusal: the "
            "slowest answer that refuses a request, in ms.",
            f"Single requests took {_ms(self.usual_p50_ms)} ms (p50) before the loads and "
            f"{_ms(self.recovery_p50_ms)} ms in the {RECOVERY:g} s after the largest.",
            *self._tail(),
            f"Memory of the server and its engines: {memory}.",
        ]

    def _tail(self) -> Iterator[str]:
        """p99 at half load compared with the same sentences one at a time."""
        alone = next((c for c in self.closed if (c.system, c.clients) == (OURS, 1)), None)
        half = next((o for o in self.open if (o.system, o.load) == (OURS, HALF)), None)
        if alone and half:
            yield (
                f"p99 at half load: {half.p99_ms / alone.p50_ms:.1f} times the p50 of one client "
                f"and {half.p99_ms / alone.p99_ms:.1f} times its p99, with the same sentences."
            )

    def curves(self) -> dict[str, list[tuple[int, float, float, float]]]:
        """By system: clients, sentences per second, p50 and p99 in ms, of the closed loops."""
        found: dict[str, list[tuple[int, float, float, float]]] = {}
        for one in self.closed:
            point = one.clients, one.sentences_per_second, one.p50_ms, one.p99_ms
            found.setdefault(one.system, []).append(point)
        return found


def _soak_table(rows: list[list[str]]) -> Iterator[str]:
    if rows:
        columns = ("minute", "answered", "refused", "lost", "p50 / p99 ms", "memory MB")
        yield render_table("transduce at half load", columns, ">>>>>>", rows)


def _ms(figure: float) -> str:
    return f"{figure:.1f}" if figure < 100 else f"{figure:,.0f}"


def bench_serve(
    model: Path,
    peers: Sequence[str],
    text: Sentences,
    clients: Sequence[int],
    seconds: float,
    log: Log,
    soak: float = 0.0,
    libretranslate: str | None = None,
) -> Report:
    """Measures our server and the peers in turn; `soak` is in minutes.

    `libretranslate` is the command of that peer, if it is not on the PATH.
    """
    load, directory = report.load(), ModelDirectory.open(model)
    open_engine(directory, device="cpu", log=log)  # converts it, if that was not done before
    texts = list(dict.fromkeys(text.sources))
    closed, opened, lists = list[Closed](), list[Open](), list[Lists]()
    memory, usual, recovery, capacity = {}, 0.0, 0.0, 0.0
    minutes: list[Minute] = []
    with TemporaryDirectory(prefix="transduce-bench-") as folder:
        for server in servers(directory, peers, libretranslate, Path(folder)):
            name = server.name
            with serving(server) as (process, port):
                log(f"{name}: closed loops")
                asyncio.run(closed_loop(port, texts, 4, WARM_UP))
                before = memory_of(process)
                for count in clients:
                    found = asyncio.run(closed_loop(port, texts, count, seconds))
                    closed.append(closed_of(name, count, *found))
                if name == OURS:
                    capacity = max(c.sentences_per_second for c in closed)
                    usual = closed[0].p50_ms
                log(f"{name}: lists")
                some = texts[:LIST]
                times = asyncio.run(as_list(port, some)), asyncio.run(in_turn(port, some))
                lists.append(Lists(name, *times))
                log(f"{name}: open loops")
                for share in LOADS:
                    if name != OURS and share > 1:  # a queue without bounds grows without end
                        continue
                    answers = asyncio.run(open_loop(port, texts, share * capacity, seconds))
                    opened.append(open_of(name, share, share * capacity, answers))
                if name == OURS:
                    after = asyncio.run(closed_loop(port, texts, 1, RECOVERY))
                    recovery = closed_of(name, 1, *after).p50_ms
                memory[name] = [before, memory_of(process)]
                left, rate = MINUTE * soak if name == OURS else 0.0, HALF * capacity
                while left > 0:
                    log(f"{name}: soak, {left / MINUTE:g} minutes")
                    part = min(left, MINUTE)
                    answers = asyncio.run(open_loop(port, texts, rate, part, seed=int(left)))
                    found_now = open_of(name, HALF, rate, answers)
                    minutes.append(Minute(found_now, memory_of(process)))
                    left -= part
    return Report(
        machine=report.machine_line(),
        load=load,
        data=text.what,
        model=model.name,
        seconds=seconds,
        closed=closed,
        open=opened,
        lists=lists,
        memory_mb=memory,
        recovery_p50_ms=recovery,
        usual_p50_ms=usual,
        soak=minutes,
    )


def closed_of(name: str, clients: int, answers: list[Answer], seconds: float) -> Closed:
    good = [answer.seconds for answer in answers if answer.status == 200]
    p50, p99 = _percentiles(good)
    return Closed(name, clients, len(good) / seconds, p50, p99)


def open_of(name: str, load: float, rate: float, answers: list[Answer]) -> Open:
    good = [answer.seconds for answer in answers if answer.status == 200]
    refused = [answer.seconds for answer in answers if answer.status in (429, 503)]
    lost = len(answers) - len(good) - len(refused)
    slowest = 1000 * max(refused, default=0.0)
    return Open(name, load, rate, len(good), len(refused), lost, *_percentiles(good), slowest)


def _percentiles(seconds: Sequence[float]) -> tuple[float, float]:
    p50, p99 = np.percentile([1000 * one for one in seconds] or [float("nan")], [50, 99])
    return float(p50), float(p99)
