"""§3.5: sinusoids turn with the distance; and, trained on short sentences, how they do on long."""

import math

import numpy as np
import torch
from jaxtyping import Float

from transduce.charts import Heat, Line, Lines
from transduce.config import ModelConfig, Positions
from transduce.log import Log
from transduce.model import Transformer
from transduce.paper.why import Answer
from transduce.paper.why.corpus import Corpus, Encoded, batch, batches, builtin
from transduce.paper.why.training import one_thread, train
from transduce.positions import sinusoids
from transduce.schedule import learning_rate

D_MODEL = 128  # of the sinusoids that are shown
KINDS: tuple[Positions, ...] = ("sinusoidal", "learned")
OFFSETS = (1, 5, 20)
PAIR = 6  # whose turn is shown
LONGEST = 16  # tokens of a training sentence
BINS = ((1, 16), (17, 20), (21, 25), (26, 40))  # lengths of test sentences


def answer(quick: bool, seed: int, log: Log) -> Answer:
    waves = sinusoids(0, 100, D_MODEL)
    errors = {k: float(np.abs(waves[:50] @ rotation(k) - waves[k : 50 + k]).max()) for k in OFFSETS}
    similar = waves @ waves.T / (D_MODEL / 2)
    distances = list(range(41))
    by_distance = [np.diagonal(similar, k)[:59] for k in distances]
    spread = max(float(values.std()) for values in by_distance)
    corpus = builtin(2000 if quick else 12_000, 200 if quick else 1000, 600, seed)
    found = dict[Positions, list[float]]()
    for kind in KINDS:
        log(f"training with {kind} positions on sentences of at most {LONGEST} tokens")
        found[kind] = by_length(corpus, kind, 80 if quick else 1200, seed)
    names = [f"≤ {high}" if low == 1 else f"{low}–{high}" for low, high in BINS]
    inside = {kind: values[0] for kind, values in found.items()}
    outside = {kind: values[-1] for kind, values in found.items()}
    return Answer(
        (
            "PE(pos + k) is PE(pos) turned, pair by pair, by an angle that depends on k alone: a "
            f"matrix for each k, exact to {max(errors.values()):.0e}; a head can learn it, and so "
            "attend by distance.",
            "The similarity PE(pos)·PE(pos + k) falls with the distance k and is the same at every "
            f"pos (standard deviation {spread:.0e}); and adding is what concatenation and a linear "
            "layer do, W₁x + W₂PE, without wider vectors.",
            f"Trained on at most {LONGEST} tokens, sinusoids and learned positions have "
            f"perplexity {inside['sinusoidal']:.2f} and {inside['learned']:.2f} there, and "
            f"{outside['sinusoidal']:.1f} and {outside['learned']:.1f} on {names[-1]} tokens: a "
            "sinusoid exists for every position, but that alone does not teach what to do there.",
        ),
        ("length in tokens", *(f"perplexity, {kind}" for kind in found)),
        [
            (name, *(f"{values[i]:.2f}" for values in found.values()))
            for i, name in enumerate(names)
        ],
        {
            "rotation_error": {f"{k}": error for k, error in errors.items()},
            "similarity": [float(values.mean()) for values in by_distance],
            "similarity_spread": spread,
            "perplexity": {kind: dict(zip(names, v, strict=True)) for kind, v in found.items()},
        },
        [
            Heat(
                f"PE(pos), d_model = {D_MODEL}", "number", "pos", waves.astype(float), signed=True
            ),
            Lines(
                "a pair of PE(0) to PE(12)",
                "sine",
                "cosine",
                [Line("", waves[:13, 2 * PAIR].tolist(), waves[:13, 2 * PAIR + 1].tolist())],
                points=True,
                equal=True,
            ),
            Lines(
                "PE(pos)·PE(pos + k), by distance",
                "k",
                "similarity",
                [Line("", distances, [float(values.mean()) for values in by_distance])],
            ),
            Lines(
                f"trained on at most {LONGEST} tokens",
                "tokens of a test sentence",
                "perplexity",
                [
                    Line(kind, [(low + high) / 2 for low, high in BINS], values, color)
                    for color, (kind, values) in enumerate(found.items())
                ],
                points=True,
                log_y=True,
                mark=(LONGEST, "longest in training"),
            ),
        ],
    )


def rotation(k: int, d_model: int = D_MODEL) -> Float[np.ndarray, "d_model d_model"]:
    """The matrix M_k with PE(pos + k) = PE(pos) M_k for every pos: a rotation of each pair."""
    matrix = np.zeros((d_model, d_model))
    for i in range(0, d_model, 2):
        angle = k / 10_000 ** (i / d_model)
        sine, cosine = math.sin(angle), math.cos(angle)
        matrix[i : i + 2, i : i + 2] = [[cosine, -sine], [sine, cosine]]
    return matrix


def by_length(corpus: Corpus, kind: Positions, steps: int, seed: int) -> list[float]:
    """Trains on the short sentences; perplexity on test sentences of each length."""
    torch.manual_seed(seed)
    config = ModelConfig(
        vocab_size=corpus.tokenizer.vocab_size,
        d_model=64,
        d_ff=128,
        n_heads=4,
        n_layers=1,
        positions=kind,
        max_positions=128,
    )
    model = Transformer(config)
    short = [pair for pair in corpus.train if longest(pair) <= LONGEST]

    def rate(step: int) -> float:
        return learning_rate(step, 64, max(steps // 5, 1), 0.6)

    train(model, batches(short, 32, steps, seed), rate)
    return [
        perplexity(model, [pair for pair in corpus.test if low <= longest(pair) <= high])
        for low, high in BINS
    ]


def longest(pair: Encoded) -> int:
    return max(map(len, pair))


@torch.no_grad()
def perplexity(model: Transformer, pairs: list[Encoded]) -> float:
    with one_thread():
        losses = [model.loss(batch(pairs[i : i + 64]), 0.0) for i in range(0, len(pairs), 64)]
    return math.exp(sum(float(one.nll) for one in losses) / sum(one.tokens for one in losses))
