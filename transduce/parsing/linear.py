"""Trees as sequences of symbols, and back (§6.3; Vinyals et al. 2015, Liu and Zhang 2017).

A symbol opens a constituent (`⟨NP`), closes one (`⟩NP`) or stands for the next word (`•NN`, or
`•XX` if its tag is not predicted). The words themselves are not part of the sequence.
"""

from collections.abc import Iterable, Sequence

from transduce.config import Linearisation
from transduce.parsing.cleaning import TOP
from transduce.parsing.tree import Leaf, Node, Tree

OPEN, CLOSE, WORD = "⟨", "⟩", "•"
ANY_TAG = "XX"
HYPHEN = "HYPH"  # the tag of hyphens in treebanks that split compounds


def linearise(tree: Node, order: Linearisation, tags: bool) -> list[str]:
    """The symbols of a tree whose root is TOP, which is left out if it has a single constituent.

    top-down: a constituent opens before its first child; in-order: after it.

    >>> tree = Node("TOP", (Node("NP", (Leaf("DT", "a"), Leaf("NN", "dog"))),))
    >>> " ".join(linearise(tree, "top-down", tags=True))
    '⟨NP •DT •NN ⟩NP'
    >>> " ".join(linearise(tree, "in-order", tags=False))
    '•XX ⟨NP •XX ⟩NP'
    """
    symbols: list[str] = []
    root = tree.children[0] if len(tree.children) == 1 else tree
    _add(root if isinstance(root, Node) else tree, order, tags, symbols)
    return symbols


def _add(tree: Tree, order: Linearisation, tags: bool, symbols: list[str]) -> None:
    if isinstance(tree, Leaf):
        symbols.append(WORD + (tree.tag if tags or is_punctuation(tree.tag) else ANY_TAG))
        return
    for number, child in enumerate(tree.children):
        if number == (order == "in-order"):
            symbols.append(OPEN + tree.label)
        _add(child, order, tags, symbols)
    if order == "in-order" and len(tree.children) == 1:
        symbols.append(OPEN + tree.label)
    symbols.append(CLOSE + tree.label)


def is_punctuation(tag: str) -> bool:
    """Whether a tag is that of punctuation, which is always predicted, as EVALB ignores it.

    >>> [tag for tag in (",", "''", "-LRB-", "NN", "PRP$", "XX") if is_punctuation(tag)]
    [',', "''", '-LRB-']
    """
    bracket = tag.startswith("-") and tag.endswith("-")
    return bracket or tag == HYPHEN or not any(map(str.isalnum, tag))


def tree_of(symbols: Iterable[str], words: Sequence[str], order: Linearisation) -> Node:
    """The tree of symbols over words; raises ValueError if they are not one tree over all words."""
    following = iter(words)
    stack: list[tuple[str, list[Tree]]] = [("", [])]
    last = ""
    for symbol in symbols:
        mark, label = symbol[:1], symbol[1:]
        if mark == WORD:
            stack[-1][1].append(Leaf(label, next(following, "")))
        elif mark == OPEN:
            first: list[Tree] = []
            if order == "in-order":
                if last not in (WORD, CLOSE):
                    raise ValueError(f"{symbol} has no first child")
                first = [stack[-1][1].pop()]
            stack.append((label, first))
        else:
            opened, children = stack.pop()
            if not stack or opened != label or not children:
                raise ValueError(f"{symbol} closes nothing")
            stack[-1][1].append(Node(label, tuple(children)))
        last = mark
    (_, roots), *rest = stack
    if rest or len(roots) != 1 or not isinstance(roots[0], Node) or next(following, None):
        raise ValueError("the symbols are not one tree over the words")
    return roots[0] if roots[0].label == TOP else Node(TOP, (roots[0],))
