"""Table 1, measured: operations, sequential operations and path lengths of four kinds of layers.

The layers are built and run. Operations are those of the matrix products that were executed;
sequential operations are the depth of the graph that autograd recorded; a path length is the number
of operations until an output depends on the farthest input, found by its gradient.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import linear_regression, median

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

from transduce.model.attention import (
    KeysValues,
    dot_product_scores,
    softmax_over_visible,
    window_attention,
)
from transduce.table import paragraph, render_table

KERNEL, NEIGHBOURHOOD = 3, 16  # k and r
SHORTEST_TIME = 0.03  # seconds of repetitions of a measurement

Sequence_ = Float[Tensor, "1 length d"]


class SelfAttention(nn.Module):
    """softmax(xxᵀ/√d)x, without the four projections, which are n · d² each."""

    def forward(self, x: Sequence_) -> Sequence_:
        heads = x[:, None]
        scores = dot_product_scores(heads, heads, 1 / math.sqrt(x.shape[-1]))
        return (softmax_over_visible(scores, None) @ heads)[:, 0]


class RestrictedSelfAttention(nn.Module):
    """The same within a neighbourhood of r positions."""

    def forward(self, x: Sequence_) -> Sequence_:
        heads, scale = x[:, None], 1 / math.sqrt(x.shape[-1])
        to = KeysValues(heads, heads)
        return window_attention(heads, to, None, NEIGHBOURHOOD, scale)[:, 0]


class Recurrent(nn.Module):
    """An LSTM, one step after the other."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(d, d)

    def forward(self, x: Sequence_) -> Sequence_:
        state, outputs = None, []
        for token in x.unbind(1):
            state = self.cell(token, state)
            outputs.append(state[0])
        return torch.stack(outputs, dim=1)


class Convolutional(nn.Module):
    """A convolution over the last k inputs, with gaps between them if it is dilated."""

    def __init__(self, d: int, dilation: int = 1) -> None:
        super().__init__()
        self.before = dilation * (KERNEL - 1)
        self.convolution = nn.Conv1d(d, d, KERNEL, dilation=dilation)

    def forward(self, x: Sequence_) -> Sequence_:
        return self.convolution(F.pad(x.transpose(1, 2), (self.before, 0))).transpose(1, 2)


@dataclass(frozen=True)
class LayerType:
    """A row of the table: what the paper says, and how to build it."""

    name: str
    complexity: str
    sequential: str
    path: str
    exponents: tuple[int, int]  # of n and d in the complexity
    build: Callable[[int], nn.Module]  # a layer of width d
    stack: Callable[[int, int], nn.Module]  # layer number i of a stack of width d


LAYERS = (
    LayerType(
        "self-attention", "n² · d", "1", "1", (2, 1), lambda d: SelfAttention(),
        lambda d, i: SelfAttention(),
    ),
    LayerType("recurrent", "n · d²", "n", "n", (1, 2), Recurrent, lambda d, i: Recurrent(d)),
    LayerType(
        "convolutional", "k · n · d²", "1", "log_k n", (1, 2), Convolutional,
        lambda d, i: Convolutional(d, KERNEL**i),
    ),
    LayerType(
        "restricted", "r · n · d", "1", "n / r", (1, 1), lambda d: RestrictedSelfAttention(),
        lambda d, i: RestrictedSelfAttention(),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Sizes:
    """The lengths n (with d fixed) and widths d (with n fixed) that are measured."""

    lengths: tuple[int, ...]
    widths: tuple[int, ...]
    length: int
    width: int
    paths: tuple[int, ...]


FULL = Sizes((128, 256, 512, 1024, 2048), (64, 128, 256, 512), 512, 128, (16, 64, 256))
QUICK = Sizes((64, 128, 256, 512), (32, 64, 128, 256), 128, 64, (16, 64))


@dataclass(frozen=True)
class Measured:
    """A layer type: its operations, seconds and depth by length and by width, its path lengths."""

    name: str
    operations: dict[int, int]  # by n
    operations_by_width: dict[int, int]
    seconds: dict[int, float]
    seconds_by_width: dict[int, float]
    depths: dict[int, int]
    paths: dict[int, int]


def measure(sizes: Sizes = FULL) -> list[Measured]:
    """Builds and runs every layer type, on one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [_measure(layer, sizes) for layer in LAYERS]
    finally:
        torch.set_num_threads(threads)


def _measure(layer: LayerType, sizes: Sizes) -> Measured:
    torch.manual_seed(1)
    by_length = {n: (layer.build(sizes.width), _input(n, sizes.width)) for n in sizes.lengths}
    by_width = {d: (layer.build(d), _input(sizes.length, d)) for d in sizes.widths}
    return Measured(
        layer.name,
        {n: operations(*one) for n, one in by_length.items()},
        {d: operations(*one) for d, one in by_width.items()},
        {n: seconds(*one) for n, one in by_length.items()},
        {d: seconds(*one) for d, one in by_width.items()},
        {n: depth(*by_length[n]) for n in sizes.lengths[:2]},
        {n: path_length(layer, n) for n in sizes.paths},
    )


def _input(n: int, d: int) -> Sequence_:
    return torch.randn(1, n, d)


def operations(layer: nn.Module, x: Sequence_) -> int:
    """Multiplications and additions of the matrix products of a forward pass."""
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        layer(x)
    return int(counter.get_total_flops())


@torch.no_grad()
def seconds(layer: nn.Module, x: Sequence_) -> float:
    """The median time of a forward pass."""
    layer(x)
    times: list[float] = []
    while sum(times) < SHORTEST_TIME or len(times) < 3:
        began = time.perf_counter()
        layer(x)
        times.append(time.perf_counter() - began)
    return median(times)


def depth(layer: nn.Module, x: Sequence_) -> int:
    """The longest chain of operations that wait for each other, in autograd's graph."""
    end = layer(x.clone().requires_grad_()).grad_fn
    depths = dict[object, int]()
    waiting = [end]
    while waiting:
        node = waiting[-1]
        before = [next_node for next_node, _ in node.next_functions if next_node is not None]
        missing = [one for one in before if one not in depths]
        if missing:
            waiting += missing
            continue
        depths[node] = 1 + max((depths[one] for one in before), default=0)
        waiting.pop()
    return depths[end]


def path_length(layer: LayerType, n: int, d: int = 8) -> int:
    """Operations between the two ends of a sequence: layers, or steps of the recurrence.

    Layers are stacked until the last output has a gradient at the first input. One recurrent layer
    is enough for that, but the signal passes through every step of it.
    """
    torch.manual_seed(1)
    # small inputs, so that no attention weight is rounded to 0
    x = (torch.randn(1, n, d, dtype=torch.float64) / 10).requires_grad_()
    y: Tensor = x
    for number in range(n):
        one = layer.stack(d, number).double()
        y = one(y)
        (gradient,) = torch.autograd.grad(y[0, -1].sum(), x, retain_graph=True)
        if gradient[0, 0].any():
            steps = [module for module in one.modules() if isinstance(module, nn.LSTMCell)]
            return n if steps else number + 1
    raise AssertionError("no path")


def exponent(values: dict[int, float] | dict[int, int]) -> float:
    """The slope of log y against log x, by least squares."""
    points = [(math.log(x), math.log(y)) for x, y in values.items()]
    return float(linear_regression(*zip(*points, strict=True)).slope)


def rows(found: Sequence[Measured]) -> Iterator[tuple[str, ...]]:
    for layer, one in zip(LAYERS, found, strict=True):
        yield (
            layer.name,
            layer.complexity,
            _power(exponent(one.operations), exponent(one.operations_by_width)),
            _power(exponent(one.seconds), exponent(one.seconds_by_width)),
            layer.sequential,
            f"n^{abs(exponent(one.depths)):.1f}",
            layer.path,
            ", ".join(map(str, one.paths.values())),
        )


def _power(n: float, d: float) -> str:
    return f"n^{n:.1f} d^{d:.1f}"


def render(found: Sequence[Measured], sizes: Sizes) -> str:
    lengths = ", ".join(map(str, sizes.paths))
    headings = (
        "layer", "operations", "counted", "time", "sequential", "counted", "path", "found",
    )  # fmt: skip
    note = (
        f"k = {KERNEL}, r = {NEIGHBOURHOOD}; operations, sequential operations and path lengths "
        "are the paper's O(·), each followed by ours: exponents fitted to "
        f"n = {sizes.lengths[0]} … {sizes.lengths[-1]} at d = {sizes.width} and to "
        f"d = {sizes.widths[0]} … {sizes.widths[-1]} at n = {sizes.length}; paths found for "
        f"n = {lengths}. Attention is "
        "counted without its projections (n · d²), and convolutions are dilated. Times are of one "
        "thread; small layers cost less than their operations say."
    )
    table = render_table("Table 1", headings, "<<<<<<<<", list(rows(found)))
    return f"{table}\n\n{paragraph(note)}"
