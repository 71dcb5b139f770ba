"""The texts of an HTML document that are translated, each with its inline elements.

A segment is what is between two tags that are not inline: a tree of elements over a plain text, in
which names stand for the parts that are not translated.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from html import escape, unescape
from typing import Literal

import regex  # type: ignore[import-untyped]

from transduce.translate.entities import Entity, entities
from transduce.translate.html.scanner import Piece, scan


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


INLINE = _names(
    "a abbr acronym b bdi bdo big cite data del dfn em font i img ins label mark nobr q s small "
    "span strike strong sub sup time u wbr code kbd samp tt var math svg"
)
NOT_TRANSLATED = _names("code kbd samp tt var math svg pre object audio video canvas")
VOID = _names("area base br col embed hr img input link meta param source track wbr")
DEEPEST = 32  # inline elements within each other; the tags of deeper ones end a segment
CONTEXT = 32  # nodes next to something kept, which tell whether it is a part of the sentence
NAMES = ("Tom", "Maria", "Boston", "Peter", "Anna", "Paris")  # models copy them well

SPACES = " \t\n\r\f"
_SPACES = regex.compile(f"[{SPACES}]+")
_LETTER = regex.compile(r"\p{L}")
_PICTURE = r"(?![©®™‼⁉])\p{Extended_Pictographic}[\uFE0F\p{Emoji_Modifier}]*+"
_EMOJI = regex.compile(
    rf"(?:\p{{RI}}{{2}}|{_PICTURE}(?:\u200D{_PICTURE})*+|[\d#*]\uFE0F?\u20E3)[\U000E0020-\U000E007F]*+"
    r"|(?<![\w:]):\w{2,}:(?![\w:])"  # :name:, as some networks write them
)
_ADDRESS = regex.compile(r"[@#/\\]|\.\w")  # not a code like A380
_SENTENCE_END = regex.compile(r"[.!?…:;]\s*\Z")

Kind = Literal["text", "element", "kept", "marker"]


@dataclass
class Node:
    """A part of a segment, with its span in the segment's text.

    A "kept" node is a part of the sentence that is not translated: a name stands for it. A "marker"
    takes no part in the sentence: an image, a comment, an emoji, an empty element.
    """

    kind: Kind
    raw: str  # HTML; of an element its start tag
    close: str = ""
    children: list["Node"] = field(default_factory=list)
    start: int = 0
    end: int = 0
    spaced: tuple[bool, bool] = (False, False)  # a marker has spaces before and after
    address: str = ""  # the text of an element that is kept because it is one

    @property
    def html(self) -> str:
        return self.raw + "".join(child.html for child in self.children) + self.close

    @property
    def text(self) -> str:
        """What a reader sees, without what is kept."""
        inner = unescape(self.raw) if self.kind == "text" else ""
        return inner + "".join(child.text for child in self.children)

    @property
    def outside(self) -> bool:
        """Whether the node, at the end of a segment, is no part of the sentence."""
        return self.kind == "marker" or (self.kind == "text" and not self.text.strip(SPACES))

    def leaves(self) -> Iterator["Node"]:
        """The nodes in it that are not elements."""
        for child in self.children:
            yield from child.leaves()
        if self.kind != "element":
            yield self


@dataclass(frozen=True)
class Segment:
    """A text to translate, and the nodes over it except texts."""

    text: str
    nodes: list[Node]
    named: bool  # every kept node has a name of its own

    @property
    def kept(self) -> list[Node]:
        return [leaf for node in self.nodes for leaf in node.leaves() if leaf.kind == "kept"]


def segments_of(html: str) -> list[str | Segment]:
    """The document in parts: HTML that is written as it is, and segments."""
    parts: list[str | Segment] = []
    run: list[Piece | Node] = []
    for item in _items(list(scan(html))):
        if isinstance(item, str):
            parts += [*_divided(run), item]
            run = []
        else:
            run.append(item)
    return [*parts, *_divided(run)]


def _items(pieces: Sequence[Piece]) -> Iterator[str | Piece | Node]:
    """Inline tags, other inline parts as nodes, and what ends a segment as HTML."""
    at = 0
    while at < len(pieces):
        piece, begin = pieces[at], at
        inline = piece.name in INLINE
        at += 1
        if piece.kind == "start" and piece.name not in VOID and _not_translated(piece):
            at = _end_of_element(pieces, begin)
            raw = "".join(one.raw for one in pieces[begin:at])
            yield Node("kept", raw) if inline else raw
        elif piece.kind == "text":
            yield Node("text", piece.raw)
        elif piece.raw.startswith("<!--") or (inline and piece.name in VOID):
            yield Node("marker", piece.raw)
        else:
            yield piece if inline else piece.raw


def _not_translated(tag: Piece) -> bool:
    attributes = tag.attributes
    return (
        tag.name in NOT_TRANSLATED
        or attributes.get("translate", "").lower() == "no"
        or "notranslate" in attributes.get("class", "").split()
    )


def _end_of_element(pieces: Sequence[Piece], start: int) -> int:
    """The number of the piece after an element; an open one ends with the document."""
    depth = 0
    for at in range(start, len(pieces)):
        if pieces[at].name == pieces[start].name:
            depth += {"start": 1, "end": -1}.get(pieces[at].kind, 0)
            if not depth:
                return at + 1
    return len(pieces)


def _divided(run: Sequence[Piece | Node]) -> Iterator[str | Segment]:
    """A run of inline items, divided at tags that have no counterpart in it."""
    pairs = _pairs(run)
    opened: list[list[Node]] = [[]]  # the children of the elements that are open
    for at, item in enumerate(run):
        if isinstance(item, Node):
            opened[-1].append(item)
        elif at not in pairs:
            yield from _segment(opened.pop())
            yield item.raw
            opened = [[]]
        elif item.kind == "start":
            opened.append([])
        else:
            children = opened.pop()
            start = run[pairs[at]]
            opened[-1].append(_element(start.raw, item.raw, children))
    yield from _segment(opened.pop())


def _pairs(run: Sequence[Piece | Node]) -> dict[int, int]:
    """The number of the start tag of each end tag and vice versa, if elements are nested.

    An element with a tag inside that has no counterpart, or one that is too deep, has none either.
    """
    found: dict[int, int] = {}
    opened: list[int] = []
    names: list[str] = []
    alone = set()
    for at, item in enumerate(run):
        if isinstance(item, Node):
            continue
        if item.kind == "start" and len(opened) < DEEPEST:
            opened.append(at)
            names.append(item.name)
        elif item.kind == "end" and item.name in names:
            while names.pop() != item.name:
                alone.add(opened.pop())
            start = opened.pop()
            found |= {start: at, at: start}
        else:
            alone.add(at)
    alone.update(opened)
    count, before = 0, []
    for at in range(len(run)):
        before.append(count)
        count += at in alone
    return {a: b for a, b in found.items() if before[a] == before[b]}


def _element(start: str, end: str, children: list[Node]) -> Node:
    """An element; one without words is a marker, and one that is an address or the like is kept."""
    element = Node("element", start, end, children)
    text = "".join(leaf.address or leaf.text for leaf in element.leaves()).strip()
    found = entities(text)
    if len(found) == 1 and found[0].text == text and _is_kept(found[0]):
        return Node("kept", element.html, address=text)
    if _EMOJI.sub("", element.text).strip():
        return element
    kept = any(leaf.kind == "kept" for leaf in element.leaves())
    return Node("kept" if kept else "marker", element.html)


def _is_kept(entity: Entity) -> bool:
    return entity.kind == "address" and bool(_ADDRESS.search(entity.text))


def _segment(nodes: Sequence[Node]) -> Iterator[str | Segment]:
    """The segment of these nodes, and what is around it."""
    inner = deque(_expanded(nodes))
    if not _LETTER.search("".join(node.text for node in inner)):
        yield "".join(node.html for node in nodes)
        return
    head: list[str] = []
    tail: list[str] = []  # from the end
    while True:
        first, last = inner[0], inner[-1]
        near = min(CONTEXT, len(inner))
        if first.outside or (first.kind == "kept" and _begins(inner[i] for i in range(1, near))):
            head.append(inner.popleft().html)
        elif last.outside or (last.kind == "kept" and _ended(inner[i] for i in range(-near, -1))):
            tail.append(inner.pop().html)
        elif first is last and first.kind == "element":
            head.append(first.raw)
            tail.append(first.close)
            inner = deque(first.children)
        else:
            break
    yield "".join(head)
    yield _with_text(list(inner))
    yield "".join(reversed(tail))


def _expanded(nodes: Iterable[Node]) -> Iterator[Node]:
    """The nodes with texts divided: spaces at their ends, what is kept, and emoji are apart."""
    for node in nodes:
        if node.kind == "text":
            yield from _parts_of_text(node.text)
        else:
            yield replace(node, children=list(_expanded(node.children)))


def _parts_of_text(text: str) -> Iterator[Node]:
    kept: list[tuple[int, int, Kind]] = [
        (one.start, one.end, "kept") for one in entities(text) if _is_kept(one)
    ]
    kept += [(*match.span(), "marker") for match in _EMOJI.finditer(text)]
    at = 0
    for start, end, kind in [*sorted(kept), (len(text), len(text), "marker")]:
        if start < at:
            continue  # an emoji in an address
        core = text[at:start].strip(SPACES)
        before, _, after = text[at:start].partition(core) if core else (text[at:start], "", "")
        for part in filter(None, (before, core, after)):
            yield Node("text", escape_text(part))
        if end > start:
            yield Node(kind, escape_text(text[start:end]))
        at = end


def escape_text(text: str) -> str:
    """Text as HTML, as browsers write it."""
    return escape(text, quote=False).replace("\xa0", "&nbsp;")


def _begins(nodes: Iterable[Node]) -> bool:
    """Whether a sentence begins here."""
    return "".join(node.text for node in nodes).lstrip()[:1].isupper()


def _ended(nodes: Iterable[Node]) -> bool:
    """Whether a sentence has ended here."""
    return bool(_SENTENCE_END.search("".join(node.text for node in nodes)))


def _with_text(nodes: list[Node]) -> Segment:
    """The segment of nodes that are its whole content."""
    visible = "".join(node.text for node in nodes)
    names = [name for name in NAMES if name.lower() not in visible.lower()]
    if visible.isupper():
        names = [name.upper() for name in names]
    count = sum(leaf.kind == "kept" for node in nodes for leaf in node.leaves())
    texts: list[str] = []
    length = 0
    spaced = True  # the text so far is empty or ends with a space
    unspaced: list[Node] = []  # the last markers, if no text follows them yet
    named = iter(names if count <= len(names) else NAMES[:1] * count)

    def add(text: str) -> None:
        nonlocal length, spaced
        if text:
            texts.append(text)
            length, spaced = length + len(text), text.endswith(" ")

    def write(some: list[Node]) -> list[Node]:
        placed = []
        for node in some:
            node.start = length
            if node.kind == "marker":
                node.spaced = (spaced and length > 0, False)
                unspaced.append(node)
            elif node.kind == "text":
                added = _SPACES.sub(" ", node.text)
                if added.startswith(" "):
                    for marker in unspaced:
                        marker.spaced = (marker.spaced[0], True)
                unspaced.clear()
                add(added.removeprefix(" ") if spaced else added)
            else:
                unspaced.clear()
                add(next(named) if node.kind == "kept" else "")
                node.children = write(node.children)
            node.end = length
            if node.kind != "text":
                placed.append(node)
        return placed

    placed = write(nodes)
    return Segment("".join(texts).rstrip(), placed, count <= len(names))
