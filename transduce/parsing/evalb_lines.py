"""The lines that EVALB compares."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import zip_longest

from transduce.corpus.reading import File, TextFile
from transduce.parsing.cleaning import clean_trees
from transduce.parsing.tree import to_brackets
from transduce.parsing.treebank import read_trees

_LEAF = re.compile(r"\(([^()\s]*)([ \t]+[^()\s]*\))")


def lines_of(file: File, clean: bool = False) -> Iterator[str]:
    """The lines of a file as they are; or, cleaned, one tree per line."""
    if clean:
        yield from map(to_brackets, clean_trees(read_trees(file), Counter()))
        return
    with TextFile(file) as lines:
        for raw in lines.raw():
            yield raw.decode("utf-8", "surrogateescape")


def with_gold_tags(gold: Iterable[str], test: Iterable[str]) -> tuple[Iterator[str], Iterator[str]]:
    """Both files, with the tags of the gold words also in the test lines of as many words."""
    pairs = list(zip_longest(gold, test))
    left = [line for line, _ in pairs if line is not None]
    right = [retagged(*pair) if pair[0] is not None else pair[1] for pair in pairs]
    return iter(left), iter([line for line in right if line is not None])


def retagged(gold: str, test: str | None) -> str | None:
    """The test line with the tags of the gold line.

    >>> retagged("(NP (DT a) (NN dog))", "(NP (XX a) (XX dog))")
    '(NP (DT a) (NN dog))'
    """
    if test is None:
        return None
    tags = [tag for tag, _ in _LEAF.findall(gold)]
    if len(tags) != len(_LEAF.findall(test)):
        return test
    following = iter(tags)
    return _LEAF.sub(lambda leaf: f"({next(following)}{leaf[2]}", test)
