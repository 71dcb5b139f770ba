"""§3.2.1, footnote 4: the variance of q · k, and what it does to the softmax."""

import math

import torch

from transduce.charts import Line, Lines
from transduce.log import Log
from transduce.model.attention import dot_product_scores
from transduce.paper.why import Answer

WIDTHS = (4, 16, 64, 256, 1024)  # d_k
KEYS = 32


def answer(quick: bool, seed: int, log: Log) -> Answer:
    found = {
        name: {d_k: measure(d_k, scaled, 400 if quick else 2000, seed) for d_k in WIDTHS}
        for name, scaled in (("unscaled", False), ("scaled", True))
    }
    plain, scaled = found["unscaled"], found["scaled"]
    first, last = WIDTHS[0], WIDTHS[-1]
    most = math.log2(KEYS)
    keys = ("variance", "entropy", "gradient")
    return Answer(
        (
            f"The score q·k of vectors with unit variance is a sum of d_k products, so its "
            f"variance is d_k: {plain[first]['variance']:.1f} at d_k = {first} and "
            f"{plain[last]['variance']:,.0f} at d_k = {last:,} (footnote 4).",
            f"Unscaled, the softmax over {KEYS} keys then puts nearly all weight on one: its "
            f"entropy falls from {plain[first]['entropy']:.1f} to {plain[last]['entropy']:.2f} of "
            f"{most:.0f} bits, and with it the gradient, from {plain[first]['gradient']:.2f} to "
            f"{plain[last]['gradient']:.3f}.",
            f"Divided by √d_k the variance is 1 at every width, and so entropy "
            f"({scaled[last]['entropy']:.1f} bits) and gradient ({scaled[last]['gradient']:.2f}) "
            f"at d_k = {last:,} are those at d_k = {first}.",
        ),
        ("d_k", *(f"{key}, {name}" for key in keys for name in found)),
        [
            (f"{d_k:,}", *(f"{found[name][d_k][key]:,.3f}" for key in keys for name in found))
            for d_k in WIDTHS
        ],
        found,
        [
            Lines(
                title,
                "d_k",
                label,
                [
                    Line(name, WIDTHS, [found[name][d_k][key] for d_k in WIDTHS], color)
                    for color, name in ((1, "unscaled"), (0, "scaled"))
                ],
                log_x=True,
                log_y=key == "variance",
                points=True,
                limits=None if key == "variance" else (0, highest),
            )
            for key, title, label, highest in (
                ("variance", "variance of the scores", "variance", 0),
                ("entropy", f"entropy of the softmax over {KEYS} keys", "bits", most),
                ("gradient", "gradient of the softmax", "‖∂ weights / ∂ scores‖", 0.32),
            )
        ],
    )


def measure(d_k: int, scaled: bool, queries: int, seed: int) -> dict[str, float]:
    """Scores of random queries and keys: variance, entropy in bits, norm of the Jacobian."""
    random = torch.Generator().manual_seed(seed)
    q = torch.randn(queries, 1, d_k, generator=random)
    k = torch.randn(queries, KEYS, d_k, generator=random)
    scores = dot_product_scores(q[:, None], k[:, None], 1 / math.sqrt(d_k) if scaled else 1.0)
    scores = scores[:, 0, 0]
    p = scores.softmax(-1)
    entropy = -(p * p.clamp_min(1e-30).log2()).sum(-1)
    # ‖diag(p) − ppᵀ‖² = Σ p² (1 − 2p) + (Σ p²)²
    squares = p.square().sum(-1)
    jacobian = ((p.square() * (1 - 2 * p)).sum(-1) + squares.square()).clamp_min(0).sqrt()
    return {
        "variance": float(scores.var()),
        "entropy": float(entropy.mean()),
        "gradient": float(jacobian.mean()),
    }
