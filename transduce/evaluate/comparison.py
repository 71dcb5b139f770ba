"""Significance of the difference between two systems: sacreBLEU's paired bootstrap."""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest, Result

SAMPLES = 1000


@dataclass(frozen=True)
class Estimate:
    """A system's score, with mean and confidence interval over the bootstrap resamples."""

    score: float
    mean: float
    ci: float  # half the width of the 95 % interval around the mean


@dataclass(frozen=True)
class Difference:
    """One metric of both systems."""

    ours: Estimate
    other: Estimate
    p_value: float  # of a difference this large under the null hypothesis of equal quality
    signature: str


@dataclass(frozen=True)
class Comparison:
    """All metrics of both systems, from the same resamples."""

    name: str  # the other system's
    samples: int
    seed: str
    bleu: Difference
    chrf: Difference
    ter: Difference


def compare(
    hypotheses: Sequence[str],
    others: Sequence[str],
    references: Sequence[Sequence[str]],
    name: str,
    samples: int = SAMPLES,
) -> Comparison:
    """Compares translations with another system's of the same sentences.

    The seed is sacreBLEU's, 12345 unless SACREBLEU_SEED says otherwise.
    """
    metrics = {
        "bleu": BLEU(references=references, force=True),
        "chrf": CHRF(references=references),
        "ter": TER(references=references),
    }
    systems = [("other", others), ("ours", hypotheses)]
    test = PairedTest(systems, metrics, None, test_type="bs", n_samples=samples)
    signatures, results = test()
    differences = {
        metric: _difference(results[long], str(signature))
        for metric, (long, signature) in zip(metrics, signatures.items(), strict=True)
    }
    seed = str(signatures["BLEU"].info["seed"])
    return Comparison(name, samples, seed, **differences)


def _difference(results: Sequence[Result | str], signature: str) -> Difference:
    other, ours = results
    assert isinstance(ours, Result)
    assert ours.p_value is not None
    left, right = _estimate(ours), _estimate(other)
    # for equal scores in every resample sacreBLEU returns the smallest p instead of 1
    p_value = 1.0 if left == right else float(ours.p_value)
    return Difference(left, right, p_value, signature)


def _estimate(result: Result | str) -> Estimate:
    assert isinstance(result, Result)
    assert result.mean is not None
    assert result.ci is not None
    return Estimate(float(result.score), float(result.mean), float(result.ci))
