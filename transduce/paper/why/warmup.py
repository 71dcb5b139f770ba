"""§5.3: equation 3, and training with and without its warm-up."""

import math

import torch

from transduce.charts import Line, Lines
from transduce.log import Log
from transduce.paper.why import Answer
from transduce.paper.why.norm import (
    DEPTH,
    LENGTH,
    ROWS,
    SYMBOLS,
    WARMUP,
    network,
    rate_of,
    smoothed,
)
from transduce.paper.why.training import reversals, train
from transduce.schedule import learning_rate

PEAKS = (0.001, 0.003, 0.006)


def answer(quick: bool, seed: int, log: Log) -> Answer:
    steps = 100 if quick else 200
    curves = {}
    for peak in PEAKS[1:2] if quick else PEAKS:
        for warmup in (WARMUP, 1):
            name = f"{peak:g}, {'with' if warmup > 1 else 'without'} warm-up"
            log(f"training with a highest rate of {name}")
            losses = train(
                network("post", DEPTH, seed),
                reversals(steps, ROWS, LENGTH, SYMBOLS, torch.Generator().manual_seed(seed)),
                rate_of(warmup, peak),
            )
            curves[peak, warmup > 1] = smoothed(losses)
    peaks = sorted({peak for peak, _ in curves})
    ends = {key: losses[-1] for key, losses in curves.items()}
    shown = 0.003
    chance = math.log(SYMBOLS)
    best = {warm: min(peaks, key=lambda peak: ends[peak, warm]) for warm in (True, False)}
    return Answer(
        (
            "Equation 3 rises for warmup_steps and then falls with 1/√step: for the base model to "
            f"{learning_rate(4000, 512):.1e} at step 4,000, and for the big one, twice as wide, to "
            f"{learning_rate(4000, 1024):.1e}.",
            f"The same {DEPTH} + {DEPTH} post-norm layers with a highest rate of {shown:g} have "
            f"after {steps} steps a loss of {ends[shown, True]:.2f} if the rate rises for {WARMUP} "
            f"steps, and {ends[shown, False]:.2f} if it is highest from the first (guessing: "
            f"{chance:.2f}).",
            "Adam's first steps have the size of the rate in every weight, whatever the gradient; "
            f"the best of {len(peaks)} rates reaches {ends[best[True], True]:.2f} with and "
            f"{ends[best[False], False]:.2f} without warm-up.",
        ),
        ("highest rate", "loss with warm-up", "loss without"),
        [(f"{p:g}", f"{ends[p, True]:.3f}", f"{ends[p, False]:.3f}") for p in peaks],
        {
            "steps": steps,
            "losses": {
                f"{peak:g}": {"with": ends[peak, True], "without": ends[peak, False]}
                for peak in peaks
            },
        },
        [
            Lines(
                "equation 3",
                "step",
                "learning rate × 1,000",
                [
                    _schedule("d_model 512, warm-up 4,000", 512, 4000, 0),
                    _schedule("d_model 512, warm-up 8,000", 512, 8000, 2),
                    _schedule("d_model 1,024, warm-up 4,000", 1024, 4000, 1),
                ],
            ),
            Lines(
                f"reversing digits, {DEPTH} + {DEPTH} post-norm layers",
                "step",
                "loss",
                [
                    Line(
                        f"{peak:g}, {'with' if warm else 'without'} warm-up",
                        range(1, steps + 1),
                        losses,
                        peaks.index(peak),
                        not warm,
                    )
                    for (peak, warm), losses in curves.items()
                ],
            ),
        ],
    )


def _schedule(label: str, d_model: int, warmup: int, color: int) -> Line:
    steps = range(100, 20_001, 100)
    rates = [1000 * learning_rate(step, d_model, warmup) for step in steps]
    return Line(label, steps, rates, color)
