"""Table 3: the paper's variations of the base model, as the same changes to a small one."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from transduce.paper.experiments import Experiment, Row
from transduce.table import paragraph, render_table

STEPS, QUICK_STEPS = 1500, 120
# Muon and small batches, because Adam has BLEU 10 on Multi30k after as many minutes (docs/log.md).
# No checkpoints are averaged, as in the paper's Table 3.
COMMON = (
    "train.optimiser=muon",
    "train.schedule=cosine",
    "train.lr=0.003",
    "train.warmup_steps=100",
    "train.tokens_per_batch=1024",
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
    "train.warmup_steps=60",
)
QUICK_ROWS = ("base", "base, seed 2", "h = 1", "N = 1", "P_drop = 0.0")
# The paper's own differences up to these are called none.
NEGLIGIBLE_BLEU, NEGLIGIBLE_PERPLEXITY = 0.1, 0.02


@dataclass(frozen=True)
class Variation:
    """A row: the paper's perplexity, BLEU and name of it, and our settings."""

    group: str
    name: str
    paper: str  # the paper's setting, "" for a row of our own
    settings: tuple[str, ...]
    perplexity: float | None = None
    bleu: float | None = None

    @property
    def change(self) -> str:
        """The paper's value and ours, if they differ: "h = 4; 2"."""
        value = self.name.rpartition(" = ")[2]
        return f"{self.paper}; {value}" if "=" in self.paper != self.name else self.name


BASE_PERPLEXITY, BASE_BLEU = 4.92, 25.8
BASE = Variation("", "base", "base", (), BASE_PERPLEXITY, BASE_BLEU)
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
    Variation("", "additive attention", "", ("model.attention=additive",)),
    Variation("", "unscaled attention", "", ("model.attention=unscaled",)),
    Variation("", "pre-norm", "", ("model.norm=pre",)),
    Variation("", "restricted, r = 8", "", ("model.neighbourhood=8",)),
)


def experiments(quick: bool = False, steps: int | None = None) -> list[Experiment]:
    """The runs of the table; `quick` has a few, on the built-in corpus."""
    common = (f"train.steps={steps or (QUICK_STEPS if quick else STEPS)}", *COMMON)
    return [
        Experiment(v.name, "tiny", (*common, *(QUICK if quick else ()), *v.settings))
        for v in VARIATIONS
        if not quick or v.name in QUICK_ROWS
    ]


@dataclass(frozen=True)
class Line:
    """A row of ours with its difference from the base rows, beside the paper's."""

    variation: Variation
    row: Row
    bleu_change: float
    perplexity_change: float
    by_bleu: str  # whether the direction of the change agrees with the paper's
    by_perplexity: str


@dataclass(frozen=True)
class Noise:
    """The largest difference between two runs of the base row that differ in their seed."""

    bleu: float
    perplexity: float


def seeds_of(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row["name"].startswith("base")]


def noise_of(rows: Sequence[Row]) -> Noise:
    bleu, perplexity = ([row[key] for row in seeds_of(rows)] for key in ("bleu", "perplexity"))
    return Noise(max(bleu) - min(bleu), max(perplexity) - min(perplexity))


def compared(rows: Sequence[Row]) -> list[Line]:
    """Each row's change from the mean of the base rows, and whether it agrees with the paper.

    Without two base rows nothing is compared, as the noise is unknown.
    """
    found, seeds = {row["name"]: row for row in rows}, seeds_of(rows)
    if len(seeds) < 2:
        return []
    bleu, perplexity = (sum(r[key] for r in seeds) / len(seeds) for key in ("bleu", "perplexity"))
    noise = noise_of(rows)
    lines = []
    for v in VARIATIONS:
        if row := found.get(v.name):
            changes = row["bleu"] - bleu, row["perplexity"] - perplexity
            by_bleu = _direction(changes[0], noise.bleu, v.bleu, BASE_BLEU, NEGLIGIBLE_BLEU, 1)
            by_perplexity = _direction(
                changes[1], noise.perplexity, v.perplexity, BASE_PERPLEXITY,
                NEGLIGIBLE_PERPLEXITY, -1,
            )  # fmt: skip
            verdicts = ("", "") if row in seeds else (by_bleu, by_perplexity)
            lines.append(Line(v, row, *changes, *verdicts))
    return lines


def _direction(
    change: float, noise: float, paper: float | None, base: float, negligible: float, good: int
) -> str:
    """`good` is the sign of an improvement."""
    if abs(change) <= noise:
        return "noise"
    if paper is None:
        return "better" if change * good > 0 else "worse"
    if abs(paper - base) <= negligible + 1e-9:
        return "none"
    return "agrees" if (paper > base) == (change > 0) else "disagrees"


def render(rows: Sequence[Row]) -> str:
    """The paper's columns beside ours; rows that are not trained yet have only the paper's."""
    found = {row["name"]: row for row in rows}
    lines = {line.variation.name: line for line in compared(rows)}
    headings = ("", "change: paper; ours", "PPL", "BLEU", "PPL", "BLEU", "params", "PPL", "BLEU")
    cells = []
    for variation in VARIATIONS:
        row, line = found.get(variation.name), lines.get(variation.name)
        ours = ("–", "–", "") if row is None else (
            f"{row['perplexity']:.2f}", f"{row['bleu']:.1f}", f"{row['parameters'] / 1e6:.2f}"
        )  # fmt: skip
        paper = (
            "" if variation.perplexity is None else f"{variation.perplexity:.2f}",
            "" if variation.bleu is None else f"{variation.bleu:.1f}",
        )
        verdicts = (line.by_perplexity, line.by_bleu) if line else ("", "")
        cells.append((variation.group, variation.change, *paper, *ours, *verdicts))
    title, head, *table = render_table("Table 3", headings, "<<>>>>><<", cells).splitlines()
    columns = [found.start() for found in re.finditer("PPL", head)]
    above = ""
    for column, name in zip(columns, ("paper", "ours", "direction by"), strict=True):
        above = above.ljust(column) + name
    return "\n".join([title, above, head, *table, "", paragraph(_note(rows))])


def _tested(row: Row) -> str:
    """What BLEU was measured on: the validation data, or the files of --test."""
    data = row.get("data", {})
    files = data.get("test")
    if not files or files == data["valid"]:
        return "the validation data"
    return " and ".join(item["file"] for item in files)


def _note(rows: Sequence[Row]) -> str:
    if not rows:
        return "None of our rows is trained yet: --run trains them, --quick a few in minutes."
    steps = sorted({row["steps"] for row in rows})
    missing = len(VARIATIONS) - len(rows)
    tested = sorted({_tested(row) for row in rows})
    note = (
        f"Ours: {' or '.join(f'{n:,}' for n in steps)} steps each, the same data and seed, "
        f"BLEU of {' or '.join(tested)}, beam 4, no averaging; "
        f"{sum(row['seconds'] for row in rows) / 60:,.0f} minutes of training in all; params × 10⁶."
    )
    if missing:
        note += f" {missing} of {len(VARIATIONS)} rows are not trained yet."
    if len(seeds_of(rows)) < 2:
        return f"{note} Two base rows are needed to know the noise."
    noise = noise_of(rows)
    return note + (
        f" Noise: {len(seeds_of(rows))} seeds of base differ by up to {noise.perplexity:.2f} in "
        f"perplexity and {noise.bleu:.1f} BLEU. Direction: whether the difference from their mean "
        "agrees with the paper's, disagrees, or is within the noise; none: the paper has no "
        "difference. Rows without letter and without the paper's numbers are our own."
    )
