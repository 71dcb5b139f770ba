"""The tokenizer of Marian and OPUS-MT models, from the files of a Hugging Face checkpoint.

Each language has a SentencePiece model; `vocab.json` has the ids of the pieces for both languages,
unless `target_vocab.json` has those of the target. In multilingual models a code such as `>>fra<<`
before the source selects the target language. Unlike our own, this tokenizer normalises, and
characters outside its vocabulary become the unknown token.
"""

import difflib
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from pydantic import NonNegativeInt, TypeAdapter
from sentencepiece import SentencePieceProcessor

from transduce.errors import InputError, ModelError
from transduce.tokenizer.processor import SPACE, processor_of, readable, split

SOURCE, TARGET = "source.spm", "target.spm"
VOCABULARY, TARGET_VOCABULARY = "vocab.json", "target_vocab.json"
FILES = (SOURCE, TARGET, VOCABULARY)  # some models also have TARGET_VOCABULARY

PADDING, END, UNKNOWN = "<pad>", "</s>", "<unk>"
REMOVED = (PADDING, "<s>", END, UNKNOWN)

MOST_GAPS = 1000  # ids without a token

_CODE = re.compile(r">>[^<>\s]+<<")
_IDS = TypeAdapter(dict[str, NonNegativeInt])


@dataclass(frozen=True)
class _Side:
    """One language: its SentencePiece model, and the ids of the pieces."""

    processor: SentencePieceProcessor
    ids: Mapping[str, int]

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The tokens by id; an id that has none, as in some of OPUS-MT's files, has a name."""
        names = {number: token for token, number in self.ids.items()}
        return tuple(names.get(i, f"<no token {i}>") for i in range(max(names) + 1))

    def encode(self, pieces: Sequence[str]) -> list[int]:
        return [self.ids.get(piece, self.ids[UNKNOWN]) for piece in pieces]


class MarianTokenizer:
    """A tokenizer with a source and a target vocabulary, which are often the same."""

    def __init__(self, files: Mapping[str, bytes], where: Path = Path()) -> None:
        """`files` maps names to contents; `where` is their directory, for error messages."""
        self.files = dict(files)
        for name in FILES:
            if name not in files:
                raise ModelError(f"{where} has no {name}: its vocabulary is incomplete")
        ids = _ids(files[VOCABULARY], where / VOCABULARY)
        target_ids = ids
        if TARGET_VOCABULARY in files:
            target_ids = _ids(files[TARGET_VOCABULARY], where / TARGET_VOCABULARY)
        self._source = _Side(_processor(files[SOURCE], where / SOURCE), ids)
        self._target = _Side(_processor(files[TARGET], where / TARGET), target_ids)
        self._removed = {target_ids[name] for name in REMOVED if name in target_ids}
        self._removed |= set(range(len(self.target_vocabulary))) - set(target_ids.values())

    @classmethod
    def load(cls, directory: Path) -> "MarianTokenizer":
        files = {}
        for file in map(directory.joinpath, (*FILES, TARGET_VOCABULARY)):
            if file.is_file():
                with readable(file):
                    files[file.name] = file.read_bytes()
        return cls(files, directory)

    def __repr__(self) -> str:
        languages = f", {len(self.languages)} target languages" if self.languages else ""
        sizes = f"{self.vocab_size:,} source and {self.target_vocab_size:,} target tokens"
        return f"MarianTokenizer({sizes}{languages})"

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The source tokens, indexed by id."""
        return self._source.vocabulary

    @property
    def target_vocabulary(self) -> tuple[str, ...]:
        return self._target.vocabulary

    @property
    def vocab_size(self) -> int:
        return len(self.vocabulary)

    @property
    def target_vocab_size(self) -> int:
        return len(self.target_vocabulary)

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The codes of the target languages; empty if there is only one."""
        return tuple(sorted(filter(_CODE.fullmatch, self._source.ids)))

    @cached_property
    def checksum(self) -> str:
        total = hashlib.sha256()
        for name, content in sorted(self.files.items()):
            total.update(name.encode() + hashlib.sha256(content).digest())
        return total.hexdigest()

    @property
    def longest_piece(self) -> int:
        """A number that no text reaches: normalisation may shorten it to nothing."""
        return 2**40

    @property
    def byte_ids(self) -> range:
        """None: unknown characters are not encoded as bytes."""
        return range(0)

    def symbol_id(self, symbol: str) -> int:
        """The id of a tag; raises InputError if the vocabulary does not have it."""
        if symbol not in self._source.ids:
            raise InputError(f"the vocabulary has no tag {symbol}: leave out the tag")
        return self._source.ids[symbol]

    def encode(self, text: str) -> list[int]:
        """The ids of a source. Nothing is added to them, neither BOS nor EOS.

        A network reads a source followed by EOS (`config.eos_id`), and a target preceded by BOS.
        """
        return self._source.encode(self.pieces(text))

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def encode_targets(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of targets."""
        pieces: list[list[str]] = split(self._target.processor, texts, str)
        return [self._target.encode(some) for some in pieces]

    def encode_arrays(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Like `encode_batch`, as arrays."""
        return [np.array(ids, np.int32) for ids in self.encode_batch(texts)]

    def encode_target_arrays(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Like `encode_targets`, as arrays."""
        return [np.array(ids, np.int32) for ids in self.encode_targets(texts)]

    def pieces(self, text: str) -> list[str]:
        """The tokens of a source as strings, also those outside the vocabulary."""
        code = _CODE.match(text) if self.languages else None
        if code is None:
            return self._split(text)
        if code[0] not in self.languages:
            near = difflib.get_close_matches(code[0], self.languages, n=1, cutoff=0)
            raise InputError(
                f"the model has no target language {code[0]}, but {len(self.languages):,} others; "
                f"did you mean {near[0]}?"
            )
        return [code[0], *self._split(text[code.end() :])]

    def decode_source(self, ids: Sequence[int] | np.ndarray) -> str:
        """The text of a source's ids; unknown tokens are left out."""
        names = self.vocabulary
        pieces = [names[i] for i in ids if names[i] not in REMOVED]
        text: str = self._source.processor.DecodePieces(pieces) if pieces else ""
        return text.replace(SPACE, " ").strip()

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        """The text of a target's ids; special symbols and unknown tokens are left out."""
        names = self.target_vocabulary
        for i in ids:
            if not 0 <= i < len(names):
                raise InputError(f"token id {i} is outside the vocabulary of {len(names):,}")
        pieces = [names[i] for i in ids if i not in self._removed]
        text: str = self._target.processor.DecodePieces(pieces) if pieces else ""
        # SentencePiece leaves pieces of the other language as they are
        return text.replace(SPACE, " ").strip()

    def _split(self, text: str) -> list[str]:
        pieces: list[list[str]] = split(self._source.processor, [text], str)
        return pieces[0]


def _processor(model: bytes, file: Path) -> SentencePieceProcessor:
    with readable(file):
        return processor_of(model)


def _ids(content: bytes, file: Path) -> dict[str, int]:
    try:
        ids = _IDS.validate_json(content)
    except ValueError:
        raise ModelError(
            f"{file} is damaged: it is not a JSON object of tokens and their ids"
        ) from None
    if max(ids.values(), default=0) >= len(ids) + MOST_GAPS:
        raise ModelError(f"{file} is damaged: its ids go far beyond the number of its tokens")
    for name in (PADDING, END, UNKNOWN):
        if name not in ids:
            raise ModelError(f"{file} is damaged: it has no {name}")
    return ids
