"""EVALB: labelled bracketing scores as Sekine and Collins' program computes them.

Its limits on the lengths of lines, sentences and labels are left out; everything else is kept,
also what it does with malformed lines.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

from transduce.parsing.evalb_params import Params

SPACE = " \t\n\v\f\r"
QUOTES = ("'", '"', "/")  # the words that QUOTE_LABEL is about

_OPEN = re.compile(rf"\(([^()\s]*)(?:[{SPACE}]+([^()\s]*))?", re.ASCII)
_NAME = re.compile("[^-=]*")


class TooManyErrorsError(Exception):
    """More errors than MAX_ERROR allows: the program stops without a summary."""


@dataclass
class Errors:
    """Writes and counts errors; `found` is whether the current sentence has any."""

    most: int
    write: Callable[[str], None]
    line: int = 1
    count: int = 0
    found: bool = False

    def __call__(self, message: str) -> None:
        self.found = True
        self.write(f"{self.line} : {message}")
        if self.count > self.most:
            raise TooManyErrorsError
        self.count += 1


@dataclass
class Bracket:
    """A constituent over the words start ≤ i < end."""

    label: str
    start: int
    end: int = -1


@dataclass(frozen=True)
class Quote:
    """A quotation mark, which a QUOTE_LABEL may delete on one side only."""

    tag: str
    word: str
    index: int  # of its word
    brackets: int  # opened before it
    around: tuple[Bracket, ...]


@dataclass
class Sentence:
    """A line of a file; deleted words are left out."""

    tags: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    brackets: list[Bracket] = field(default_factory=list)
    quotes: list[Quote] = field(default_factory=list)
    length: int = 0  # words that are not in DELETE_LABEL_FOR_LENGTH


@dataclass(frozen=True)
class Score:
    """The counts of one sentence; status 0: scored, 1: error, 2: skipped."""

    line: int
    length: int
    status: int
    gold: int = 0  # brackets
    test: int = 0
    matched: int = 0
    crossing: int = 0
    words: int = 0
    correct_tags: int = 0
    labels: Counter[tuple[str, str]] = field(default_factory=Counter)  # (what, label)


def score_lines(
    gold: Iterable[str], test: Iterable[str], params: Params, write: Callable[[str], None]
) -> Iterator[Score]:
    """The score of each pair of lines; `write` is called with the messages of errors.

    Raises TooManyErrorsError as the program exits.
    """
    errors = Errors(params.max_error, write)
    for line, (left, right) in enumerate(zip_longest(gold, test), 1):
        errors.line, errors.found = line, False
        if left is None:
            errors("Number of lines unmatch (too many lines in test file)")
            return
        first = read_line(left, params, errors)
        if right is None:
            errors("Number of lines unmatch (too many lines in gold file)")
            return
        yield score_sentence(first, read_line(right, params, errors), params, errors)


def read_line(line: str, params: Params, error: Callable[[str], None]) -> Sentence:
    """The words and brackets of a line, in the order in which brackets open."""
    sentence = Sentence()
    stack: list[Bracket] = []
    surplus = 0  # closing brackets
    at = 0
    while at < len(line):
        if line[at] in SPACE:
            at += 1
        elif line[at] == ")":
            at += 1
            if stack:
                stack.pop().end = len(sentence.words)
            else:  # the first one is noticed only at the end of the line
                surplus += 1
                if surplus > 1:
                    error("Bracketing unbalance (too many close bracket)")
        elif opened := _OPEN.match(line, at):
            label, word = opened[1], opened[2]
            after = line[opened.end() : opened.end() + 1]
            if word is not None and after == ")":
                _add_word(sentence, label, word, stack, params)
                at = opened.end() + 1
                continue
            if word is not None and after != "(":
                error("More than two elements in a bracket")
            stack.append(Bracket(label, len(sentence.words)))
            sentence.brackets.append(stack[-1])
            at = opened.end(1)
        else:
            error("Reading sentence")  # again and again, until there are too many errors
    if stack or surplus:
        error("Bracketing is unbalanced (too many open bracket)")
    return sentence


def _add_word(
    sentence: Sentence, tag: str, word: str, stack: list[Bracket], params: Params
) -> None:
    sentence.length += tag not in params.delete_for_length
    if tag in params.quotes and word in QUOTES:
        place = len(sentence.words), len(sentence.brackets)
        sentence.quotes.append(Quote(tag, word, *place, tuple(stack)))
    if tag not in params.delete:
        sentence.tags.append(tag)
        sentence.words.append(word)


def score_sentence(gold: Sentence, test: Sentence, params: Params, errors: Errors) -> Score:
    """Compares the brackets of two sentences."""
    if not test.words:
        return Score(errors.line, gold.length, 2)
    if len(gold.words) != len(test.words):
        _reinsert_quotes(gold, test, params)
    if len(gold.words) != len(test.words):
        errors(f"Length unmatch ({len(gold.words)}|{len(test.words)})")
        return Score(errors.line, gold.length, 1)
    for left, right in zip(gold.words, test.words, strict=True):
        if not params.same_word(left, right):
            errors(f"Words unmatch ({left}|{right})")
            return Score(errors.line, gold.length, 1)
    ours, theirs = _counted(gold, params), _counted(test, params)
    labels = Counter(("gold", bracket.label) for bracket in ours)
    labels.update(("test", bracket.label) for bracket in theirs)
    matched = _match(ours, theirs, params, labels)
    tags = zip(gold.tags, test.tags, strict=True)
    return Score(
        errors.line,
        gold.length,
        int(errors.found),
        len(ours),
        len(theirs),
        matched,
        sum(any(_cross(a, b) for a in ours) for b in theirs),
        len(gold.words),
        sum(params.same_label(left, right) for left, right in tags),
        labels,
    )


def _counted(sentence: Sentence, params: Params) -> list[Bracket]:
    """The brackets that count, with their labels cut at `-` or `=`."""
    found = []
    for bracket in sentence.brackets:
        name = _NAME.match(bracket.label)
        assert name
        if bracket.start != bracket.end and not params.deletes(name[0]):
            found.append(Bracket(name[0], bracket.start, bracket.end))
    return found


def _match(
    gold: list[Bracket], test: list[Bracket], params: Params, labels: Counter[tuple[str, str]]
) -> int:
    """Greedy in the order of the gold brackets; each test bracket matches once."""
    free: dict[tuple[int, int], list[Bracket]] = {}
    for bracket in test:
        free.setdefault((bracket.start, bracket.end), []).append(bracket)
    matched = 0
    for bracket in gold:
        same_span = free.get((bracket.start, bracket.end), [])
        for i, other in enumerate(same_span):
            if not params.labeled or params.same_label(bracket.label, other.label):
                labels["recalled", bracket.label] += 1
                labels["precise", other.label] += 1
                del same_span[i]
                matched += 1
                break
    return matched


def _cross(a: Bracket, b: Bracket) -> bool:
    return a.start < b.start < a.end < b.end or b.start < a.start < b.end < a.end


def _reinsert_quotes(gold: Sentence, test: Sentence, params: Params) -> None:
    """Puts back quotation marks whose tag is deleted on one side only."""
    golds, tests = ([quote.index for quote in side.quotes] for side in (gold, test))
    for i, right in enumerate(test.quotes):
        index = tests[i]
        for j, left in enumerate(gold.quotes):
            if golds[j] != index or left.tag == right.tag:
                continue
            deleted = left.tag in params.delete, right.tag in params.delete
            if deleted == (True, False):
                _reinsert(left, gold, golds[j])
                golds[j:] = [one + 1 for one in golds[j:]]
            elif deleted == (False, True):
                _reinsert(right, test, tests[i])
                tests[i:] = [one + 1 for one in tests[i:]]


def _reinsert(quote: Quote, sentence: Sentence, index: int) -> None:
    sentence.tags.insert(index, quote.tag)
    sentence.words.insert(index, quote.word)
    for bracket in sentence.brackets[quote.brackets :]:
        bracket.start += 1
        bracket.end += 1
    for bracket in quote.around:
        bracket.end += 1
