"""Writes a translated segment with its elements over the words that they were over.

Every element is written exactly once, over one span of the translation: the one with the most
words that are aligned to words of the element, less the words in between that are not.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from transduce.translate.alignment import Link, Span, words_of
from transduce.translate.html.segments import Node, Segment, escape_text

NEAR = 8  # words around the expected place where a free one is looked for


@dataclass(frozen=True)
class Target:
    """The translation of a segment's text."""

    text: str
    links: Sequence[Link]
    kept: Sequence[Span]  # where the kept nodes are, in their order in the source


def write_segment(segment: Segment, target: Target) -> str:
    """The HTML of a translated segment."""
    writer = _Writer(segment, target)
    return writer.write(segment.nodes, (0, len(segment.text)), range(len(writer.words)))


class _Writer:
    """Words of the translation have numbers; a span of words is a range of them."""

    def __init__(self, segment: Segment, target: Target) -> None:
        self.source, self.text, self.words = segment.text, target.text, _words(target)
        self.kept = dict(zip(target.kept, (node.raw for node in segment.kept), strict=True))
        starts = [start for start, _ in self.words]
        best: dict[int, tuple[float, Span]] = {}
        links = []
        for link in _links(segment, target, self.words):
            word = bisect_right(starts, link.target[0]) - 1
            links.append((link.source, word, link.weight))
            if link.weight > best.get(word, (0.0,))[0]:
                best[word] = (link.weight, link.source)
        # by the position of the source word: all links, and the best one of each word
        self.links = _Links(links)
        self.best = _Links([(source, word, weight) for word, (weight, source) in best.items()])

    def write(self, nodes: Sequence[Node], parent: Span, within: range) -> str:
        """These words with these nodes, which are over a span of the source."""
        over: dict[int, tuple[range, Node]] = {}
        after: dict[int, str] = defaultdict(str)  # HTML directly after the word before this one
        before: dict[int, str] = defaultdict(str)  # HTML directly before this one
        for span, node in self._placed(nodes, within):
            if span:
                over[span.start] = (span, node)
            else:
                after[within.stop] += self._element(node, span)
        starts = sorted(over)
        for node in (node for node in nodes if node.kind == "marker"):
            at, html, follows = self._marker(node, parent, within)
            k = bisect_left(starts, at) - 1
            if k >= 0 and at < over[starts[k]][0].stop:  # in an element that it does not belong to
                at, follows = over[starts[k]][0].stop, True
            (after if follows else before)[at] += html
        written, at = [after[within.start]], within.start
        while at < within.stop:
            if at > within.start:
                written += [after[at], self.text[self.words[at - 1][1] : self.words[at][0]]]
            written.append(before[at])
            if at in over:
                span, node = over[at]
                written.append(self._element(node, span))
                at = span.stop
            else:
                start, end = self.words[at]
                written.append(self.kept.get((start, end)) or escape_text(self.text[start:end]))
                at += 1
        if within:
            written.append(after[within.stop])
        return "".join([*written, before[within.stop]])

    def _element(self, node: Node, span: range) -> str:
        inner = self.write(node.children, (node.start, node.end), span)
        return node.raw + inner + node.close

    def _placed(self, nodes: Sequence[Node], within: range) -> Iterator[tuple[range, Node]]:
        """The elements with their spans, which do not overlap; those with most words first."""
        taken: set[int] = set()
        elements = [
            (self.best.words(node.start, node.end, within), node)
            for node in nodes
            if node.kind == "element"
        ]
        for aligned, node in sorted(elements, key=lambda element: -len(element[0])):
            span = best_run(aligned, taken) or self._fallback(node, within, taken)
            taken.update(span)
            yield span, node

    def _fallback(self, node: Node, within: range, taken: set[int]) -> range:
        """The span of an element that no word is aligned to best: a free word, or none."""
        word = self.links.heaviest(node.start, node.end, within, taken)
        if word is None:
            near = within.start + len(within) * node.start // max(len(self.source), 1)
            some = range(max(near - NEAR, within.start), min(near + NEAR, within.stop))
            free = [i for i in some if i not in taken and self.words[i] not in self.kept]
            word = min(free, key=lambda i: abs(i - near), default=None)
        return range(within.stop, within.stop) if word is None else range(word, word + 1)

    def _marker(self, node: Node, parent: Span, within: range) -> tuple[int, str, bool]:
        """Before which word a marker is written, with its space, and whether it follows another."""
        left, right = node.spaced
        start, end = parent
        first = start + self.source[start : start + 1].isspace() >= node.start
        last = node.start >= end
        if first or (left and not right and not last):
            word = self.links.next_to(node.start, within, last=False)
            return within.start if word is None else word, node.raw + " " * right, False
        word = self.links.next_to(node.start, within, last=True)
        return within.stop if word is None else word + 1, " " * left + node.raw, True


class _Links:
    """Links of source words, which do not overlap, to numbers of target words."""

    def __init__(self, links: Sequence[tuple[Span, int, float]]) -> None:
        self.links = sorted(links)
        self._starts = [start for (start, _), _, _ in self.links]
        self._ends = [end for (_, end), _, _ in self.links]

    def between(self, start: int, end: int) -> Sequence[tuple[Span, int, float]]:
        """The links of the source words that are at least partly in a span."""
        return self.links[bisect_right(self._ends, start) : bisect_left(self._starts, end)]

    def words(self, start: int, end: int, within: range) -> list[int]:
        """The words that these links lead to, in order."""
        return sorted({word for _, word, _ in self.between(start, end) if word in within})

    def heaviest(self, start: int, end: int, within: range, taken: set[int]) -> int | None:
        """The word that the heaviest of these links leads to, if it is free."""
        free = [x for x in self.between(start, end) if x[1] in within and x[1] not in taken]
        return max(free, key=lambda link: link[2])[1] if free else None

    def next_to(self, at: int, within: range, last: bool) -> int | None:
        """The word for the last source word before a position, or the first after it."""
        found = bisect_right(self._ends, at) - 1 if last else bisect_left(self._starts, at)
        step = -1 if last else 1
        for _ in range(NEAR):
            if not 0 <= found < len(self.links):
                break
            source = self.links[found][0]
            some = [x for x in self.between(*source) if x[1] in within]
            if some:
                return max(some, key=lambda link: link[2])[1]
            found += step
        return None


def best_run(words: Sequence[int], taken: set[int]) -> range | None:
    """The span with the most of these words less others; it has none that is taken.

    >>> best_run([1, 2, 4, 9], set()), best_run([1, 2, 4], {3})
    (range(1, 5), range(1, 3))
    """
    best, best_score = None, 0
    start, score, previous = 0, 0, 0
    for word in words:
        if word in taken:
            continue
        gap = word - previous - 1
        if not score or gap > score or any(i in taken for i in range(previous + 1, word)):
            start, score = word, 1
        else:
            score += 1 - gap
        if score >= max(best_score, 1):
            best, best_score = range(start, word + 1), score
        previous = word
    return best


def _words(target: Target) -> list[Span]:
    """The words of a translation; each kept node is one."""
    words: list[Span] = []
    at = 0
    for start, end in [*sorted(target.kept), (len(target.text), len(target.text))]:
        words += [(at + a, at + b) for a, b in words_of(target.text[at:start])]
        words += [(start, end)] if end > start else []
        at = end
    return words


def _links(segment: Segment, target: Target, words: Sequence[Span]) -> list[Link]:
    """Links to these words; by their order if the alignment is not known."""
    sources = [(node.start, node.end) for node in segment.kept]
    kept = [Link(a, b, 1.0) for a, b in zip(sources, target.kept, strict=True)]
    hidden, shown = {*sources}, {*target.kept}
    links = [x for x in target.links if x.source not in hidden and x.target not in shown]
    if not links:
        all_words = words_of(segment.text)
        pairs = [(all_words[i * len(all_words) // len(words)], w) for i, w in enumerate(words)]
        links = [Link(a, b, 1.0) for a, b in pairs if b not in shown]
    return [*links, *kept]
