"""A store of one text as a stream of tokens, cut into blocks of equal length."""

import numpy as np

from transduce.errors import InputError
from transduce.store import Store


class Blocks(Store):
    """Example i is the block of `length` tokens that follow token i of the stream.

    An epoch takes every length-th of them, from an offset of its own: together they are the text.
    """

    def __init__(self, store: Store, length: int) -> None:
        super().__init__(store.meta, store.sides)
        (side,) = store.sides.values()
        self.ids, self.length = side.ids, length
        count = len(self.ids) - length
        if count < 1:
            raise InputError(
                f"the text has {len(self.ids):,} tokens, too few for blocks of "
                f"model.max_positions = {length:,} tokens: give more text or make it smaller"
            )
        self.lengths = (np.broadcast_to(np.int32(length), (count,)),)

    @property
    def noun(self) -> str:
        return "block"

    def __len__(self) -> int:
        """The number of blocks that do not overlap."""
        return -(-len(self.lengths[0]) // self.length)

    def starts(self, offset: int = 0) -> np.ndarray:
        """Blocks that do not overlap."""
        return np.arange(offset % self.length, len(self.lengths[0]), self.length)

    def rows(self, starts: np.ndarray) -> np.ndarray:
        """The token before each block and the tokens of the block."""
        return self.ids[starts[:, None] + np.arange(self.length + 1)].astype(np.int64)
