"""A tokenizer for targets that are sequences of symbols, not text."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from transduce.tokenizer.bpe import UNK, Tokenizer


class SymbolTokenizer(Tokenizer):
    """BPE for sources; a target is symbols separated by spaces.

    One SentencePiece model has both. The target vocabulary is its beginning: the special symbols
    and the symbols of targets, which come before the bytes and the pieces of text.
    """

    @classmethod
    def learn_pairs(
        cls,
        pairs: Iterable[tuple[str, ...]],
        vocab_size: int,
        file: Path,
        *,
        symbols: Iterable[str] = (),
        log: Callable[[str], None] = lambda _: None,
    ) -> "SymbolTokenizer":
        """Learns pieces of text from the sources; its symbols are those of the targets and more."""
        sources, known = [], set(symbols)
        for source, target in pairs:
            sources.append(source)
            known.update(target.split())
        known.update([symbol[0] for symbol in known])
        cls.learn(sources, vocab_size, file, symbols=sorted(known), log=log)
        return cls(file.read_bytes())

    @cached_property
    def target_vocab_size(self) -> int:
        return int(self._processor.PieceToId("<0x00>"))

    @property
    def target_vocabulary(self) -> tuple[str, ...]:
        return self.vocabulary[: self.target_vocab_size]

    def encode_targets(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of symbols; that of its first character for an unknown one."""
        ids = self._ids
        return [
            [ids.get(symbol, ids.get(symbol[0], UNK)) for symbol in text.split()] for text in texts
        ]

    def encode_target_arrays(self, texts: Sequence[str]) -> list[np.ndarray]:
        return [np.array(ids, np.int32) for ids in self.encode_targets(texts)]

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {symbol: i for i, symbol in enumerate(self.target_vocabulary)}
