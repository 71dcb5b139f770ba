"""A tokenizer for targets that are sequences of symbols, not text."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from transduce.tokenizer.bpe import ESCAPE, UNK, Tokenizer
from transduce.tokenizer.processor import SPACE

LONGEST_SUFFIX = 3  # characters

_DIGIT = re.compile(r"\d")


class SymbolTokenizer(Tokenizer):
    """BPE for sources; a target is symbols separated by spaces.

    The first character of a symbol says what kind it is of. A symbol that is not in the vocabulary
    is encoded as its longest known suffix or, if there is none, as its kind. One SentencePiece
    model has all: the target vocabulary is its beginning, before the bytes and pieces of text.
    """

    @classmethod
    def learn_pairs(
        cls,
        pairs: Iterable[tuple[str, ...]],
        vocab_size: int,
        file: Path,
        *,
        open_kind: str = "",
        most: int = 1000,
        tags: Sequence[str] = (),
        log: Callable[[str], None] = lambda _: None,
    ) -> "SymbolTokenizer":
        """Learns pieces of text from the sources, and the symbols of the targets.

        Of the kind `open_kind` only the most frequent symbols are kept, and as many suffixes.
        """
        sources, counts = [], Counter[str]()
        for source, target in pairs:
            sources.append(source)
            counts.update(target.split())
        names = Counter({s: n for s, n in counts.items() if s[0] == open_kind and _usable(s)})
        frequent = [symbol for symbol, _ in names.most_common(most)]
        suffixes = Counter[str]()
        for symbol in sorted(names.keys() - set(frequent)):
            suffixes.update(dict.fromkeys(_suffixes(symbol), names[symbol]))
        symbols = {symbol for symbol in counts if symbol[0] != open_kind}
        symbols.update(frequent, [suffix for suffix, _ in suffixes.most_common(most)])
        symbols.update([symbol[0] for symbol in counts])
        cls.learn(sources, vocab_size, file, symbols=sorted(symbols), tags=tags, log=log)
        return cls(file.read_bytes())

    @cached_property
    def target_vocab_size(self) -> int:
        return int(self._processor.PieceToId("<0x00>"))

    @property
    def target_vocabulary(self) -> tuple[str, ...]:
        return self.vocabulary[: self.target_vocab_size]

    def encode_targets(self, texts: Sequence[str]) -> list[list[int]]:
        return [[self.target_id(symbol) for symbol in text.split()] for text in texts]

    def encode_target_arrays(self, texts: Sequence[str]) -> list[np.ndarray]:
        return [np.array(ids, np.int32) for ids in self.encode_targets(texts)]

    def target_id(self, symbol: str) -> int:
        """The id of a symbol, of its longest known suffix, or of its kind."""
        found = self._ids.get(symbol)
        if found is None:
            known = (self._ids[s] for s in (*_suffixes(symbol), symbol[0]) if s in self._ids)
            found = next(known, UNK)
        return found

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {symbol: i for i, symbol in enumerate(self.target_vocabulary)}


def _suffixes(symbol: str) -> Iterator[str]:
    """The suffixes of a symbol, longest first, with a star and all digits as 0.

    >>> list(_suffixes("→protein27"))
    ['→*n00', '→*00', '→*0']
    """
    word = _DIGIT.sub("0", symbol[1:])
    for length in range(min(LONGEST_SUFFIX, len(word)), 0, -1):
        yield f"{symbol[0]}*{word[-length:]}"


def _usable(symbol: str) -> bool:
    return len(symbol) > 1 and SPACE not in symbol and ESCAPE not in symbol
