"""The standard preparation of a treebank: no traces, no empty nodes, no function tags, one TOP."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal

from transduce.parsing.tree import Leaf, Node, Tree

TOP = "TOP"
ROOTS = ("", TOP, "ROOT", "S1")  # labels of a root that is not a constituent
TRACE = "-NONE-"

Change = Literal[
    "traces", "empty nodes", "function tags", "leaves of several words", "trees without words"
]

_FUNCTION = re.compile(r"(?<=.)[-=].*")


def clean_trees(trees: Iterable[Tree], changes: Counter[Change]) -> Iterator[Node]:
    """The trees prepared for training and scoring; counts what was changed.

    Traces are dropped, then nodes without words, which may be whole trees. Labels and tags lose
    their function tags: `NP-SBJ=1` becomes `NP`, `-LRB-` stays. A leaf of several words becomes
    several leaves. Every root is `TOP`.
    """
    for tree in trees:
        cleaned = _clean(tree, changes)
        if not cleaned:
            changes["trees without words"] += 1
        elif isinstance(cleaned[0], Node) and cleaned[0].label in ROOTS:
            yield Node(TOP, cleaned[0].children)
        else:
            yield Node(TOP, cleaned)


def describe_changes(changes: Counter[Change]) -> str:
    """What was changed, as a list; empty if nothing was."""
    return ", ".join(f"{count:,} {what}" for what, count in changes.most_common() if count)


def _clean(tree: Tree, changes: Counter[Change]) -> tuple[Tree, ...]:
    """What a tree becomes: nothing, one tree, or several leaves."""
    if isinstance(tree, Leaf):
        if tree.tag == TRACE:
            changes["traces"] += 1
            return ()
        changes["leaves of several words"] += " " in tree.word
        tag = _bare(tree.tag, changes)
        return tuple(Leaf(tag, word) for word in tree.word.split())
    children = tuple(kept for child in tree.children for kept in _clean(child, changes))
    if not children:
        changes["empty nodes"] += 1
        return ()
    return (Node(_bare(tree.label, changes), children),)


def _bare(label: str, changes: Counter[Change]) -> str:
    """A label without its function tags.

    >>> [_bare(label, Counter()) for label in ("NP-SBJ-1", "NP=2", "-LRB-", "-")]
    ['NP', 'NP', '-LRB-', '-']
    """
    if "-" not in label and "=" not in label:
        return label
    if label.startswith("-") and label.endswith("-"):
        return label
    bare = _FUNCTION.sub("", label)
    changes["function tags"] += bare != label
    return bare
