"""Trees as sequences of symbols, and raw text as words."""

from collections import Counter

import pytest
import trees
from hypothesis import example, given
from hypothesis import strategies as st

from transduce.parsing.cleaning import clean_trees
from transduce.parsing.linear import NO_TAG, is_punctuation, linearise, tree_of
from transduce.parsing.tree import Leaf, Node, indented, leaves, to_brackets, unescape, words
from transduce.parsing.words import split_words

ORDERS = ["top-down", "in-order"]


def without_tags(tree):
    if isinstance(tree, Leaf):
        return tree if is_punctuation(tree.tag) else Leaf(NO_TAG, tree.word)
    return Node(tree.label, tuple(map(without_tags, tree.children)))


@pytest.mark.parametrize("order", ORDERS)
@given(trees.forests())
def test_a_tree_and_its_words_are_restored_from_its_symbols(order, forest) -> None:
    for tree in clean_trees(forest, Counter()):
        only = tree.children[0]
        while len(tree.children) == 1 and isinstance(only, Node) and only.label == "TOP":
            tree, only = only, only.children[0]  # TOP over TOP is one TOP
        assert tree_of(linearise(tree, order, True), words(tree), order) == tree
        bare = linearise(tree, order, False)
        assert tree_of(bare, words(tree), order) == without_tags(tree)


@given(trees.tree())
def test_both_orders_have_the_same_symbols_and_name_every_word(tree) -> None:
    top_down, in_order = (linearise(tree, order, True) for order in ORDERS)
    assert Counter(top_down) == Counter(in_order)
    assert [s[1:] for s in top_down if s[0] == "•"] == [leaf.tag for leaf in leaves(tree)]
    assert [s[1:] for s in in_order if s[0] == "→"] == [*map(unescape, words(tree)), ""]


@pytest.mark.parametrize("order", ORDERS)
@given(symbols=st.lists(st.sampled_from(["⟨A", "⟩A", "⟨B", "⟩B", "→w"]), max_size=8))
def test_symbols_that_are_not_a_tree_raise_and_others_linearise_to_themselves(
    order, symbols
) -> None:
    sentence = ["w"] * (symbols.count("→w") - 1)
    try:
        tree = tree_of(symbols, sentence, order)
    except ValueError:
        return
    again = linearise(tree, order, False)
    assert [symbol[0] for symbol in again] == [symbol[0] for symbol in symbols]
    assert words(tree) == sentence


@given(trees.tree())
def test_an_indented_tree_is_the_same_tree(tree) -> None:
    assert " ".join(indented(tree, 30).split()) == to_brackets(tree)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The dogs' tails wag, don't they?", "The dogs ' tails wag , do n't they ?"),
        ('He said: "It\'s $5.50 (or 3%)."', "He said : `` It 's $ 5.50 ( or 3 % ) . ''"),
        ("I cannot see 1,000 at 10:30 a.m.", "I can not see 1,000 at 10:30 a.m."),
        ("See http://x.org/a-b, or a@b.org.", "See http://x.org/a-b , or a@b.org ."),
        ("Wait... well--no; 'yes'", "Wait ... well -- no ; ` yes '"),
        ("wild-type", "wild-type"),
        ("", ""),
    ],
)
def test_raw_text_is_split_as_in_the_penn_treebank(text, expected) -> None:
    assert split_words(text) == expected.split()


def test_compounds_are_split_only_for_treebanks_that_do() -> None:
    found = " ".join(split_words("wild-type/anti-mouse (n=5)", hyphens=True))
    assert found == "wild - type / anti-mouse ( n = 5 )"


@example("1@1@")  # an address before a character that no rule splits off
@given(st.text(st.sampled_from("ab1.,:'\"-/()$%… \n\u00a0🙂é@"), max_size=40))
def test_splitting_keeps_every_visible_character_but_quotes(text) -> None:
    kept = "".join(split_words(text, hyphens=True))
    for quote in ("`", "'", '"', "‘"):
        kept, text = kept.replace(quote, ""), text.replace(quote, "")
    assert kept == "".join(text.replace("\0", " ").split())
