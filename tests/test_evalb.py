"""EVALB: what the program prints, its rules one by one, and an independent implementation."""

import json
import os
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import trees
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from transduce.cli import main
from transduce.parsing.evalb import TooManyErrorsError, score_lines
from transduce.parsing.evalb_lines import retagged
from transduce.parsing.evalb_params import Params, collins, read_params
from transduce.parsing.evalb_report import Totals, row, summary, total
from transduce.parsing.tree import Leaf, leaves, to_brackets

SAMPLE = Path(os.environ.get("TRANSDUCE_DATA", "../shared/data")) / "evalb"


def scored(gold, test, params=None, messages=None):
    """The scores of lines, and the messages."""
    write = (messages if messages is not None else []).append
    return list(score_lines(gold, test, params or Params(), write))


def counts(gold, test, params=None):
    (score,) = scored([gold], [test], params)
    return score.status, score.matched, score.gold, score.test


def run(tmp_path, gold, test, *options):
    for name, text in (("gold", gold), ("test", test)):
        (tmp_path / name).write_text(text, "utf-8")
    return CliRunner().invoke(
        main, ["evalb", str(tmp_path / "gold"), str(tmp_path / "test"), *options]
    )


@pytest.mark.skipif(not SAMPLE.is_dir(), reason="EVALB's sample is not here")
def test_the_output_on_the_sample_is_that_of_the_program_byte_for_byte() -> None:
    files = [str(SAMPLE / name) for name in ("sample.gld", "sample.tst")]
    done = CliRunner().invoke(main, ["evalb", *files, "--params", str(SAMPLE / "sample.prm")])
    assert done.exit_code == 0
    assert done.stdout_bytes == (SAMPLE / "sample.expected").read_bytes()
    assert done.stderr.startswith("12 : Words unmatch (is|was)\n13 : Length unmatch (4|5)\n")


@pytest.mark.skipif(not SAMPLE.is_dir(), reason="EVALB's sample is not here")
def test_the_bundled_parameters_are_those_of_the_program() -> None:
    text = (SAMPLE / "COLLINS.prm").read_text("utf-8")
    assert read_params(text.split("\n"), pytest.fail) == collins()


def test_the_rows_of_a_small_comparison(tmp_path) -> None:
    gold = "(TOP (S (NP (DT the) (NN dog)) (VP (VBZ runs)) (. .)))\n\n"
    test = "(TOP (S (NP (DT the) (NN dog) (VBZ runs)) (. .)))\n\n"
    done = run(tmp_path, gold, test)
    assert done.stdout.split("\n")[3:7] == [
        "   1    4    0   33.33  50.00     1      3    2      0      3     3   100.00",
        "   2    0    2    0.00   0.00     0      0    0      0      0     0     0.00",
        "=" * 76,
        "                 33.33  50.00      1     3     2      0      3     3   100.00",
    ]
    assert "Bracketing FMeasure       =  40.00\n" in done.stdout
    content = json.loads(run(tmp_path, gold, test, "--json").stdout)
    assert content["f1"] == pytest.approx(40)
    assert content["labels"]["VP"] == {"gold": 1, "test": 0, "precision": 0, "recall": 0, "f1": 0}
    assert content["short"]["sentences"] == 2


def test_without_any_bracket_the_total_row_is_short_and_the_f_measure_is_not_a_number() -> None:
    empty = Totals()
    text = summary(empty, empty, 40)
    assert text.split("\n")[1] == "      0     0     0.00"
    assert text.count("Bracketing FMeasure       =   -nan") == 2


def test_the_length_counts_punctuation_and_decides_the_cutoff_also_for_errors() -> None:
    params = replace(collins(), cutoff=2)
    gold, test = "(S (NN a) (. .))", "(S (NN b) (. .))"
    (score,) = scored([gold], [test], params)
    assert (score.status, score.length, score.words) == (1, 2, 0)
    assert row(score).startswith("   1    2    1    0.00   0.00     0 ")
    (score,) = scored(["(S (NN a) (-NONE- *))"], ["(S (NN a))"], params)
    assert score.length == 1


def test_words_are_deleted_by_their_exact_tag() -> None:
    params = Params(delete=("X",), equal_labels=frozenset({frozenset(("X", "Y"))}))
    gold = "(S (X a) (Y b) (X-1 c))"
    (score,) = scored([gold], [gold], params)
    assert score.words == 2


def test_brackets_are_deleted_through_equal_labels_after_their_label_is_cut() -> None:
    params = Params(delete=("X",), equal_labels=frozenset({frozenset(("X", "Y"))}))
    assert counts("(S (Y-1 (A a)) (X=2 (A b)))", "(S (A a) (A b))", params) == (0, 1, 1, 1)


def test_a_bracket_without_words_does_not_count() -> None:
    assert counts("(S (NP (-NONE- *)) (A a))", "(S (A a))", Params(delete=("-NONE-",))) == (
        0,
        1,
        1,
        1,
    )


def test_duplicates_count_as_often_as_they_occur_and_each_test_bracket_once() -> None:
    assert counts("(S (NP (NP (A a))))", "(S (NP (NP (NP (A a)))))") == (0, 3, 3, 4)
    assert counts("(S (NP (NP (A a))))", "(S (NP (A a)))") == (0, 2, 3, 2)


def test_unlabelled_brackets_match_by_span_alone() -> None:
    assert counts("(S (NP (A a)))", "(X (Y (A a)))", Params(labeled=False)) == (0, 2, 2, 2)


def test_crossing_counts_test_brackets_that_cross_at_least_one_gold_bracket() -> None:
    gold = "(S (X (A a) (A b)) (Y (A c) (A d)))"
    (score,) = scored([gold], ["(S (A a) (X (Y (A b)) (A c)) (A d))"])
    assert score.crossing == 1


def test_a_complete_match_of_nothing_with_nothing_counts() -> None:
    totals = total(scored(["(TOP (A a))"], ["(TOP (A a))"], collins()))
    assert (totals.gold, totals.test, totals.complete_match) == (0, 0, 100)


def test_a_sentence_without_test_words_is_skipped_even_if_gold_has_none() -> None:
    (score,) = scored(["(S (A a))"], ["(S (. .))"], collins())
    assert (score.status, score.length) == (2, 1)


def test_tags_compare_through_equal_labels() -> None:
    params = Params(equal_labels=frozenset({frozenset(("A", "B"))}))
    (score,) = scored(["(S (A a) (A b))"], ["(S (B a) (C b))"], params)
    assert score.correct_tags == 1


def test_a_line_that_cannot_be_read_has_status_1_real_numbers_and_stays_out_of_the_totals() -> None:
    messages = []
    gold = "(S (A a))"
    scores = scored([gold], [gold + ")"], None, messages)
    assert messages == ["1 : Bracketing is unbalanced (too many open bracket)"]
    assert (scores[0].status, scores[0].matched, scores[0].gold) == (1, 1, 1)
    assert total(scores).gold == 0
    messages.clear()
    scored([gold], [gold + "))"], None, messages)
    assert messages == [
        "1 : Bracketing unbalance (too many close bracket)",
        "1 : Bracketing is unbalanced (too many open bracket)",
    ]


def test_it_stops_without_a_summary_at_the_twelfth_error(tmp_path) -> None:
    gold, test = "(S (A a))\n" * 20, "(S (A b))\n" * 20
    done = run(tmp_path, gold, test)
    assert done.exit_code == 1
    assert done.stderr.split("\n")[11] == "12 : Words unmatch (a|b)"
    assert done.stderr.count("\n") == 12
    assert done.stdout.count("\n") == 3 + 11
    assert run(tmp_path, gold, test, "--max-error", "20").exit_code == 0


def test_text_outside_brackets_is_reported_until_there_are_too_many_errors() -> None:
    messages = []
    with pytest.raises(TooManyErrorsError):
        scored(["(S (A a b))"], ["(S (A a))"], None, messages)
    assert messages == [
        "1 : More than two elements in a bracket",
        *["1 : Reading sentence"] * 11,
    ]


@pytest.mark.parametrize(("more", "fewer"), [("gold", "test"), ("test", "gold")])
def test_unequal_numbers_of_lines_are_an_error_but_the_summary_is_printed(
    tmp_path, more, fewer
) -> None:
    lines = {more: "(S (A a))\n" * 3, fewer: "(S (A a))\n" * 2}
    done = run(tmp_path, lines["gold"], lines["test"])
    assert done.exit_code == 0
    assert done.stderr == f"3 : Number of lines unmatch (too many lines in {more} file)\n"
    assert "Number of sentence        =      2\n" in done.stdout


def test_parameter_lines_that_cannot_be_used_are_reported() -> None:
    messages = []
    text = "# x\nDELETE_LABEL\nEQ_LABEL A\nFOO bar\nAB\nMAX_ERROR x\nLABELED 0\nCUTOFF_LEN 12 words"
    params = read_params(text.split("\n"), messages.append)
    assert messages == [
        "Empty value in parameter file (2)",
        "EQ_LABEL requires two values",
        "Unknown keyword (FOO bar) in parameter file",
    ]
    assert params == Params(max_error=0, cutoff=12, labeled=False, delete=("",))


def test_a_quotation_mark_deleted_on_one_side_is_put_back_only_if_the_lengths_differ() -> None:
    params = Params(delete=("''",), quotes=("''", "POS"))
    gold = "(S (NP (N dogs) (POS ')) (N tails))"
    test = "(S (NP (N dogs)) ('' ') (N tails))"
    assert counts(gold, test, params) == (0, 1, 2, 2)
    (score,) = scored([gold], [test], params)
    assert (score.words, score.correct_tags) == (3, 2)
    assert counts(gold, test, replace(params, quotes=())) == (1, 0, 0, 0)


def test_lines_and_sentences_have_no_longest_length() -> None:
    line = "(S " + " ".join(f"(NP (NN {'w' * 120}{i}))" for i in range(300)) + ")"
    assert counts(line, line) == (0, 301, 301, 301)


def test_test_words_can_take_the_gold_tags(tmp_path) -> None:
    gold = "( (S (NP-SBJ (DT the) (NN dog)) (VP (VBZ runs) (NP (-NONE- *))) (. .)))\n"
    test = "(TOP (S (NP (XX the) (XX dog)) (VP (XX runs)) (XX .)))\n"
    done = run(tmp_path, gold, test, "--clean", "--json")
    assert json.loads(done.stdout)["errors"] == 1
    content = json.loads(run(tmp_path, gold, test, "--clean", "--gold-tags", "--json").stdout)
    assert (content["f1"], content["errors"], content["complete_match"]) == (100, 0, 100)
    assert retagged("(S (A a))", "(S (X a) (X b))") == "(S (X a) (X b))"


def test_a_missing_file_is_one_sentence(tmp_path) -> None:
    done = CliRunner().invoke(main, ["evalb", str(tmp_path / "a"), str(tmp_path / "b")])
    assert done.exit_code == 2
    assert done.stderr == f"transduce: there is no file {tmp_path / 'a'}\n"


def spans(tree, start, found):
    """The end of a tree, and its constituents as (label, positions of words that count)."""
    if isinstance(tree, Leaf):
        return start + (tree.tag not in collins().delete)
    here = len(found)
    found.append(None)
    end = start
    for child in tree.children:
        end = spans(child, end, found)
    label = tree.label.split("-")[0].split("=")[0]
    found[here] = ("ADVP" if label == "PRT" else label, frozenset(range(start, end)))
    return end


def slow_score(gold, test):
    """By the definition: matched, gold and test brackets, crossing brackets."""
    both = []
    for tree in (gold, test):
        found = []
        spans(tree, 0, found)
        both.append([(label, span) for label, span in found if span and label not in ("TOP",)])
    left, right = both
    matched = sum((Counter(left) & Counter(right)).values())
    crossing = sum(
        any(span & other and span - other and other - span for _, other in left)
        for _, span in right
    )
    return matched, len(left), len(right), crossing


TAGS = st.sampled_from(("NN", ",", "-NONE-", "VB"))


@st.composite
def two_trees(draw):
    tagged = draw(st.lists(st.tuples(TAGS, st.sampled_from(trees.WORDS)), min_size=1, max_size=9))
    found = []
    for _ in range(2):
        tags = iter([tag for tag, _ in tagged])
        fixed = st.builds(lambda tags=tags: next(tags))
        found.append(draw(trees.over([word for _, word in tagged], fixed)))
    return found


@given(two_trees())
@settings(max_examples=100, deadline=None)
def test_scores_equal_an_independent_implementation_of_the_definition(pair) -> None:
    gold, test = pair
    (score,) = scored([to_brackets(gold)], [to_brackets(test)], collins())
    if score.status == 0:
        assert (score.matched, score.gold, score.test, score.crossing) == slow_score(gold, test)
    else:
        assert score.status == 2
        assert all(leaf.tag in collins().delete for leaf in leaves(gold))
