"""Text ↔ ids: our own lossless byte pairs, or the vocabularies that an OPUS-MT model brings."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from transduce.errors import ModelError
from transduce.tokenizer.bpe import BOS, EOS, PAD, SMALLEST, SPECIALS, UNK, Tokenizer
from transduce.tokenizer.marian import FILES, MarianTokenizer

__all__ = [
    "BOS",
    "EOS",
    "PAD",
    "SMALLEST",
    "SPECIALS",
    "UNK",
    "MarianTokenizer",
    "Tokenizer",
    "TokenizerLike",
    "has_tokens",
    "load_tokenizer",
]

OURS = "tokens.model"


@runtime_checkable
class TokenizerLike(Protocol):
    """What a model reads and writes text with. Ids are without special symbols.

    `encode`, `encode_batch` and `pieces` are of sources, `decode` and `encode_targets` of targets.
    """

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """Every token that a source can have, by its id."""
        ...

    @property
    def target_vocabulary(self) -> tuple[str, ...]: ...

    @property
    def vocab_size(self) -> int: ...

    @property
    def target_vocab_size(self) -> int: ...

    def encode(self, text: str) -> list[int]: ...

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]: ...

    def encode_targets(self, texts: Sequence[str]) -> list[list[int]]: ...

    def pieces(self, text: str) -> list[str]: ...

    def decode(self, ids: Sequence[int] | np.ndarray) -> str: ...


def load_tokenizer(directory: Path) -> TokenizerLike:
    """The vocabulary of a model directory, whichever kind it has."""
    if not has_tokens(directory):
        raise ModelError(
            f"{directory} has no vocabulary: neither {OURS} nor {', '.join(FILES[:-1])} and "
            f"{FILES[-1]}"
        )
    ours = directory / OURS
    return Tokenizer.load(ours) if ours.is_file() else MarianTokenizer.load(directory)


def has_tokens(directory: Path) -> bool:
    """Whether a directory has files of a vocabulary, be they whole or not."""
    return any((directory / name).is_file() for name in (OURS, *FILES))
