"""Table 3: the paper's variations of the base model, as the same changes to a small one."""

from collections.abc import Sequence
from dataclasses import dataclass

from transduce.paper.experiments import Experiment, Row
from transduce.table import render_table

STEPS = 1000
# On Multi30k; the peak of the learning rate is that of the preset. No checkpoints are averaged, as
# in the paper's Table 3.
COMMON = (
    f"train.steps={STEPS}",
    "train.warmup_steps=400",
    "train.lr_factor=0.63",
    "train.validate_steps=250",
    "train.bleu_sentences=0",
    "train.checkpoint_steps=250",
    "train.keep=1",
    "train.average=1",
)
QUICK = (
    "model.vocab_size=1000",
    "data.vocab_size=1000",
    "model.n_layers=2",
    "train.steps=120",
    "train.warmup_steps=60",
    "train.lr_factor=0.5",
    "train.tokens_per_batch=1024",
)
QUICK_ROWS = ("base", "base, seed 2", "h = 1", "N = 1", "P_drop = 0.0")
NEGLIGIBLE = 0.1  # BLEU: the paper's own differences up to this are called none


@dataclass(frozen=True)
class Variation:
    """A row: the paper's perplexity, BLEU and name of it, and our settings."""

    group: str
    name: str
    paper: str  # the paper's setting, "" for a row of our own
    settings: tuple[str, ...]
    perplexity: float | None = None
    bleu: float | None = None


BASE_BLEU = 25.8
BASE = Variation("", "base", "base", (), 4.92, BASE_BLEU)
# tiny has N = 4, d_model = 128, d_ff = 256, h = 4: what the paper halves is halved here.
VARIATIONS = (
    BASE,
    Variation("", "base, seed 2", "", ("train.seed=2",)),
    Variation("", "base, seed 3", "", ("train.seed=3",)),
    Variation("A", "h = 1", "h = 1", ("model.n_heads=1",), 5.29, 24.9),
    Variation("A", "h = 2", "h = 4", ("model.n_heads=2",), 5.00, 25.5),
    Variation("A", "h = 8", "h = 16", ("model.n_heads=8",), 4.91, 25.8),
    Variation("A", "h = 16", "h = 32", ("model.n_heads=16",), 5.01, 25.4),
    Variation("B", "d_k = 8", "d_k = 16", ("model.d_k=8",), 5.16, 25.1),
    Variation("B", "d_k = 16", "d_k = 32", ("model.d_k=16",), 5.01, 25.4),
    Variation("C", "N = 1", "N = 2", ("model.n_layers=1",), 6.11, 23.7),
    Variation("C", "N = 3", "N = 4", ("model.n_layers=3",), 5.19, 25.3),
    Variation("C", "N = 5", "N = 8", ("model.n_layers=5",), 4.88, 25.5),
    Variation("C", "d_model = 64", "d_model = 256", ("model.d_model=64",), 5.75, 24.5),
    Variation("C", "d_model = 256", "d_model = 1024", ("model.d_model=256",), 4.66, 26.0),
    Variation("C", "d_ff = 128", "d_ff = 1024", ("model.d_ff=128",), 5.12, 25.4),
    Variation("C", "d_ff = 512", "d_ff = 4096", ("model.d_ff=512",), 4.75, 26.2),
    Variation("D", "P_drop = 0.0", "P_drop = 0.0", ("model.p_drop=0.0",), 5.77, 24.6),
    Variation("D", "P_drop = 0.2", "P_drop = 0.2", ("model.p_drop=0.2",), 4.95, 25.5),
    Variation("D", "ε_ls = 0.0", "ε_ls = 0.0", ("train.label_smoothing=0.0",), 4.67, 25.3),
    Variation("D", "ε_ls = 0.2", "ε_ls = 0.2", ("train.label_smoothing=0.2",), 5.47, 25.7),
    Variation("E", "learned positions", "learned", ("model.positions=learned",), 4.92, 25.7),
    Variation(
        "",
        "big",
        "big",
        ("model.d_model=256", "model.d_ff=512", "model.n_heads=8", "model.p_drop=0.3"),
        4.33,
        26.4,
    ),
    Variation("ours", "additive attention", "", ("model.attention=additive",)),
    Variation("ours", "unscaled attention", "", ("model.attention=unscaled",)),
    Variation("ours", "pre-norm", "", ("model.norm=pre",)),
    Variation("ours", "restricted, r = 8", "", ("model.neighbourhood=8",)),
)


def experiments(quick: bool = False) -> list[Experiment]:
    """The runs of the table; `quick` has a few, on the built-in corpus."""
    return [
        Experiment(v.name, "tiny", (*COMMON, *(QUICK if quick else ()), *v.settings))
        for v in VARIATIONS
        if not quick or v.name in QUICK_ROWS
    ]


@dataclass(frozen=True)
class Line:
    """A row of ours with its difference from the base row, beside the paper's."""

    variation: Variation
    row: Row
    bleu_change: float
    perplexity_change: float
    verdict: str


@dataclass(frozen=True)
class Noise:
    """The largest difference between two runs of the base row that differ in their seed."""

    bleu: float
    perplexity: float


def noise_of(rows: Sequence[Row]) -> Noise:
    seeds = [row for row in rows if row["name"].startswith("base")]
    bleu, perplexity = ([row[key] for row in seeds] for key in ("bleu", "perplexity"))
    return Noise(max(bleu) - min(bleu), max(perplexity) - min(perplexity))


def compared(rows: Sequence[Row]) -> list[Line]:
    """Each row's change from the mean of the base rows, and whether it agrees with the paper."""
    found = {row["name"]: row for row in rows}
    seeds = [row for row in rows if row["name"].startswith("base")]
    bleu, perplexity = (sum(r[key] for r in seeds) / len(seeds) for key in ("bleu", "perplexity"))
    noise = noise_of(rows)
    lines = []
    for variation in VARIATIONS:
        if row := found.get(variation.name):
            change = row["bleu"] - bleu
            verdict = "" if row in seeds else _verdict(variation, change, noise)
            lines.append(Line(variation, row, change, row["perplexity"] - perplexity, verdict))
    return lines


def _verdict(variation: Variation, change: float, noise: Noise) -> str:
    if abs(change) <= noise.bleu:
        return "noise"
    if variation.bleu is None:
        return "better" if change > 0 else "worse"
    expected = variation.bleu - BASE_BLEU
    if abs(expected) <= NEGLIGIBLE:
        return "paper: none"
    return "agrees" if (expected > 0) == (change > 0) else "disagrees"


def render(rows: Sequence[Row]) -> str:
    """The paper's columns beside ours; Δ is the difference from base."""
    noise = noise_of(rows)
    headings = ("", "paper", "PPL", "BLEU", "ours", "PPL", "BLEU", "Δ", "params", "direction")
    cells = [
        (
            line.variation.group,
            line.variation.paper,
            "" if line.variation.perplexity is None else f"{line.variation.perplexity:.2f}",
            "" if line.variation.bleu is None else f"{line.variation.bleu:.1f}",
            line.variation.name,
            f"{line.row['perplexity']:.2f}",
            f"{line.row['bleu']:.1f}",
            f"{line.bleu_change:+.1f}",
            f"{line.row['parameters'] / 1e6:.2f}",
            line.verdict,
        )
        for line in compared(rows)
    ]
    minutes = sum(row["seconds"] for row in rows) / 60
    seeds = sum(row["name"].startswith("base") for row in rows)
    return render_table("Table 3", headings, "<<>><>>>><", cells) + (
        f"\n\nOurs: {rows[0]['steps']:,} steps each, the same data and seed, validation data, "
        f"beam 4, no averaging;\n{minutes:,.0f} minutes of training in all. Noise: {seeds} seeds "
        f"of base differ by up to {noise.bleu:.1f} BLEU\nand {noise.perplexity:.2f} in perplexity. "
        "Δ: BLEU minus their mean; direction: whether Δ is as\nin the paper, or within the noise. "
        "params × 10⁶."
    )
