"""Speed beside a peer, measured in turns within one run so that a noisy machine is fair to both."""

import json
import platform
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from io import StringIO

import torch
from rich import box
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.nn import functional as F

from transduce.config import ModelConfig
from transduce.model import Transformer
from transduce.model.positions import sinusoids


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


class TorchTransformer(nn.Module):
    """What a user builds from torch.nn.Transformer: the same network, shape for shape."""

    positions: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.stacks = nn.Transformer(
            config.d_model,
            config.n_heads,
            config.encoder_depth,
            config.decoder_depth,
            config.d_ff,
            config.p_drop,
            batch_first=True,
        )
        self.dropout = nn.Dropout(config.p_drop)
        self.pad_id, self.scale = config.pad_id, config.d_model**0.5
        self.register_buffer("positions", sinusoids(0, 1024, config.d_model).float())

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        length = target.shape[1]
        hidden = self.stacks(
            self._embed(source),
            self._embed(target),
            tgt_mask=torch.ones(length, length, dtype=torch.bool).triu(1),
            src_key_padding_mask=source == self.pad_id,
            memory_key_padding_mask=source == self.pad_id,
            tgt_is_causal=True,
        )
        return F.linear(hidden, self.embedding.weight)

    def _embed(self, ids: Tensor) -> Tensor:
        return self.dropout(self.embedding(ids) * self.scale + self.positions[: ids.shape[1]])


def bench_model(shapes: Sequence[str], batch: int, length: int, repeat: int) -> list[Comparison]:
    """Forward in inference, and forward + backward in training, of each shape."""
    results = []
    for shape in shapes:
        config = ModelConfig.preset(shape)
        networks: list[nn.Module] = [Transformer(config), TorchTransformer(config)]
        source = torch.randint(3, config.vocab_size, (batch, length))
        source[::2, -length // 8 :] = config.pad_id
        target = torch.randint(3, config.vocab_size, (batch, length))
        warnings.filterwarnings("ignore", module=r"torch\.nn\.modules\.transformer")
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


def machine() -> str:
    """What the figures were measured on."""
    capability = torch.backends.cpu.get_cpu_capability()
    return (
        f"torch {torch.__version__}, {torch.get_num_threads()} threads, {capability}, "
        f"{platform.machine()}, Python {platform.python_version()}"
    )


def to_json(results: Sequence[Comparison]) -> str:
    rows = [{**asdict(result), "ratio": result.ratio} for result in results]
    return json.dumps({"machine": machine(), "results": rows}, indent=2)


def render(results: Sequence[Comparison]) -> str:
    table = Table(box=box.SIMPLE_HEAD, title="milliseconds, median", title_style="bold")
    for heading, justify in (("shape", "left"), ("operation", "left"), ("batch × length", "right")):
        table.add_column(heading, justify=justify)  # type: ignore[arg-type]
    for heading in ("transduce", "torch.nn.Transformer", "times as fast"):
        table.add_column(heading, justify="right")
    for r in results:
        size = f"{r.batch} × {r.length}"
        times = (f"{r.ours:.1f}", f"{r.peer:.1f}", f"{r.ratio:.2f}")
        table.add_row(r.shape, r.operation, size, *times)
    out = StringIO()
    Console(file=out, width=100).print(table)
    return out.getvalue() + machine()
