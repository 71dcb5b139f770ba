"""Constituency trees and their Penn brackets."""

from collections.abc import Iterator
from dataclasses import dataclass

# How a treebank writes brackets inside words.
ESCAPES = {"(": "-LRB-", ")": "-RRB-"}
UNESCAPES = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "\\/": "/",
    "\\*": "*",
}


@dataclass(frozen=True, slots=True)
class Leaf:
    """A word and its part-of-speech tag."""

    tag: str
    word: str


@dataclass(frozen=True, slots=True)
class Node:
    """A constituent."""

    label: str
    children: tuple["Tree", ...]


Tree = Node | Leaf


def leaves(tree: Tree) -> Iterator[Leaf]:
    """The leaves from left to right."""
    if isinstance(tree, Leaf):
        yield tree
    else:
        for child in tree.children:
            yield from leaves(child)


def words(tree: Tree) -> list[str]:
    return [leaf.word for leaf in leaves(tree)]


def to_brackets(tree: Tree) -> str:
    """A tree on one line.

    >>> to_brackets(Node("NP", (Leaf("DT", "a"), Leaf("NN", "dog"))))
    '(NP (DT a) (NN dog))'
    """
    if isinstance(tree, Leaf):
        return f"({tree.tag} {escape(tree.word)})"
    return f"({tree.label} {' '.join(map(to_brackets, tree.children))})"


def indented(tree: Tree, width: int = 80, indent: int = 0) -> str:
    """A tree on several lines; a constituent that fits into the width is on one.

    >>> print(indented(Node("S", (Leaf("NN", "a"), Node("NP", (Leaf("NN", "b"),)))), width=15))
    (S (NN a)
      (NP (NN b)))
    """
    line = to_brackets(tree)
    if isinstance(tree, Leaf) or indent + len(line) <= width:
        return line
    parts = [f"({tree.label}"]
    for number, child in enumerate(tree.children):
        beside = number == 0 and isinstance(child, Leaf)
        space = " " if beside else "\n" + " " * (indent + 2)
        parts.append(space + indented(child, width, indent + 2))
    return "".join(parts) + ")"


def escape(word: str) -> str:
    """The word with its parentheses as a treebank writes them.

    >>> escape("f(x)")
    'f-LRB-x-RRB-'
    """
    for character, escaped in ESCAPES.items():
        word = word.replace(character, escaped)
    return word


def unescape(word: str) -> str:
    r"""The characters of a word of a treebank.

    >>> unescape("-LRB-"), unescape(r"1\/2")
    ('(', '1/2')
    """
    if "-" in word or "\\" in word:
        for escaped, character in UNESCAPES.items():
            word = word.replace(escaped, character)
    return word
