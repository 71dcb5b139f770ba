"""§3.1: LayerNorm against BatchNorm, and LayerNorm after against before the sub-layers."""

from collections.abc import Callable
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transduce.charts import Bars, Line, Lines
from transduce.config import ModelConfig
from transduce.log import Log
from transduce.model import Transformer
from transduce.paper.why import Answer
from transduce.paper.why.training import reversals, train

D_MODEL, SYMBOLS, LENGTH, ROWS = 64, 10, 6, 64
PEAK, WARMUP = 0.003, 60  # of the learning rate
DEPTH = 4  # layers of each stack in training


Norm = Literal["post", "pre"]
NORMS: tuple[Norm, ...] = ("post", "pre")
Padded = Float[Tensor, "rows length d"]


def answer(quick: bool, seed: int, log: Log) -> Answer:
    changes = {"LayerNorm": batch_dependence(layer_norm, seed)}
    changes["BatchNorm"] = batch_dependence(batch_norm, seed)
    layers, steps = 6, 40 if quick else 200
    gradients = {norm: gradient_by_depth(norm, layers, seed) for norm in NORMS}
    curves = {}
    for norm in NORMS:
        for warmup in (WARMUP, 1):
            name = f"{norm}-norm, {'with' if warmup > 1 else 'without'} warm-up"
            log(f"training {name}")
            losses = train(
                network(norm, DEPTH, seed),
                reversals(steps, ROWS, LENGTH, SYMBOLS, torch.Generator().manual_seed(seed)),
                rate_of(warmup),
            )
            curves[name] = smoothed(losses)
    post, pre = gradients["post"], gradients["pre"]
    ends = {name: losses[-1] for name, losses in curves.items()}
    return Answer(
        (
            "BatchNorm normalises a sentence by the others in its batch and by the padding: the "
            "same sentence with other neighbours is changed by "
            f"{100 * changes['BatchNorm']['other sentences']:.0f} %, with more padding by "
            f"{100 * changes['BatchNorm']['more padding']:.0f} %, and under LayerNorm by "
            f"{100 * max(changes['LayerNorm'].values()):.0f} %.",
            f"Post-norm, as in the paper, gives the last of {layers} decoder layers "
            f"{post[-1] / post[0]:.1f} times the gradient of the first at the start; pre-norm "
            f"{pre[-1] / pre[0]:.1f} times, but its sums grow, so it needs a last LayerNorm.",
            "That is why post-norm needs small first steps: after "
            f"{steps} steps its loss is {ends['post-norm, with warm-up']:.2f} with and "
            f"{ends['post-norm, without warm-up']:.2f} without warm-up, that of pre-norm "
            f"{ends['pre-norm, with warm-up']:.2f} and {ends['pre-norm, without warm-up']:.2f}.",
        ),
        ("the same sentence with", *changes),
        [
            (what, *(f"{100 * changes[name][what]:.1f} % changed" for name in changes))
            for what in changes["LayerNorm"]
        ],
        {"changes": changes, "gradients": gradients, "losses": ends},
        [
            Bars(
                "the same sentence in another batch",
                "% of its output changed",
                ["others", "more padding", "alone"],
                {
                    name: [100 * value for value in values.values()]
                    for name, values in changes.items()
                },
                digits=0,
            ),
            Lines(
                "gradient of each decoder layer at the start",
                "layer",
                "norm",
                [
                    Line(f"{norm}-norm", range(1, layers + 1), values, color)
                    for color, (norm, values) in enumerate(gradients.items())
                ],
                points=True,
                limits=(0, 1.1 * max(*post, *pre)),
            ),
            Lines(
                f"reversing digits, {DEPTH} + {DEPTH} layers",
                "step",
                "loss",
                [
                    Line(name, range(1, steps + 1), values, number // 2, bool(number % 2))
                    for number, (name, values) in enumerate(curves.items())
                ],
            ),
        ],
    )


def layer_norm(x: Padded) -> Padded:
    return nn.LayerNorm(x.shape[-1])(x)


def batch_norm(x: Padded) -> Padded:
    """Mean and variance of each number over all positions of all sentences, as in training."""
    return nn.BatchNorm1d(x.shape[-1])(x.flatten(0, 1)).view_as(x)


@torch.no_grad()
def batch_dependence(norm: Callable[[Padded], Padded], seed: int) -> dict[str, float]:
    """How far the output of a sentence changes, relative to its norm, in three other batches."""
    random = torch.Generator().manual_seed(seed)
    scale = 1 + torch.rand(16, generator=random)  # sentences differ

    def sentences(rows: int) -> Padded:
        means = torch.randn(rows, 1, 16, generator=random)
        return means + scale * torch.randn(rows, 8, 16, generator=random)

    own = sentences(1)
    first = torch.cat([own, sentences(3)])
    padded = torch.cat([first, torch.zeros(len(first), 8, 16)], 1)
    others = {
        "other sentences": torch.cat([own, sentences(3)]),
        "more padding": padded,
        "no others": own,
    }
    wanted = norm(first)[0]
    return {
        name: float((norm(batch)[0, :8] - wanted).norm() / wanted.norm())
        for name, batch in others.items()
    }


def network(norm: Norm, layers: int, seed: int) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(
        ModelConfig(
            vocab_size=3 + SYMBOLS,
            d_model=D_MODEL,
            d_ff=2 * D_MODEL,
            n_heads=4,
            n_layers=layers,
            norm=norm,
            p_drop=0.0,
        )
    )


def gradient_by_depth(norm: Norm, layers: int, seed: int) -> list[float]:
    """The norm of the loss's gradient in each layer of an untrained decoder."""
    model = network(norm, layers, seed)
    random = torch.Generator().manual_seed(seed)
    (batch,) = reversals(1, ROWS, LENGTH, SYMBOLS, random)
    loss = model.loss(batch, 0.0)
    (loss.smoothed / loss.tokens).backward()
    return [
        float(nn.utils.get_total_norm([p.grad for p in layer.parameters() if p.grad is not None]))
        for layer in model.decoder
    ]


def rate_of(warmup: int, peak: float = PEAK) -> Callable[[int], float]:
    """Up to the peak in `warmup` steps, or at once if that is 1; then it falls with 1/√step."""
    return lambda step: peak * min(1.0, step / warmup, (WARMUP / step) ** 0.5)


def smoothed(values: list[float], share: float = 0.1) -> list[float]:
    """An exponential moving average, for curves that can be read."""
    mean, means = values[0], []
    for value in values:
        mean += share * (value - mean)
        means.append(mean)
    return means
