"""Metrics: the paper's BLEU and the others, by hand and against sacreBLEU's."""

import math

import pytest
from evaluating import REFERENCES, TRANSLATIONS
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU

from transduce.evaluate.metrics import (
    corpus_scores,
    exact_match,
    paper_bleu,
    tokenised_lowercase_bleu,
)
from transduce.evaluate.tokenised import language_of, lowercase_tokens, paper_tokens
from transduce.tasks.translation import corpus_bleu


def test_the_papers_bleu_by_hand() -> None:
    """Er kauft ein E ##AT##-##AT## Book . | Er kauft das E ##AT##-##AT## Book ."""
    found = paper_bleu(["Er kauft ein E-Book."], [["Er kauft das E-Book."]], "de")
    precisions = 6 / 7, 4 / 6, 2 / 5, 1 / 4
    assert found.value == pytest.approx(100 * math.prod(precisions) ** (1 / 4))
    short = paper_bleu(["Er kauft ein E-Book"], [["Er kauft ein E-Book."]], "de")
    assert short.value == pytest.approx(100 * math.exp(1 - 7 / 6))


def test_without_hyphens_the_papers_bleu_is_sacrebleus_unsmoothed() -> None:
    wanted = [line.replace("-", " ") for line in REFERENCES[:4] + REFERENCES[5:]]
    found = [line.replace("-", " ") for line in TRANSLATIONS[:4] + TRANSLATIONS[5:]]
    theirs = BLEU(smooth_method="none").corpus_score(found, [wanted]).score
    assert paper_bleu(found, [wanted], "de").value == pytest.approx(theirs)


def test_a_precision_of_zero_makes_the_papers_bleu_zero() -> None:
    found, wanted = ["Ein Hund rennt."], ["Ein Hund läuft."]
    scores = corpus_scores(found, [wanted])
    assert scores.bleu_paper.value == 0.0
    assert scores.bleu.value > 0


def test_the_papers_bleu_is_cased_and_the_lowercased_is_not() -> None:
    found, wanted = ["ein hund rennt am strand."], ["Ein Hund rennt am Strand."]
    scores = corpus_scores(found, [wanted])
    assert scores.bleu_paper.value < 100
    assert scores.bleu_lowercase.value == pytest.approx(100)
    assert scores.bleu.value < 100


@pytest.mark.parametrize(
    ("line", "language", "tokens"),
    [
        ("rich-text format", "en", "rich ##AT##-##AT## text format"),
        ("Aix-en-Provence", "de", "Aix ##AT##-##AT## en ##AT##-##AT## Provence"),
        ("ja - nein", "de", "ja - nein"),
        ("Kosten: 1,50 € …", "de", "Kosten : 1,50 € ..."),
        ("„Ja“, z.B. Dr. Müller.", "de", "„ Ja &quot; , z.B. Dr. Müller ."),
        ("It’s done!", "en", "It &apos;s done !"),
        ("", "de", ""),
    ],
)
def test_the_tokens_of_the_papers_bleu(line, language, tokens) -> None:
    assert paper_tokens(line, language) == tokens


@pytest.mark.parametrize(
    ("name", "language"),
    [("a/test.de", "de"), ("test.de.gz", "de"), ("x.fr.xz", "fr"), ("refs.txt", "en"), ("-", "en")],
)
def test_the_tokenisers_language_is_that_of_the_references_name(name, language) -> None:
    assert language_of(name) == language


@pytest.mark.parametrize(
    ("line", "language", "tokens"),
    [
        # as its scripts/task1-tokenize.sh leaves them: hyphens whole, quotes escaped
        ("Ein blau-weißes T-Shirt, z.B. hier.", "de", "ein blau-weißes t-shirt , z.b. hier ."),
        ("Sie liest „Die Zeit“.", "de", "sie liest &quot; die zeit &quot; ."),
        ("Un « mot » d\u2019hier !", "fr", "un &quot; mot &quot; d&apos; hier !"),
        ("Er rasiert sich.\u00a0", "de", "er rasiert sich ."),
        ("", "fr", ""),
    ],
)
def test_the_tokens_of_papers_on_multi30k(line, language, tokens) -> None:
    assert lowercase_tokens(line, language) == tokens


def test_lowercased_tokenised_bleu_by_hand() -> None:
    """er kauft ein e-book . | er kauft das e-book ."""
    found = tokenised_lowercase_bleu(["ER kauft ein E-Book."], [["Er kauft das E-Book."]], "de")
    precisions = 4 / 5, 2 / 4, 0 / 3, 0 / 2
    assert found.value == 100 * math.prod(precisions)
    found = tokenised_lowercase_bleu(["ER kauft das E-Book !"], [["Er kauft das E-Book."]], "de")
    precisions = 4 / 5, 3 / 4, 2 / 3, 1 / 2
    assert found.value == pytest.approx(100 * math.prod(precisions) ** (1 / 4))
    assert found.signature.startswith("nrefs:1|case:lc|eff:no|tok:sacremoses-")
    assert "-de-normalised|smooth:none|" in found.signature


def test_the_length_ratio_counts_the_words_of_all_lines() -> None:
    scores = corpus_scores(["a b c", "a"], [["a b c d", "a b, c"]])
    assert scores.length_ratio == 4 / 8


def test_exact_match_is_the_share_of_lines_that_equal_a_reference() -> None:
    assert exact_match(["a", "b", "c", "d"], [["a", "x", "c", "b"], ["x", "b", "c", "a"]]) == 3 / 4
    assert exact_match(["a "], [["a"]]) == 0


words = st.lists(st.sampled_from(["ein", "Hund", "läuft", "rennt", "."]), max_size=6).map(" ".join)


@given(st.lists(st.tuples(words, words), min_size=1, max_size=8))
def test_scores_equal_those_of_the_trainer_for_any_text(pairs) -> None:
    found, wanted = [a for a, _ in pairs], [b for _, b in pairs]
    scores = corpus_scores(found, [wanted])
    assert scores.bleu.value == corpus_bleu(found, wanted)
    assert scores.bleu_paper.value <= scores.bleu.value + 1e-9
