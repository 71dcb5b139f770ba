"""One kind of attention of a sentence: the words on both sides and the weights of every head."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from transduce.errors import InputError, ModelError, nearest
from transduce.table import GAP, paragraph, render_table
from transduce.translate.attention import (
    SPACE,
    Attention,
    join_words,
    merge_weights,
    word_starts,
)

LINKS, BAR = 12, 30  # rows of the table, columns of a bar of 100 %

Kind = Literal["encoder", "decoder", "cross"]
KINDS: dict[Kind, str] = {
    "encoder": "encoder self-attention",
    "decoder": "decoder self-attention",
    "cross": "decoder attention over the source",
}


@dataclass(frozen=True, eq=False)
class View:
    """The weights of one kind of attention, of words or pieces; layers and heads count from 1.

    A row of `encoder` or `decoder` is what a word attends to when it is read; a row of `cross` is
    what the decoder attends to when it writes the word.
    """

    kind: Kind
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    weights: Float[np.ndarray, "layer head query key"]
    pieces: bool = False  # of word pieces, not of words

    @property
    def n_layers(self) -> int:
        return len(self.weights)

    @property
    def n_heads(self) -> int:
        return self.weights.shape[1]

    @property
    def title(self) -> str:
        return KINDS[self.kind]

    @property
    def special(self) -> int:
        """The key that is EOS, or in the decoder BOS: where heads rest."""
        return 0 if self.kind == "decoder" else len(self.keys) - 1

    def of(self, layer: int, head: int) -> Float[np.ndarray, "query key"]:
        return self.weights[layer - 1, head - 1]


@dataclass(frozen=True)
class Choice:
    """What of a view is shown: a layer, heads, and the row of one query (None: all rows)."""

    layer: int
    heads: tuple[int, ...]
    row: int | None = None

    def rows(self, view: View) -> Sequence[int]:
        return range(len(view.queries)) if self.row is None else [self.row]


@dataclass(frozen=True)
class Link:
    """A weight between two words."""

    query: str
    key: str
    head: int
    weight: float
    distance: int  # in words or pieces, from the query to the key


def kinds_of(attention: Attention) -> list[Kind]:
    """The kinds of attention that the network has."""
    return [kind for kind in KINDS if len(getattr(attention, kind))]


def view_of(attention: Attention, kind: Kind | None = None, pieces: bool = False) -> View:
    """The view of a kind, by default the first that the network has.

    Raises ModelError if it has no attention of this kind.
    """
    known = kinds_of(attention)
    kind = kind or known[0]
    if kind not in known:
        raise ModelError(f"this model has no {KINDS[kind]}: use --kind {' or '.join(known)}")
    # the step after reading target[i] writes the token after it
    written = (*attention.target[1:], *attention.source[-1:])
    source, target = (attention.source, -1), (attention.target, 0)
    queries, keys = {
        "encoder": (source, source),
        "decoder": (target, target),
        "cross": ((written, -1), source),
    }[kind]
    weights: np.ndarray = getattr(attention, kind)
    if pieces:
        return View(kind, _readable(*queries), _readable(*keys), weights, pieces=True)
    rows, columns = (word_starts(side, special % len(side)) for side, special in (queries, keys))
    words = join_words(queries[0], rows), join_words(keys[0], columns)
    return View(kind, *words, merge_weights(weights, rows, columns))


def _readable(tokens: tuple[str, ...], special: int) -> tuple[str, ...]:
    """Pieces, with a hyphen before one that continues a word."""
    special %= len(tokens)
    return tuple(
        token if i == special else (token[1:] or SPACE if token.startswith(SPACE) else f"-{token}")
        for i, token in enumerate(tokens)
    )


def choose(
    view: View, layer: int | None = None, heads: Sequence[int] = (), word: str | None = None
) -> Choice:
    """What to show of a view; raises InputError for a layer, head or word that it lacks.

    The default is the last layer but one, as in the paper's figures (5 of 6), and all heads.
    """
    layer = layer or max(view.n_layers - 1, 1)
    for name, numbers, most in (("layer", [layer], view.n_layers), ("head", heads, view.n_heads)):
        for number in numbers:
            if not 1 <= number <= most:
                of = f"{view.title} of this model has"
                raise InputError(f"--{name} {number}: {of} {name}s 1 to {most}")
    chosen = tuple(dict.fromkeys(heads)) or tuple(range(1, view.n_heads + 1))
    return Choice(layer, chosen, None if word is None else row_of(view, word))


def row_of(view: View, word: str) -> int:
    """The first row of a word, with or without punctuation; raises InputError if there is none."""
    if word in view.queries:
        return view.queries.index(word)
    bare = [_bare(query) for query in view.queries]
    if _bare(word) and _bare(word) in bare:
        return bare.index(_bare(word))
    known = list(dict.fromkeys(view.queries))
    raise InputError(f"--from {word}: not a word of the sentence{nearest(word, known)}")


def _bare(word: str) -> str:
    return re.sub(r"^\W+|\W+$", "", word).lower()


def strongest(view: View, choice: Choice, count: int) -> list[Link]:
    """The largest weights, without those on the word itself and on EOS or BOS."""
    links = [
        Link(view.queries[i], key, head, float(view.of(choice.layer, head)[i, j]), j - i)
        for head in choice.heads
        for i in choice.rows(view)
        for j, key in enumerate(view.keys)
        if j != view.special and (i != j or view.kind == "cross")
    ]
    return sorted(links, key=lambda link: -link.weight)[:count]


def resting(view: View, choice: Choice) -> dict[int, float]:
    """The mean weight that each head puts on EOS, or BOS in the decoder."""
    rows = list(choice.rows(view))
    return {
        head: float(view.of(choice.layer, head)[rows, view.special].mean()) for head in choice.heads
    }


def render(view: View, choice: Choice) -> str:
    """The strongest links as a table, and how far each head rests on EOS or BOS."""
    title = f"{view.title}, layer {choice.layer} of {view.n_layers}"
    rows = [
        (
            link.query,
            link.key,
            f"{100 * link.weight:.0f} %",
            f"{link.head}",
            "█" * round(BAR * link.weight),
        )
        for link in strongest(view, choice, LINKS)
    ]
    headings = ("from", "to", "weight", "head", "")
    # with no-break spaces inside a share
    shares = [f"{head}:\u00a0{100 * w:.0f}\u00a0%" for head, w in resting(view, choice).items()]
    rest = f"on {view.keys[view.special]}, by head:  {'  '.join(shares)}"
    table = render_table(f"The strongest links: {title}", headings, "<<>><", rows)
    return f"{table}\n{paragraph(rest, GAP, GAP * 2)}"


def to_json(view: View, choice: Choice) -> str:
    rows = list(choice.rows(view))
    return json.dumps(
        {
            "kind": view.kind,
            "layer": choice.layer,
            "heads": choice.heads,
            "queries": [view.queries[i] for i in rows],
            "keys": view.keys,
            "weights": [  # [head][query][key]
                np.round(view.of(choice.layer, head)[rows].astype(float), 6).tolist()
                for head in choice.heads
            ],
        },
        ensure_ascii=False,
    )
