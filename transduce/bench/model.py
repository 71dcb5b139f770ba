"""`transduce bench model`: the network beside torch.nn.Transformer's."""

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transduce.bench.machine import machine
from transduce.bench.peers import TorchTransformer
from transduce.bench.table import Column, render_table
from transduce.config import ModelConfig
from transduce.model import Transformer


@dataclass(frozen=True)
class Comparison:
    """The median milliseconds of one operation, ours and the peer's."""

    shape: str
    operation: str
    batch: int
    length: int
    ours: float
    peer: float

    @property
    def ratio(self) -> float:
        """How many times as fast as the peer."""
        return self.peer / self.ours


def bench_model(shapes: Sequence[str], batch: int, length: int, repeat: int) -> list[Comparison]:
    """Forward in inference, and forward + backward in training, of each shape."""
    results = []
    for shape in shapes:
        config = ModelConfig.preset(shape)
        networks: list[nn.Module] = [Transformer(config), TorchTransformer(config)]
        source = torch.randint(3, config.vocab_size, (batch, length))
        source[::2, -length // 8 :] = config.pad_id
        target = torch.randint(3, config.vocab_size, (batch, length))
        for operation, run in (("forward", _forward), ("forward + backward", _backward)):
            calls = [partial(run, network, source, target) for network in networks]
            ours, peer = median_milliseconds(calls, repeat)
            results.append(Comparison(shape, operation, batch, length, ours, peer))
    return results


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
    """The median time of each call; they take turns, so that a disturbance meets them all."""
    for call in calls:
        call()
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(repeat):
        for call, seconds in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - start)
    return [1000 * statistics.median(seconds) for seconds in times]


def to_json(results: Sequence[Comparison]) -> str:
    rows = [{**asdict(result), "ratio": result.ratio} for result in results]
    return json.dumps({"machine": machine(), "results": rows}, indent=2)


def render(results: Sequence[Comparison]) -> str:
    columns: list[Column] = [
        ("shape", "left"),
        ("operation", "left"),
        ("batch × length", "right"),
        ("transduce", "right"),
        ("torch.nn.Transformer", "right"),
        ("times as fast", "right"),
    ]
    rows = [
        (
            r.shape,
            r.operation,
            f"{r.batch} × {r.length}",
            f"{r.ours:.1f}",
            f"{r.peer:.1f}",
            f"{r.ratio:.2f}",
        )
        for r in results
    ]
    return render_table("milliseconds, median", columns, rows) + machine()
