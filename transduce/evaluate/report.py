"""An evaluation as JSON, and as tables."""

import json
from dataclasses import asdict, dataclass, fields

from transduce.evaluate.comparison import Comparison, Estimate
from transduce.evaluate.metrics import CorpusScores, Score
from transduce.evaluate.output import SystemOutput
from transduce.table import paragraph, render_table

NAMES = {
    "bleu": "BLEU",
    "bleu_lowercase": "BLEU, lowercased",
    "bleu_tokenised_lowercase": "BLEU, lowercased, tokenised",
    "bleu_paper": "BLEU of the paper",
    "chrf": "chrF2",
    "ter": "TER (less is better)",
}


@dataclass(frozen=True)
class Evaluation:
    """The output of a system with all scores."""

    system: str  # the model's directory, or the file of translations
    model: str | None
    output: SystemOutput
    scores: CorpusScores
    perplexity: float | None
    against: Comparison | None = None


def facts_of(evaluation: Evaluation) -> dict[str, object]:
    """The evaluation as a dictionary with the keys of `--json`."""
    facts: dict[str, object] = {}
    for field in fields(CorpusScores):
        value = getattr(evaluation.scores, field.name)
        if isinstance(value, Score):
            facts |= {field.name: value.value, f"{field.name}_signature": value.signature}
        else:
            facts[field.name] = value
    facts |= {
        "perplexity": evaluation.perplexity,
        "seconds": evaluation.output.seconds,
        "model": evaluation.model,
        "engine": evaluation.output.engine,
        "compute": evaluation.output.compute,
        "device": evaluation.output.device,
        "flags": dict(evaluation.output.flags),
    }
    if evaluation.against:
        facts["against"] = asdict(evaluation.against)
    return facts


def to_json(evaluation: Evaluation) -> str:
    return json.dumps(facts_of(evaluation), indent=2, ensure_ascii=False)


def render(evaluation: Evaluation) -> str:
    """A table of scores, and one of the comparison if there is one."""
    page = _scores(evaluation)
    return page + "\n\n" + _comparison(evaluation.against) if evaluation.against else page


def _scores(evaluation: Evaluation) -> str:
    scores, output = evaluation.scores, evaluation.output
    rows = [
        (name, f"{score.value:.2f}", score.signature)
        for score, name in ((getattr(scores, key), name) for key, name in NAMES.items())
    ]
    if evaluation.perplexity is not None:
        rows.append(
            (
                "perplexity",
                f"{evaluation.perplexity:.2f}",
                "per reference token, without label smoothing",
            )
        )
    rows += [
        (
            "length ratio",
            f"{scores.length_ratio:.3f}",
            "translations / references, in BLEU's tokens",
        ),
        ("exact match", f"{100 * scores.exact_match:.1f} %", ""),
        ("sentences", f"{scores.sentences:,}", ""),
    ]
    if output.seconds is not None:
        rows.append(
            (
                "seconds",
                f"{output.seconds:,.1f}",
                f"of translating, {output.engine}, {output.compute}, {output.device}",
            )
        )
    rows += [(f"flagged: {flag}", f"{count:,}", "") for flag, count in output.flags]
    return render_table(evaluation.system, ("metric", "score", "signature"), "<><", rows)


def _comparison(against: Comparison) -> str:
    title = (
        f"against {against.name}: paired bootstrap, {against.samples:,} resamples, "
        f"seed {against.seed}"
    )
    rows = []
    for key in ("bleu", "chrf", "ter"):
        difference = getattr(against, key)
        change = difference.ours.score - difference.other.score
        scores = _shown(difference.ours), _shown(difference.other)
        rows.append((NAMES[key], *scores, f"{change:+.2f}", f"{difference.p_value:.4f}"))
    headings = ("metric", "score (95 %)", "other (95 %)", "difference", "p")
    return render_table(paragraph(title), headings, "<>>>>", rows)


def _shown(estimate: Estimate) -> str:
    return f"{estimate.score:.2f} ({estimate.mean:.2f} ± {estimate.ci:.2f})"
