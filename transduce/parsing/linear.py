"""Trees as sequences of symbols, and back (§6.3; Vinyals et al. 2015, Liu and Zhang 2017).

A symbol opens a constituent (`⟨NP`), closes one (`⟩NP`), is the tag of a word (`•NN`), or names the
word that comes next (`→dog`; after the last word, `→`): it is the first symbol, and each word is
followed by the name of the one after it. Names are known when a sentence is parsed. They give the
decoder the words one by one, so that it need not learn first which word it has come to.
"""

from collections.abc import Iterable, Iterator, Sequence

from transduce.config import Linearisation
from transduce.parsing.cleaning import TOP
from transduce.parsing.tree import Leaf, Node, Tree, leaves, unescape

OPEN, CLOSE, TAG, NEXT = "⟨", "⟩", "•", "→"
NO_TAG = "XX"
HYPHEN = "HYPH"  # the tag of hyphens in treebanks that split compounds


def linearise(tree: Node, order: Linearisation, tags: bool) -> list[str]:
    """The symbols of a tree whose root is TOP, which is left out if it has a single constituent.

    top-down: a constituent opens before its first child; in-order: after it. Without `tags`, only
    punctuation has one.

    >>> tree = Node("TOP", (Node("NP", (Leaf("DT", "a"), Leaf("NN", "dog"))),))
    >>> " ".join(linearise(tree, "top-down", tags=True))
    '→a ⟨NP •DT →dog •NN → ⟩NP'
    >>> " ".join(linearise(tree, "in-order", tags=False))
    '→a →dog ⟨NP → ⟩NP'
    """
    root = tree.children[0] if len(tree.children) == 1 else tree
    following = iter(names([leaf.word for leaf in leaves(tree)]))
    symbols = [next(following)]
    for symbol in _symbols(root if isinstance(root, Node) else tree, order):
        if symbol[0] != TAG or tags or is_punctuation(symbol[1:]):
            symbols.append(symbol)
        if symbol[0] == TAG:
            symbols.append(next(following))
    return symbols


def _symbols(tree: Tree, order: Linearisation) -> Iterator[str]:
    if isinstance(tree, Leaf):
        yield TAG + tree.tag
        return
    before = tree.children[: int(order == "in-order")]
    for child in before:
        yield from _symbols(child, order)
    yield OPEN + tree.label
    for child in tree.children[len(before) :]:
        yield from _symbols(child, order)
    yield CLOSE + tree.label


def names(words: Sequence[str]) -> list[str]:
    """The symbols that name the words, and the one that says that there are no more."""
    return [*(NEXT + unescape(word) for word in words), NEXT]


def source_text(words: Sequence[str]) -> str:
    """What the encoder reads: the characters of the words, however a treebank escapes them."""
    return " ".join(map(unescape, words))


def is_punctuation(tag: str) -> bool:
    """Whether a tag is that of punctuation, which is always predicted, as EVALB ignores it.

    >>> [tag for tag in (",", "''", "-LRB-", "NN", "PRP$", "HYPH") if is_punctuation(tag)]
    [',', "''", '-LRB-', 'HYPH']
    """
    bracket = tag.startswith("-") and tag.endswith("-")
    return bracket or tag == HYPHEN or not any(map(str.isalnum, tag))


def tree_of(symbols: Iterable[str], words: Sequence[str], order: Linearisation) -> Node:
    """The tree of symbols over words; raises ValueError if they are not one tree over all words."""
    stack: list[tuple[str, list[Tree]]] = [("", [])]
    number, tag, last = -1, "", ""
    for symbol in symbols:
        mark, label = symbol[:1], symbol[1:]
        if (not last or last == TAG) and mark != NEXT:
            raise ValueError(f"{symbol} where the next word should be named")
        if mark == TAG:
            tag = label
        elif mark == NEXT:
            number += 1
            if number > len(words):
                raise ValueError("the symbols have more words than the sentence")
            if last:
                stack[-1][1].append(Leaf(tag or NO_TAG, words[number - 1]))
            tag = ""
        elif mark == OPEN:
            first: list[Tree] = []
            if order == "in-order":
                if number == 0 or last not in (NEXT, CLOSE):
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
    if rest or last != CLOSE or len(roots) != 1 or number < len(words):
        raise ValueError("the symbols are not one tree over the words")
    root = roots[0]
    return root if isinstance(root, Node) and root.label == TOP else Node(TOP, (root,))
