"""Table 2: BLEU and training cost, of the paper's rows and of the networks trained here."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from transduce.paper.experiments import Experiment, Row
from transduce.table import paragraph, render_table

# Sustained single-precision operations per second, footnote 5 of the paper.
TFLOPS = {"K80": 2.8, "K40": 3.7, "M40": 6.0, "P100": 9.5}
HOUR = 3600.0


@dataclass(frozen=True)
class PaperRow:
    """A row of the paper: BLEU and training cost, English–German and English–French."""

    model: str
    bleu: tuple[float | None, float | None]
    flops: tuple[float | None, float | None]
    hours: float | None = None  # of training on eight P100, where the paper has them
    gpus: int = 8

    @property
    def recomputed(self) -> float | None:
        """The paper's method: hours × devices × their sustained operations per second."""
        if self.hours is None:
            return None
        return self.hours * HOUR * self.gpus * TFLOPS["P100"] * 1e12


PAPER = (
    PaperRow("ByteNet", (23.75, None), (None, None)),
    PaperRow("Deep-Att + PosUnk", (None, 39.2), (None, 1.0e20)),
    PaperRow("GNMT + RL", (24.6, 39.92), (2.3e19, 1.4e20)),
    PaperRow("ConvS2S", (25.16, 40.46), (9.6e18, 1.5e20)),
    PaperRow("MoE", (26.03, 40.56), (2.0e19, 1.2e20)),
    PaperRow("Deep-Att + PosUnk, ensemble", (None, 40.4), (None, 8.0e20)),
    PaperRow("GNMT + RL, ensemble", (26.30, 41.16), (1.8e20, 1.1e21)),
    PaperRow("ConvS2S, ensemble", (26.36, 41.29), (7.7e19, 1.2e21)),
    PaperRow("Transformer, base", (27.3, 38.1), (3.3e18, 3.3e18), hours=12.0),
    PaperRow("Transformer, big", (28.4, 41.8), (2.3e19, 2.3e19), hours=84.0),
)

PRESETS = {
    "Transformer": "tiny",
    "recurrent": "tiny-recurrent",
    "convolutional": "tiny-convolutional",
}
STEPS = 3000
LONGEST = 2  # times as many steps, for the rows that end when validation stops improving
PATIENCE = 4  # validations without improvement
QUICK_STEPS = 150
QUICK = (
    "model.vocab_size=1000",
    "data.vocab_size=1000",
    "train.warmup_steps=50",
    "train.tokens_per_batch=1024",
)


def experiments(quick: bool = False, steps: int | None = None) -> list[Experiment]:
    """The networks with as many parameters and target tokens; then each until it stops improving,
    which continues its run.
    """
    steps = steps or (QUICK_STEPS if quick else STEPS)
    every = max(1, steps // 12)
    common = (
        f"train.validate_steps={every}",
        f"train.checkpoint_steps={max(1, every // 2)}",
        *(QUICK if quick else ()),
    )
    longer = (*common, f"train.steps={LONGEST * steps}", f"train.patience={PATIENCE}")
    pairs = [
        (
            Experiment(name, preset, (*common, f"train.steps={steps}")),
            Experiment(f"{name}, converged", preset, longer, continues=name),
        )
        for name, preset in PRESETS.items()
    ]
    return [same for same, _ in pairs] if quick else list(chain.from_iterable(pairs))


def goal_of(rows: Sequence[Row]) -> float:
    """The highest validation BLEU that every network reaches: what the times are compared at."""
    return min((max(_bleu(row), default=0.0) for row in rows), default=0.0)


def minutes(row: Row, tokens: int) -> float:
    """Minutes of CPU time to train on this number of target tokens."""
    return float(tokens / row["target_tokens_per_cpu_second"] / 60)


def minutes_to(row: Row, goal: float) -> float | None:
    """Minutes of CPU time until the validation BLEU first reaches a goal."""
    reached = (p["tokens"] for p in row["curve"] if p.get("bleu", -1.0) >= goal)
    return next((minutes(row, tokens) for tokens in reached), None)


def kind_of(row: Row) -> str:
    return str(row["name"]).partition(",")[0]


def _bleu(row: Row) -> list[float]:
    return [point["bleu"] for point in row["curve"] if "bleu" in point]


def render(rows: Sequence[Row], records: Sequence[Mapping[str, Any]] = ()) -> str:
    """The paper's rows with their FLOPs recomputed, our results, and the networks compared."""
    return "\n\n".join(filter(None, [_paper(), _records(records), _networks(rows)]))


def _paper() -> str:
    headings = ("the paper, newstest2014", "En-De", "En-Fr", "FLOPs En-De", "En-Fr", "recomputed")
    cells = [
        (
            row.model,
            *("" if value is None else f"{value:.2f}".rstrip("0") for value in row.bleu),
            *map(_power, row.flops),
            _power(row.recomputed),
        )
        for row in PAPER
    ]
    return render_table("Table 2", headings, "<>>>>>", cells) + (
        "\nrecomputed by the paper's method: hours × 8 P100 × 9.5 · 10¹² operations per second"
    )


def _records(records: Sequence[Mapping[str, Any]]) -> str:
    """Every result of `transduce evaluate --record`."""
    if not records:
        return ""
    headings = ("ours, results/", "params", "beam", "BLEU", "FLOPs", "minutes", "cores", "of")
    cells = []
    for record in records:
        training, model = record.get("training") or {}, record.get("model") or {}
        seconds = training.get("seconds")
        cells.append(
            (
                record["title"],
                f"{model['parameters'] / 1e6:.1f}" if model else "",
                str((record.get("search") or {}).get("beam", "")),
                f"{record['scores']['bleu']:.2f}",
                _power(training.get("operations")),
                f"{seconds / 60:,.0f}" if seconds else "",
                str(record["machine"]["cores"]),
                _processor(record["machine"]["cpu"]),
            )
        )
    return render_table("", headings, "<>>>>>><", cells) + (
        "\nparams × 10⁶; BLEU by sacreBLEU; FLOPs counted in matrix products"
    )


def _processor(cpu: str) -> str:
    """
    >>> _processor("Intel(R) Xeon(R) Gold 6148 CPU @ 2.40GHz")
    'Xeon Gold 6148'
    """
    return re.sub(r"\((R|TM)\)|\b(Intel|AMD|Processor)\b|\bCPU\b.*", "", cpu).strip()


def _networks(rows: Sequence[Row]) -> str:
    if not rows:
        return "The networks are not trained yet: --run trains them, --quick in minutes."
    goal = goal_of(rows)
    names = list(PRESETS)
    ordered = sorted(rows, key=lambda row: names.index(kind_of(row)))
    headings = (
        "same data", "params", "tokens", "FLOPs", "minutes", "BLEU", "PPL",
        f"to {goal:.0f}", "sent./s",
    )  # fmt: skip
    cells = [
        (
            row["name"].replace(f"{kind_of(row)}, ", "… "),
            f"{row['parameters'] / 1e6:.2f}",
            f"{row['target_tokens'] / 1e6:.1f}",
            _power(row["operations"]),
            f"{minutes(row, row['target_tokens']):,.0f}",
            f"{row['bleu']:.2f}",
            f"{row['perplexity']:.2f}",
            "–" if (needed := minutes_to(row, goal)) is None else f"{needed:,.0f}",
            f"{row['sentences_per_cpu_second']:,.0f}",
        )
        for row in ordered
    ]
    files = " and ".join(item["file"] for item in rows[0]["data"]["train"])
    note = (
        f"trained on {files}; params and target tokens × 10⁶; FLOPs counted in matrix products; "
        f"minutes of CPU time, in all and until the validation BLEU is {goal:.1f}; "
        "BLEU of the test set, beam 4; sentences per second of CPU time by torch"
    )
    return render_table("", headings, "<>>>>>>>>", cells) + f"\n{paragraph(note)}"


def _power(value: float | int | None) -> str:
    return "" if value is None else f"{value:.1e}".replace("e+", "e")


def points(rows: Sequence[Row]) -> dict[str, list[tuple[float, float]]]:
    """Validation BLEU against operations, of each network as far as it was trained."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in sorted(rows, key=lambda row: int(row["target_tokens"])):
        each = row["operations"] / max(1, row["target_tokens"])
        found[kind_of(row)] = [
            (each * point["tokens"], point["bleu"])
            for point in row["curve"]
            if "bleu" in point and point["tokens"]
        ]
    return found
