"""Trees: reading and writing Penn brackets, and the standard clean-up."""

import gzip
from collections import Counter

import pytest
import trees
from hypothesis import given

from transduce.errors import InputError
from transduce.parsing.cleaning import clean_trees, describe_changes
from transduce.parsing.tree import Leaf, Node, leaves, to_brackets
from transduce.parsing.treebank import read_trees


def written(tmp_path, text, name="trees.mrg"):
    file = tmp_path / name
    file.write_text(text, "utf-8")
    return file


def cleaned(tmp_path, text):
    changes = Counter()
    found = [to_brackets(t) for t in clean_trees(read_trees(written(tmp_path, text)), changes)]
    return found, changes


@given(trees.forests())
def test_reading_what_was_written_gives_the_same_trees(tmp_path_factory, forest) -> None:
    file = tmp_path_factory.getbasetemp() / "round-trip.mrg"
    file.write_text("".join(f"{to_brackets(tree)}\n" for tree in forest), "utf-8")
    assert list(read_trees(file)) == forest
    spread = "\n".join(to_brackets(tree).replace(" ", "\n  ") for tree in forest)
    file.write_text(spread, "utf-8")
    assert list(read_trees(file)) == forest


def test_comments_between_trees_and_empty_roots_are_read(tmp_path) -> None:
    text = "# one\n*x*x* two *x*x*\n\n( (S\n  (NP (PRP it))\n  (VP (VBZ is)) ) )\n; three\n(NN a)"
    assert list(read_trees(written(tmp_path, text))) == [
        Node(
            "", (Node("S", (Node("NP", (Leaf("PRP", "it"),)), Node("VP", (Leaf("VBZ", "is"),)))),)
        ),
        Leaf("NN", "a"),
    ]


def test_a_gzip_file_is_read(tmp_path) -> None:
    (tmp_path / "t.mrg.gz").write_bytes(gzip.compress(b"(S (NN a))\n"))
    assert list(read_trees(tmp_path / "t.mrg.gz")) == [Node("S", (Leaf("NN", "a"),))]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("(S (NN a)))", "line 17, character 11: a closing bracket outside a tree"),
        ("(S (NN a)) b", "line 17, character 12: 'b' outside a tree"),
        ("(S (NN a) b)", "line 17, character 11: 'b' needs brackets of its own"),
        ("(S b (NN a))", "line 17, character 6: 'b' needs brackets of its own"),
        ("(S (NN))", "line 17, character 7: brackets without a word"),
        ("()", "line 17, character 2: brackets without a word"),
        ("  (S (NN a)", "line 17, character 3: this bracket is never closed"),
        ("(" * 501, "line 17, character 501: more than 500 nested brackets"),
    ],
)
def test_an_error_names_file_line_and_character(tmp_path, line, message) -> None:
    file = written(tmp_path, "(S (NN a))\n" * 16 + line + "\n")
    with pytest.raises(InputError) as error:
        list(read_trees(file))
    assert str(error.value) == f"{file}, {message}"


def test_a_file_without_trees_is_an_error(tmp_path) -> None:
    file = written(tmp_path, "# nothing\n\n")
    with pytest.raises(InputError, match=f"there are no trees in {file}"):
        list(read_trees(file))


def test_traces_empty_nodes_and_function_tags_are_removed_and_counted(tmp_path) -> None:
    text = (
        "( (S-TPC=1 (NP-SBJ-1 (DT the) (NN dog)) (VP (VBD was) (VP (VBN seen) (NP (-NONE- *-1)))"
        " (-LRB- -LRB-) (SBAR (S (NP (-NONE- *)))) )))\n( (NP (-NONE- *)))\n"
    )
    found, changes = cleaned(tmp_path, text)
    assert found == [
        "(TOP (S (NP (DT the) (NN dog)) (VP (VBD was) (VP (VBN seen)) (-LRB- -LRB-))))"
    ]
    assert changes == {
        "traces": 3,
        "empty nodes": 6,
        "function tags": 2,
        "trees without words": 1,
        "leaves of several words": 0,
    }
    assert describe_changes(changes) == (
        "6 empty nodes, 3 traces, 2 function tags, 1 trees without words"
    )


def test_every_root_is_top_and_a_leaf_of_several_words_becomes_several(tmp_path) -> None:
    text = "(ROOT (NP (NN a b)))\n(NN c)\n(TOP (S (NN d)))\n(S (NN e))\n((S (NN f)) (. .))"
    found, changes = cleaned(tmp_path, text)
    assert found == [
        "(TOP (NP (NN a) (NN b)))",
        "(TOP (NN c))",
        "(TOP (S (NN d)))",
        "(TOP (S (NN e)))",
        "(TOP (S (NN f)) (. .))",
    ]
    assert changes["leaves of several words"] == 1


@given(trees.forests())
def test_cleaning_twice_changes_nothing_more(forest) -> None:
    once = list(clean_trees(forest, Counter()))
    changes = Counter()
    assert list(clean_trees(once, changes)) == once
    assert not changes.total()
    kept = [leaf.word for tree in forest for leaf in leaves(tree) if leaf.tag != "-NONE-"]
    assert [leaf.word for tree in once for leaf in leaves(tree)] == kept
