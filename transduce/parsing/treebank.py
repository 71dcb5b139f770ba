"""Reading treebanks: Penn brackets, one tree per line or spread over several lines."""

import re
from collections.abc import Iterator

from transduce.corpus.reading import File, TextFile
from transduce.errors import InputError
from transduce.parsing.tree import Leaf, Node, Tree

COMMENTS = ("#", ";", "%", "*")  # first characters of a line between trees that is a comment
DEEPEST = 500  # nested brackets

# A leaf as a whole, which is much faster than its four parts; or a bracket or word.
_TOKENS = re.compile(r"\(([^\s()]+) +([^\s()]+)\)|[()]|[^\s()]+")


class _Open:
    """A bracket that is not closed yet."""

    def __init__(self, line: int, character: int) -> None:
        self.line, self.character = line, character
        self.words: list[str] = []  # the label, and the words of a leaf
        self.children: list[Tree] = []


def read_trees(file: File) -> Iterator[Tree]:
    """The trees of a file; raises InputError with line and character if it has none or an error.

    A root may have an empty label, as in the Penn Treebank: `( (S …))`. A leaf may have several
    words, separated by spaces.
    """
    stack: list[_Open] = []
    empty = True
    with TextFile(file) as lines:
        for line in lines:
            if not stack and line.lstrip().startswith(COMMENTS):
                continue
            for token in _TOKENS.finditer(lines.spaced(line)):
                tree = _next(token, stack, file, lines.number)
                if tree is None:
                    continue
                if not stack:
                    empty = False
                    yield tree
                elif len(stack[-1].words) > 1:
                    word = stack[-1].words[1]
                    raise _error(file, lines.number, token, f"{word!r} needs brackets of its own")
                else:
                    stack[-1].children.append(tree)
    if stack:
        raise InputError(
            f"{file}, line {stack[0].line:,}, character {stack[0].character:,}: this bracket is "
            "never closed"
        )
    if empty:
        raise InputError(f"there are no trees in {file}")


def _next(token: re.Match[str], stack: list[_Open], file: File, line: int) -> Tree | None:
    """The tree that a token completes, if any."""
    text = token[0]
    if token[1]:
        return Leaf(token[1], token[2])
    if text == "(":
        if len(stack) == DEEPEST:
            raise _error(file, line, token, f"more than {DEEPEST} nested brackets")
        stack.append(_Open(line, token.start() + 1))
    elif not stack:
        what = "a closing bracket" if text == ")" else repr(text)
        raise _error(file, line, token, f"{what} outside a tree")
    elif text == ")":
        return _closed(stack.pop(), file, line, token)
    elif stack[-1].children:
        raise _error(file, line, token, f"{text!r} needs brackets of its own")
    else:
        stack[-1].words.append(text)
    return None


def _closed(opened: _Open, file: File, line: int, token: re.Match[str]) -> Tree:
    label = opened.words[0] if opened.words else ""
    if opened.children:
        return Node(label, tuple(opened.children))
    if len(opened.words) > 1:
        return Leaf(label, " ".join(opened.words[1:]))
    raise _error(file, line, token, "brackets without a word")


def _error(file: File, line: int, token: re.Match[str], what: str) -> InputError:
    return InputError(f"{file}, line {line:,}, character {token.start() + 1:,}: {what}")
