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
from transduce.parsing.linear import CLOSE, NEXT, OPEN, TAG, is_punctuation

MOST_OPENS = 16  # between two words
DEEPEST = 100  # open constituents

NOTHING, OPENED, TAGGED, SHIFTED, CLOSED = range(5)  # what a symbol does
ROLES = {OPEN: OPENED, TAG: TAGGED, CLOSE: CLOSED}


@dataclass(frozen=True)
class Symbols:
    """The target vocabulary by the role of each symbol."""

    kinds: Int[Tensor, " vocabulary"]  # NOTHING for specials and unknown labels
    labels: Int[Tensor, " vocabulary"]  # numbers of the labels; -1 for other symbols
    eos_id: int
    order: Linearisation
    tags: bool  # every word has a tag; otherwise it may have one

    @classmethod
    def of(cls, vocabulary: Sequence[str], eos_id: int, order: Linearisation) -> "Symbols":
        kinds = [
            SHIFTED if s[0] == NEXT else ROLES.get(s[0], NOTHING) if len(s) > 1 else NOTHING
            for s in vocabulary
        ]
        roles = list(zip(kinds, [symbol[1:] for symbol in vocabulary], strict=True))
        opens = [label for kind, label in roles if kind == OPENED]
        labels = [opens.index(label) if kind in (OPENED, CLOSED) else -1 for kind, label in roles]
        tags = any(kind == TAGGED and not is_punctuation(tag) for kind, tag in roles)
        return cls(torch.tensor(kinds), torch.tensor(labels), eos_id, order, tags)


@dataclass(frozen=True)
class TreeGrammar:
    """The state of each hypothesis of a batch: a `transduce.search.beam.Grammar`."""

    symbols: Symbols
    names: Int[Tensor, "sentences longest"]  # the ids that name the words, and the end
    words: Int[Tensor, " sentences"]
    limits: Int[Tensor, " sentences"]  # symbols, with EOS
    length: int  # symbols so far, the same for all
    sentence: Int[Tensor, " rows"]
    shifted: Int[Tensor, " rows"]  # words so far; -1 before the first word is named
    opens: Int[Tensor, " rows"]  # since the last word
    last: Int[Tensor, " rows"]
    depth: Int[Tensor, " rows"]
    stack: Int[Tensor, "rows deepest"]  # labels of open constituents

    @classmethod
    def start(
        cls,
        symbols: Symbols,
        names: Sequence[Sequence[int]],
        limits: Sequence[int],
        device: torch.device,
    ) -> "TreeGrammar":
        """The state before the first symbol; every sentence has at least one word."""
        zeros = torch.zeros(len(names), dtype=torch.long, device=device)
        longest = max(map(len, names))
        padded = [[*ids, *[0] * (longest - len(ids))] for ids in names]
        moved = replace(symbols, kinds=symbols.kinds.to(device), labels=symbols.labels.to(device))
        return cls(
            symbols=moved,
            names=torch.tensor(padded, device=device),
            words=torch.tensor([len(ids) - 1 for ids in names], device=device),
            limits=torch.tensor(list(limits), device=device),
            length=0,
            sentence=torch.arange(len(names), device=device),
            shifted=zeros - 1,
            opens=zeros,
            last=zeros + NOTHING,
            depth=zeros,
            stack=zeros.new_zeros(len(names), DEEPEST),
        )

    def allowed(self) -> Bool[Tensor, "rows vocabulary"]:
        """Which symbols may follow: those that leave room to complete the tree."""
        kinds, labels, last = self.symbols.kinds, self.symbols.labels, self.last
        limits = self.limits[self.sentence]
        left = self.words[self.sentence] - self.shifted
        more, inside = left > 0, self.depth > 0
        named = (last != NOTHING) & (last != TAGGED)  # otherwise a name must follow
        first = self.length == 1  # nothing but the first word's name
        root = ~inside & (more | ((last == SHIFTED) & (not first)))  # brackets still to come
        # the length of the shortest way to complete the tree: its words, closing brackets and EOS
        needed = self.length + left * (1 + self.symbols.tags) + self.depth + 2 * root + 1
        few = (self.opens < MOST_OPENS) & (self.depth < DEEPEST)
        opening = few & (needed + 2 * ~root <= limits)
        closing = inside & ((self.depth > 1) | ~more)
        word = more & inside
        if self.symbols.order == "top-down":
            opening &= more
            closing &= last != OPENED
        else:
            # a root that closes early becomes the first child of another
            closing |= (self.depth == 1) & few & (needed + 2 <= limits)
            opening &= (last == CLOSED) | ((last == SHIFTED) & (not first))
            word = word | (more & first)
        tagging = word if self.symbols.tags else word & (needed + 1 <= limits)
        naming = ~named | (word & (not self.symbols.tags))
        top = self.stack.gather(1, (self.depth - 1).clamp(min=0)[:, None])
        place = (self.shifted + 1).clamp(max=self.names.shape[1] - 1)
        allowed = (opening & named)[:, None] & (kinds == OPENED)
        allowed |= (tagging & named)[:, None] & (kinds == TAGGED)
        allowed |= (closing & named)[:, None] & (kinds == CLOSED) & (labels == top)
        allowed.scatter_(1, self.names[self.sentence, place][:, None], naming[:, None])
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
            sentence=self.sentence[rows],
            shifted=self.shifted[rows] + shifted,
            opens=torch.where(shifted, 0, self.opens[rows] + opened),
            last=kind,
            depth=(depth + opened.long() - closed.long()).clamp(min=0),
            stack=stack.scatter(1, place, top),
        )
