"""Trees as sequences of symbols, and back (§6.3; Vinyals et al. 2015, Liu and Zhang 2017).

A symbol opens a constituent (`⟨NP`), closes one (`⟩NP`), or is the tag (`•NN`) or the position
(`→3`) of the next word. The words themselves are not part of the sequence. The source has the same
positions after its words, so that the decoder finds the word that it has come to.
"""

from collections.abc import Iterable, Iterator, Sequence

from transduce.config import Linearisation
from transduce.parsing.cleaning import TOP
from transduce.parsing.tree import Leaf, Node, Tree, unescape

OPEN, CLOSE, TAG, POSITION = "⟨", "⟩", "•", "→"
NO_TAG = "XX"
HYPHEN = "HYPH"  # the tag of hyphens in treebanks that split compounds
POSITIONS = 64  # then they repeat


def linearise(tree: Node, order: Linearisation, tags: bool) -> list[str]:
    """The symbols of a tree whose root is TOP, which is left out if it has a single constituent.

    top-down: a constituent opens before its first child; in-order: after it. Without `tags`, only
    punctuation has one.

    >>> tree = Node("TOP", (Node("NP", (Leaf("DT", "a"), Leaf("NN", "dog"))),))
    >>> " ".join(linearise(tree, "top-down", tags=True))
    '⟨NP •DT →0 •NN →1 ⟩NP'
    >>> " ".join(linearise(tree, "in-order", tags=False))
    '→0 ⟨NP →1 ⟩NP'
    """
    root = tree.children[0] if len(tree.children) == 1 else tree
    number = 0
    symbols = []
    for symbol in _symbols(root if isinstance(root, Node) else tree, order):
        if symbol[0] != TAG or tags or is_punctuation(symbol[1:]):
            symbols.append(symbol)
        if symbol[0] == TAG:
            symbols.append(position(number))
            number += 1
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


def position(number: int) -> str:
    return f"{POSITION}{number % POSITIONS}"


def source_text(words: Sequence[str]) -> str:
    """What the encoder reads: the characters of the words, each followed by its position.

    >>> source_text(["(", "dogs", ")"]) == source_text(["-LRB-", "dogs", "-RRB-"])
    True
    """
    return " ".join(unescape(word) + position(number) for number, word in enumerate(words))


def source_words(text: str) -> list[str]:
    """The words of a source text."""
    return [word[: word.rindex(POSITION)] for word in text.split(" ")]


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
    number, tag, last = 0, "", ""
    for symbol in symbols:
        mark, label = symbol[:1], symbol[1:]
        if last == TAG and mark != POSITION:
            raise ValueError(f"{symbol} follows a tag")
        if mark == TAG:
            tag = label
        elif mark == POSITION:
            if number == len(words) or symbol != position(number):
                raise ValueError(f"{symbol} is not the next word")
            stack[-1][1].append(Leaf(tag or NO_TAG, words[number]))
            number, tag = number + 1, ""
        elif mark == OPEN:
            first: list[Tree] = []
            if order == "in-order":
                if last not in (POSITION, CLOSE):
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
