"""The lines that EVALB compares."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

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
    left, right = list(gold), list(test)
    both = min(len(left), len(right))
    return iter(left), iter([*map(retagged, left, right), *right[both:]])


def retagged(gold: str, test: str) -> str:
    """The test line with the tags of the gold line.

    >>> retagged("(NP (DT a) (NN dog))", "(NP (XX a) (XX dog))")
    '(NP (DT a) (NN dog))'
    """
    tags = [tag for tag, _ in _LEAF.findall(gold)]
    if len(tags) != len(_LEAF.findall(test)):
        return test
    following = iter(tags)
    return _LEAF.sub(lambda leaf: f"({next(following)}{leaf[2]}", test)
