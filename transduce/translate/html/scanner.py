"""Divides HTML into pieces whose concatenation is the document.

Tags begin and end where the tokenizer of the HTML standard says, so that browsers agree.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from html import unescape
from typing import Literal

import regex  # type: ignore[import-untyped]

Kind = Literal["text", "start", "end", "other"]

# their content is not markup
RAW_TEXT = ("script", "style", "textarea", "xmp", "iframe", "noembed", "noframes", "noscript")

_S = r" \t\n\r\f"
_ATTRIBUTE = (
    rf"""(?P<key>[^{_S}/>][^{_S}/>=]*+)(?:[{_S}]*+=[{_S}]*+(?:"(?P<value>[^"]*+)(?:"|\Z)"""
    rf"""|'(?P<value>[^']*+)(?:'|\Z)|(?P<value>[^{_S}>"'][^{_S}>]*+))?+)?+"""
)
_MARKUP = regex.compile(
    r"<!--(?:-?+>|(?s:.*?)(?:--!?>|\Z))"  # a comment
    r"|<!\[CDATA\[(?s:.*?)(?:\]\]>|\Z)"
    r"|<(?:[!?]|/(?=[^A-Za-z]))[^>]*+(?:>|\Z)"  # a doctype, or what browsers ignore
    rf"|<(?P<end>/)?+(?P<name>[A-Za-z][^{_S}/>]*+)(?:[{_S}/]++|{_ATTRIBUTE})*+(?:>|\Z)"
)
_ATTRIBUTES = regex.compile(_ATTRIBUTE)


@dataclass(frozen=True)
class Piece:
    """A text, a start or end tag, or anything else, such as a comment or a script."""

    kind: Kind
    raw: str
    name: str = ""  # of the element, in lower case

    @cached_property
    def attributes(self) -> Mapping[str, str]:
        """The attributes of a start tag."""
        inside = self.raw[1 + len(self.name) :].removesuffix(">")
        found: dict[str, str] = {}
        for match in _ATTRIBUTES.finditer(inside):
            found.setdefault(match["key"].lower(), unescape(match["value"] or ""))
        return found


def scan(html: str) -> Iterator[Piece]:
    """The pieces of a document."""
    at = 0
    while at < len(html):
        match = _MARKUP.search(html, at)
        begin = match.start() if match else len(html)
        if begin > at:
            yield Piece("text", html[at:begin])
        if match is None:
            return
        at, name = match.end(), (match["name"] or "").lower()
        if not name or not match[0].endswith(">"):  # an incomplete tag ends the document
            yield Piece("other", match[0])
        elif match["end"]:
            yield Piece("end", match[0], name)
        elif name == "plaintext":
            yield Piece("other", html[begin:])
            return
        elif name in RAW_TEXT:
            at = _end_of_raw_text(html, name, at)
            yield Piece("other", html[begin:at])
        else:
            yield Piece("start", match[0], name)
            if name == "title":  # has text, but no elements
                begin, at = at, _end_of_raw_text(html, name, at, include=False)
                if at > begin:
                    yield Piece("text", html[begin:at])


def _end_of_raw_text(html: str, name: str, at: int, include: bool = True) -> int:
    """Where the end tag of an element that contains no others ends, or begins."""
    found = regex.compile(rf"(?i)</{name}(?=[{_S}/>])").search(html, at)
    if found is None:
        return len(html)
    if not include:
        return int(found.start())
    tag = _MARKUP.match(html, found.start())
    return int(tag.end())
