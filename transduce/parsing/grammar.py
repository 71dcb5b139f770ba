"""The constraint under which a parser decodes: every output is one tree over exactly the words.

A state is a few numbers per hypothesis, so that the constraint of a whole beam is a few tensor
operations. Invariant: length + the fewest symbols that complete the tree + EOS ≤ limit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from transduce.config import Linearisation
from transduce.parsing.linear import CLOSE, OPEN, WORD

MOST_OPENS = 16  # between two words
DEEPEST = 100  # open constituents

NOTHING, OPENED, SHIFTED, CLOSED = range(4)  # what the last symbol was


@dataclass(frozen=True)
class Symbols:
    """The target vocabulary by the role of each symbol; labels are numbered."""

    kinds: Int[Tensor, " vocabulary"]  # NOTHING for specials and unknown labels
    labels: Int[Tensor, " vocabulary"]  # of symbols that open or close; -1 for others
    eos_id: int
    order: Linearisation

    @classmethod
    def of(cls, vocabulary: Sequence[str], eos_id: int, order: Linearisation) -> "Symbols":
        roles = {OPEN: OPENED, WORD: SHIFTED, CLOSE: CLOSED}
        kinds = [roles.get(s[0], NOTHING) if len(s) > 1 else NOTHING for s in vocabulary]
        opens = [s[1:] for s, kind in zip(vocabulary, kinds, strict=True) if kind == OPENED]
        numbers = {label: number for number, label in enumerate(opens)}
        labels = [
            numbers[s[1:]] if kind in (OPENED, CLOSED) else -1
            for s, kind in zip(vocabulary, kinds, strict=True)
        ]
        return cls(torch.tensor(kinds), torch.tensor(labels), eos_id, order)


@dataclass(frozen=True)
class TreeGrammar:
    """The state of each hypothesis of a batch: a `transduce.search.beam.Grammar`."""

    symbols: Symbols
    length: int  # symbols so far, the same for all
    words: Int[Tensor, " rows"]  # of the sentence
    limits: Int[Tensor, " rows"]  # symbols, with EOS
    shifted: Int[Tensor, " rows"]  # words so far
    opens: Int[Tensor, " rows"]  # since the last word
    last: Int[Tensor, " rows"]
    depth: Int[Tensor, " rows"]
    stack: Int[Tensor, "rows deepest"]  # labels of open constituents

    @classmethod
    def start(
        cls, symbols: Symbols, words: Sequence[int], limits: Sequence[int], device: torch.device
    ) -> "TreeGrammar":
        """The state before the first symbol; every sentence has at least one word."""
        zeros = torch.zeros(len(words), dtype=torch.long, device=device)
        on_device = replace(
            symbols, kinds=symbols.kinds.to(device), labels=symbols.labels.to(device)
        )
        count, limit = (torch.tensor(list(values), device=device) for values in (words, limits))
        stack = zeros.new_zeros(len(words), DEEPEST)
        return cls(on_device, 0, count, limit, zeros, zeros, zeros + NOTHING, zeros, stack)

    def allowed(self) -> Bool[Tensor, "rows vocabulary"]:
        kinds, labels = self.symbols.kinds, self.symbols.labels
        more = self.shifted < self.words
        after_open = self.length + 1 + (self.words - self.shifted) + self.depth + 1 + 1
        room = (self.opens < MOST_OPENS) & (self.depth < DEEPEST) & (after_open <= self.limits)
        inside = self.depth > 0
        shifting = more & inside
        closing = inside & ((self.depth > 1) | ~more)
        if self.symbols.order == "top-down":
            opening = room & more
            closing &= self.last != OPENED
        else:
            opening = room & ((self.last == SHIFTED) | (self.last == CLOSED))
            shifting |= self.last == NOTHING
            # all so far becomes the first child of a new constituent
            closing |= (self.depth == 1) & room
        ending = ~more & ~inside & (self.last == CLOSED)
        top = self.stack.gather(1, (self.depth - 1).clamp(min=0)[:, None])
        allowed = opening[:, None] & (kinds == OPENED)
        allowed |= shifting[:, None] & (kinds == SHIFTED)
        allowed |= closing[:, None] & (kinds == CLOSED) & (labels == top)
        allowed[:, self.symbols.eos_id] = ending
        return allowed

    def after(self, rows: Int[Tensor, " kept"], newest: Int[Tensor, " kept"]) -> "TreeGrammar":
        kind, label = self.symbols.kinds[newest], self.symbols.labels[newest]
        opened, shifted, closed = kind == OPENED, kind == SHIFTED, kind == CLOSED
        depth, stack = self.depth[rows], self.stack[rows]
        place = depth.clamp(max=DEEPEST - 1)[:, None]
        top = torch.where(opened[:, None], label[:, None], stack.gather(1, place))
        return replace(
            self,
            length=self.length + 1,
            words=self.words[rows],
            limits=self.limits[rows],
            shifted=self.shifted[rows] + shifted,
            opens=torch.where(shifted, 0, self.opens[rows] + opened),
            last=kind,
            depth=(depth + opened.long() - closed.long()).clamp(min=0),
            stack=stack.scatter(1, place, top),
        )
