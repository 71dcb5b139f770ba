"""`transduce bench model`: the network beside torch.nn.Transformer's."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transduce.bench import report
from transduce.bench.peers import TorchTransformer
from transduce.config import ModelConfig
from transduce.model import Transformer
from transduce.table import render_table


@dataclass(frozen=True)
class Comparison:
    """The median milliseconds of one operation, ours and the peer's."""

    shape: str
    operation: str
    batch: int
    length: int
    ours: float
    peer: float
    ratio: float  # how many times as fast as the peer


@dataclass(frozen=True)
class Report(report.Report):
    results: list[Comparison]

    def tables(self) -> Sequence[str]:
        headings = ("shape", "operation", "transduce", "torch.nn.Transformer", "times as fast")
        rows = [
            (r.shape, r.operation, f"{r.ours:.1f}", f"{r.peer:.1f}", f"{r.ratio:.2f}")
            for r in self.results
        ]
        return [render_table("milliseconds, median", headings, "<<>>>", rows)]

    def notes(self) -> Sequence[str]:
        return [f"{self.data}; torch uses {torch.get_num_threads()} threads."]


def bench_model(shapes: Sequence[str], batch: int, length: int, repeat: int) -> Report:
    """Forward in inference, and forward + backward in training, of each shape."""
    load, results = report.load(), []
    for shape in shapes:
        config = ModelConfig.preset(shape)
        networks: list[nn.Module] = [Transformer(config), TorchTransformer(config)]
        source = torch.randint(3, config.vocab_size, (batch, length))
        source[::2, -length // 8 :] = config.pad_id
        target = torch.randint(3, config.vocab_size, (batch, length))
        for operation, run in (("forward", _forward), ("forward + backward", _backward)):
            calls = [partial(run, network, source, target) for network in networks]
            ours, peer = median_milliseconds(calls, repeat)
            results.append(Comparison(shape, operation, batch, length, ours, peer, peer / ours))
    data = f"batches of {batch} random sentences of {length} tokens"
    return Report(report.machine_line(), load, data, results)


def _forward(network: nn.Module, source: Tensor, target: Tensor) -> None:
    network.eval()
    with torch.inference_mode():
        network(source, target)


def _backward(network: nn.Module, source: Tensor, target: Tensor) -> None:
    network.train()
    network.zero_grad(set_to_none=True)
    logits = network(source, target)
    F.cross_entropy(logits.flatten(0, 1), target.flatten()).backward()


def median_milliseconds(calls: Sequence[Callable[[], None]], repeat: int) -> list[float]:
    """The median time of each call; they alternate, so that noise affects them all."""
    for call in calls:
        call()
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(repeat):
        for call, seconds in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - start)
    return [1000 * statistics.median(seconds) for seconds in times]
