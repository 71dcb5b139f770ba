"""Metrics of translations against references.

References are as sacreBLEU takes them: a list for each reference file, as long as the translations.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from transduce.evaluate.tokenised import lowercase_tokens, paper_tokens, tokens_signature

Texts = Sequence[str]


@dataclass(frozen=True)
class Score:
    """A value, and the signature that makes it comparable."""

    value: float
    signature: str


@dataclass(frozen=True)
class CorpusScores:
    """Scores from 0 to 100, as in sacreBLEU; length ratio and exact match are fractions."""

    bleu: Score
    bleu_lowercase: Score
    bleu_tokenised_lowercase: Score
    bleu_paper: Score
    chrf: Score
    ter: Score
    length_ratio: float  # translations ÷ references, in BLEU's tokens
    exact_match: float
    sentences: int


def corpus_scores(
    hypotheses: Texts, references: Sequence[Texts], language: str = "en"
) -> CorpusScores:
    """All scores of these translations; `language` is for the Moses tokenizer."""
    assert hypotheses, "no translations"
    assert all(len(lines) == len(hypotheses) for lines in references), "lines are not aligned"
    bleu = BLEU(force=True)  # `text_checks` warns about tokenised text instead
    whole = bleu.corpus_score(hypotheses, references)
    return CorpusScores(
        bleu=Score(float(whole.score), str(bleu.get_signature())),
        bleu_lowercase=_score(BLEU(lowercase=True, force=True), hypotheses, references),
        bleu_tokenised_lowercase=tokenised_lowercase_bleu(hypotheses, references, language),
        bleu_paper=paper_bleu(hypotheses, references, language),
        chrf=_score(CHRF(), hypotheses, references),
        ter=_score(TER(), hypotheses, references),
        length_ratio=float(whole.ratio),
        exact_match=exact_match(hypotheses, references),
        sentences=len(hypotheses),
    )


def paper_bleu(hypotheses: Texts, references: Sequence[Texts], language: str = "en") -> Score:
    """The BLEU of Table 2: cased, tokenised, compounds split, no smoothing.

    It is 0 where no sequence of four tokens is right, as multi-bleu.perl's is.
    """
    signature = tokens_signature(language, "compounds")
    return _bleu_of(lambda line: paper_tokens(line, language), signature, hypotheses, references)


def tokenised_lowercase_bleu(
    hypotheses: Texts, references: Sequence[Texts], language: str = "en"
) -> Score:
    """The BLEU of papers on Multi30k: lowercased, tokenised, no smoothing."""
    signature = tokens_signature(language, "normalised")
    return _bleu_of(
        lambda line: lowercase_tokens(line, language), signature, hypotheses, references, True
    )


def exact_match(hypotheses: Texts, references: Sequence[Texts]) -> float:
    """The share of translations that equal one of their references."""
    several = zip(*references, strict=True)
    equal = sum(found in wanted for found, wanted in zip(hypotheses, several, strict=True))
    return equal / len(hypotheses)


def _bleu_of(
    tokenise: Callable[[str], str],
    name: str,
    hypotheses: Texts,
    references: Sequence[Texts],
    lowercase: bool = False,
) -> Score:
    """BLEU as multi-bleu.perl computes it on tokenised lines; `name` is its signature."""
    metric = BLEU(tokenize="none", lowercase=lowercase, smooth_method="none", force=True)
    found, *wanted = ([tokenise(line) for line in lines] for lines in (hypotheses, *references))
    score = float(metric.corpus_score(found, wanted).score)
    signature = metric.get_signature()
    signature.update("tok", name)
    return Score(score, str(signature))


def _score(metric: Metric, hypotheses: Texts, references: Sequence[Texts]) -> Score:
    value = float(metric.corpus_score(hypotheses, references).score)
    return Score(value, str(metric.get_signature()))
