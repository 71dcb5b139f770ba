"""What every head does on average: measures of its weights over many sentences."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from transduce.attend.view import Kind, View, kinds_of, view_of
from transduce.attend.words import CONJUNCTIONS, FUNCTION_WORDS, PRONOUNS, is_mark, listed
from transduce.translate.attention import Attention

FAR = 5  # positions: at least so far is distant

Layers = Float[np.ndarray, "layer head"]


@dataclass(frozen=True, eq=False)
class Measures:
    """Means over the queries of all sentences, for every head of one kind of attention.

    `entropy` is in bits, `distance` in tokens. The others are shares of the weight: on the
    previous, the same and the next token (in cross-attention: position), on EOS (in the decoder
    BOS), on punctuation, and on tokens at least FAR positions away that are neither. `anaphora`
    is the share from pronouns to content words before them, `clause` the share on words of the same
    clause in sentences of several. Both are of words that are no neighbours, and missing where
    nothing was counted.
    """

    kind: Kind
    values: Mapping[str, Layers]
    uniform: Mapping[str, float]  # the same measures of heads that attend to all keys equally

    def excess(self, name: str) -> Layers:
        """How much larger a share is than with equal weights."""
        return self.values[name] - self.uniform[name]


def measure(attentions: Sequence[Attention], language: str = "") -> list[Measures]:
    """The measures of every kind of attention; `language` is that of the sources."""
    return [_measure(kind, attentions, language) for kind in kinds_of(attentions[0])]


def _measure(kind: Kind, attentions: Sequence[Attention], language: str) -> Measures:
    sums: dict[str, np.ndarray | float] = defaultdict(float)
    uniform: dict[str, float] = defaultdict(float)
    rows: dict[str, int] = defaultdict(int)
    for attention in attentions:
        pieces, words = (view_of(attention, kind, pieces=flag) for flag in (True, False))
        quantities = [
            (pieces, token_quantities(pieces)),
            (words, word_quantities(words, language) if kind == "encoder" else {}),
        ]
        for view, named in quantities:
            equal = equal_weights(view)
            for name, (counted, amounts) in named.items():
                if counted.any():
                    sums[name] += _sum(view.weights, counted, amounts)
                    uniform[name] += _sum(equal, counted, amounts).item()
                    rows[name] += int(counted.sum())
        sums["entropy"] += entropy(pieces.weights).sum(-1)
        uniform["entropy"] += entropy(equal_weights(pieces)).sum().item()
        rows["entropy"] += len(pieces.queries)
    return Measures(
        kind,
        {name: np.asarray(total / rows[name], dtype=np.float64) for name, total in sums.items()},
        {name: total / rows[name] for name, total in uniform.items()},
    )


def _sum(
    weights: Float[np.ndarray, "layer head query key"],
    counted: Bool[np.ndarray, " query"],
    amounts: np.ndarray,
) -> Layers:
    return (weights * amounts).sum(-1)[:, :, counted].sum(-1).astype(np.float64)


def entropy(
    weights: Float[np.ndarray, "layer head query key"],
) -> Float[np.ndarray, "layer head query"]:
    """−Σ w log₂ w of each row."""
    logs = np.log2(np.where(weights > 0, weights, 1))
    return -(weights * logs).sum(-1)


def equal_weights(view: View) -> Float[np.ndarray, "1 1 query key"]:
    """The weights of a single head that attends equally to all keys that it sees."""
    seen = np.ones((len(view.queries), len(view.keys)))
    if view.kind == "decoder":
        seen = np.tril(seen)
    return (seen / seen.sum(1, keepdims=True))[None, None]


Quantity = tuple[np.ndarray, np.ndarray]  # the rows that count; what each key counts in a row


def token_quantities(view: View) -> dict[str, Quantity]:
    """Positions, EOS or BOS, and punctuation, as masks over queries and keys."""
    query, key = np.arange(len(view.queries))[:, None], np.arange(len(view.keys))[None, :]
    every = np.ones(len(query), dtype=bool)
    marks = np.array([is_mark(token) for token in view.keys])
    marks[view.special] = False
    special = np.arange(len(view.keys)) == view.special
    offset = key - query
    masks = {
        "distance": np.abs(offset),
        "previous": offset == -1,
        "same": offset == 0,
        "next": offset == 1,
        "special": np.broadcast_to(special, offset.shape),
        "punctuation": np.broadcast_to(marks, offset.shape),
        "far": (np.abs(offset) >= FAR) & ~special & ~marks,
    }
    return {name: (every, mask) for name, mask in masks.items()}


def word_quantities(view: View, language: str) -> dict[str, Quantity]:
    """What the paper's Figures 4 and 5 show: anaphora and clauses, in encoder self-attention."""
    words = [word.lower() for word in view.keys]
    pronoun, function = (
        np.array([word in listed(which, language) for word in words])
        for which in (PRONOUNS, FUNCTION_WORDS)
    )
    marks = np.array([is_mark(word) for word in words])
    marks[view.special] = True
    position = np.arange(len(words))
    offset = position[None, :] - position[:, None]
    earlier = offset < -1
    content = ~(pronoun | function | marks)
    counted = pronoun & (earlier & content).any(1)
    found: dict[str, Quantity] = {"anaphora": (counted, earlier & content)}
    clauses = clause_numbers(words, listed(CONJUNCTIONS, language))
    if clauses.max() > 0:
        same = (clauses[:, None] == clauses[None, :]) & (np.abs(offset) > 1)
        found["clause"] = (~marks, same & ~marks)
    return found


def clause_numbers(words: Sequence[str], conjunctions: Iterable[str]) -> np.ndarray:
    """The number of each word's clause; a mark inside the sentence or a conjunction divides.

    >>> clause_numbers("we left , because it rained . </s>".split(), ["because"]).tolist()
    [0, 0, 0, 1, 1, 1, 1, 1]
    """
    numbers: list[int] = []
    number, begun = 0, False
    for word in words:
        divides = word in conjunctions or (begun and numbers and is_mark(words[len(numbers) - 1]))
        if begun and divides and not is_mark(word) and len(numbers) < len(words) - 1:
            number, begun = number + 1, False
        begun = begun or not is_mark(word)
        numbers.append(number)
    return np.array(numbers)
