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
from transduce.parsing.linear import CLOSE, OPEN, POSITION, POSITIONS, TAG, is_punctuation

MOST_OPENS = 16  # between two words
DEEPEST = 100  # open constituents

NOTHING, OPENED, TAGGED, SHIFTED, CLOSED = range(5)  # what a symbol does
ROLES = {OPEN: OPENED, TAG: TAGGED, POSITION: SHIFTED, CLOSE: CLOSED}


@dataclass(frozen=True)
class Symbols:
    """The target vocabulary by the role of each symbol."""

    kinds: Int[Tensor, " vocabulary"]  # NOTHING for specials and unknown labels
    labels: Int[Tensor, " vocabulary"]  # numbers of labels and positions; -1 for others
    eos_id: int
    order: Linearisation
    tags: bool  # every word has a tag; otherwise it may have one

    @classmethod
    def of(cls, vocabulary: Sequence[str], eos_id: int, order: Linearisation) -> "Symbols":
        kinds = [ROLES.get(s[0], NOTHING) if len(s) > 1 else NOTHING for s in vocabulary]
        roles = list(zip(kinds, [symbol[1:] for symbol in vocabulary], strict=True))
        opens = [label for kind, label in roles if kind == OPENED]
        labels = [
            int(label)
            if kind == SHIFTED
            else (opens.index(label) if kind in (OPENED, CLOSED) else -1)
            for kind, label in roles
        ]
        tags = any(kind == TAGGED and not is_punctuation(tag) for kind, tag in roles)
        return cls(torch.tensor(kinds), torch.tensor(labels), eos_id, order, tags)


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
        """Which symbols may follow: those that leave room to complete the tree."""
        kinds, labels, last = self.symbols.kinds, self.symbols.labels, self.last
        left = self.words - self.shifted
        more, inside, tagged = left > 0, self.depth > 0, last == TAGGED
        root = ~inside & (more | (last == SHIFTED))  # its brackets are still to come
        # the length of the shortest way to complete the tree: its words, closing brackets and EOS
        needed = self.length + left * (1 + self.symbols.tags) + self.depth + 2 * root + 1
        few = (self.opens < MOST_OPENS) & (self.depth < DEEPEST)
        opening = few & (needed + 2 * ~root <= self.limits)
        closing = inside & ((self.depth > 1) | ~more)
        word = more & inside
        if self.symbols.order == "top-down":
            opening &= more
            closing &= last != OPENED
        else:
            # a root that closes early becomes the first child of another
            closing |= (self.depth == 1) & few & (needed + 2 <= self.limits)
            opening &= (last == SHIFTED) | (last == CLOSED)
            word |= last == NOTHING
        tagging = word if self.symbols.tags else word & (needed + 1 <= self.limits)
        shifting = tagged if self.symbols.tags else word
        top = self.stack.gather(1, (self.depth - 1).clamp(min=0)[:, None])
        here = (self.shifted % POSITIONS)[:, None]
        allowed = (opening & ~tagged)[:, None] & (kinds == OPENED)
        allowed |= (tagging & ~tagged)[:, None] & (kinds == TAGGED)
        allowed |= (shifting | tagged)[:, None] & (kinds == SHIFTED) & (labels == here)
        allowed |= (closing & ~tagged)[:, None] & (kinds == CLOSED) & (labels == top)
        allowed[:, self.symbols.eos_id] = ~more & ~inside & (last == CLOSED)
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
