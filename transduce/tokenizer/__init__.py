"""Tokenizers: our own lossless BPE, or that of an OPUS-MT model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from transduce.errors import ModelError
from transduce.tokenizer.bpe import BOS, EOS, PAD, SMALLEST, SPECIALS, UNK, Tokenizer, check_symbols
from transduce.tokenizer.marian import FILES, TARGET_VOCABULARY, MarianTokenizer
from transduce.tokenizer.symbols import SymbolTokenizer

__all__ = [
    "BOS",
    "EOS",
    "OURS",
    "PAD",
    "SMALLEST",
    "SPECIALS",
    "TOKENIZER_FILES",
    "UNK",
    "AnyTokenizer",
    "MarianTokenizer",
    "SymbolTokenizer",
    "Tokenizer",
    "TokenizerLike",
    "check_symbols",
    "has_tokenizer",
    "load_tokenizer",
]

AnyTokenizer = Tokenizer | MarianTokenizer

OURS = "tokens.model"
TOKENIZER_FILES = (OURS, *FILES, TARGET_VOCABULARY)  # of either kind


@runtime_checkable
class TokenizerLike(Protocol):
    """The interface of a tokenizer. Ids have no special symbols.

    `encode`, `encode_batch` and `pieces` take sources; `encode_targets` and `decode` are for
    targets.
    """

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The source tokens, indexed by id."""
        ...

    @property
    def target_vocabulary(self) -> tuple[str, ...]: ...

    @property
    def vocab_size(self) -> int: ...

    @property
    def target_vocab_size(self) -> int: ...

    def encode(self, text: str) -> list[int]:
        """The ids of a text. Nothing is added to them, neither BOS nor EOS."""
        ...

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]: ...

    def encode_targets(self, texts: Sequence[str]) -> list[list[int]]: ...

    def pieces(self, text: str) -> list[str]: ...

    def decode(self, ids: Sequence[int] | np.ndarray) -> str: ...


def load_tokenizer(directory: Path, symbols: bool = False) -> AnyTokenizer:
    """The tokenizer of a directory, of either kind; raises ModelError if it has none.

    `symbols`: its targets are sequences of symbols.
    """
    if not has_tokenizer(directory):
        raise ModelError(
            f"{directory} has no vocabulary: neither {OURS} nor {', '.join(FILES[:-1])} and "
            f"{FILES[-1]}"
        )
    ours = directory / OURS
    kind = SymbolTokenizer if symbols else Tokenizer
    return kind.load(ours) if ours.is_file() else MarianTokenizer.load(directory)


def has_tokenizer(directory: Path) -> bool:
    """Whether a directory has any file of a tokenizer."""
    return any((directory / name).is_file() for name in TOKENIZER_FILES)
