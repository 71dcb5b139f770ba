"""Random trees."""

from hypothesis import strategies as st

from transduce.parsing.tree import Leaf, Node

TAGS = ("NN", "DT", "VBZ", ",", ".", "-NONE-", "-LRB-", "``", "NN-X")
LABELS = ("S", "NP", "VP", "NP-SBJ", "ADVP", "PRT", "PP=2", "TOP", "X")
WORDS = ("the", "dog", "3%", "naïve", "🙂", "-LRB-", ",", "''")

ANY_LABEL = st.sampled_from(LABELS)
ANY_LEAF = st.builds(Leaf, st.sampled_from(TAGS), st.sampled_from(WORDS))


def tree(leaves=ANY_LEAF, labels=ANY_LABEL):
    """A tree whose root is a node."""

    def node(children, most):
        return st.builds(Node, labels, st.lists(children, min_size=1, max_size=most).map(tuple))

    return node(st.recursive(leaves, lambda inner: node(inner, 4), max_leaves=12), 3)


def forests():
    return st.lists(tree(), min_size=1, max_size=4)


@st.composite
def over(draw, words, tags, labels=ANY_LABEL):
    """A tree over given words, with these tags."""
    row = [Leaf(draw(tags), word) for word in words]
    while len(row) > 1 or isinstance(row[0], Leaf):
        start = draw(st.integers(0, len(row) - 1))
        end = draw(st.integers(start + 1, len(row)))
        row[start:end] = [Node(draw(labels), tuple(row[start:end]))]
    return row[0]
