"""§5.1: BPE with one vocabulary for both languages; encoding is lossless.

SentencePiece writes a space as "▁" (U+2581). A "▁" in the text is therefore escaped with U+0010
before encoding and restored after decoding. Everything else is kept: normalisation is off, and
characters outside the vocabulary are encoded as bytes.
"""

import hashlib
import io
import random
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from functools import cached_property
from pathlib import Path

import numpy as np
import sentencepiece

from transduce import atomic
from transduce.errors import ConfigError, InputError, ModelError
from transduce.tokenizer.processor import SPACE, processor_of, readable, split

PAD, BOS, EOS, UNK = range(4)
SPECIALS = ("<pad>", "<s>", "</s>", "<unk>")
SMALLEST = len(SPECIALS) + 256  # special symbols and bytes

SAMPLE = 400_000  # lines; more would need memory and hardly change the merges
LONGEST_LINE = 1000  # characters; SentencePiece skips lines of more than 4192 bytes
LEARNING = "learning-vocabulary"  # name of the thread

ESCAPE = "\x10"
_ESCAPED = re.compile(f"{ESCAPE}([{ESCAPE}_])")


class Tokenizer:
    """A tokenizer with a learned BPE vocabulary."""

    def __init__(self, model: bytes) -> None:
        """`model` is a serialised SentencePiece model; raises RuntimeError if it is not."""
        self.model = model
        self._processor = processor_of(model)

    @classmethod
    def learn(
        cls,
        lines: Iterable[str],
        vocab_size: int,
        file: Path,
        *,
        symbols: Sequence[str] = (),
        tags: Sequence[str] = (),
        characters: bool = False,
        leading_space: bool = True,
        sample: int = SAMPLE,
        seed: int = 0,
        log: Callable[[str], None] = lambda _: None,
    ) -> "Tokenizer":
        """Learns a BPE vocabulary from lines of both languages and writes it to a file.

        It is deterministic. `symbols` are never split. `tags` are tokens that no text is encoded
        as: a trainer puts their ids before a source. `characters`: every token is a single one.
        `leading_space`: the first word of a text is encoded as after a space. If there are more
        than `sample` lines, a random sample is used; that, and a vocabulary smaller than
        `vocab_size`, is logged.
        """
        check_symbols([*symbols, *tags])
        drawn, total = _draw(lines, sample, random.Random(seed))
        if not drawn:
            raise InputError("there is no text to learn a vocabulary from")
        if total > sample:
            log(
                f"the vocabulary is learned from {sample:,} of {total:,} lines, "
                f"drawn with seed {seed}"
            )
        model_type = "char" if characters else "bpe"
        tokenizer = cls(_train(drawn, vocab_size, symbols, tags, model_type, leading_space))
        if tokenizer.vocab_size < vocab_size and not characters:
            log(f"the corpus supports a vocabulary of {tokenizer.vocab_size:,}, not {vocab_size:,}")
        tokenizer.save(file)
        return tokenizer

    @classmethod
    def load(cls, file: Path) -> "Tokenizer":
        with readable(file):
            tokenizer = cls(file.read_bytes())
        processor = tokenizer._processor
        ids = processor.pad_id(), processor.bos_id(), processor.eos_id(), processor.unk_id()
        if ids != (PAD, BOS, EOS, UNK):
            raise ModelError(
                f"{file} numbers pad, bos, eos and unk {ids}, not {(PAD, BOS, EOS, UNK)}: "
                "it is not a vocabulary of transduce"
            )
        return tokenizer

    def __repr__(self) -> str:
        return f"Tokenizer({self.vocab_size:,} tokens)"

    def save(self, file: Path) -> None:
        """Writes the SentencePiece model."""
        with atomic.file(file) as aside:
            aside.write_bytes(self.model)

    @cached_property
    def vocab_size(self) -> int:
        return int(self._processor.GetPieceSize())

    @property
    def target_vocab_size(self) -> int:
        return self.vocab_size

    @cached_property
    def vocabulary(self) -> tuple[str, ...]:
        """The tokens, indexed by id."""
        return tuple(self._processor.IdToPiece(i) for i in range(self.vocab_size))

    @property
    def target_vocabulary(self) -> tuple[str, ...]:
        return self.vocabulary

    @cached_property
    def checksum(self) -> str:
        return hashlib.sha256(self.model).hexdigest()

    @cached_property
    def byte_ids(self) -> range:
        """The ids of the 256 single bytes."""
        first = self._processor.PieceToId("<0x00>")
        return range(first, first + 256)

    def symbol_id(self, symbol: str) -> int:
        """The id of a tag; raises InputError if the vocabulary does not have it."""
        found = int(self._processor.PieceToId(symbol))
        if not self._processor.IsControl(found):
            raise InputError(f"the vocabulary has no tag {symbol}: leave out the tag")
        return found

    @cached_property
    def longest_piece(self) -> int:
        """The length of the longest token, in characters."""
        return max(map(len, self.vocabulary))

    def encode(self, text: str) -> list[int]:
        """The ids of a text. Nothing is added to them, neither BOS nor EOS.

        A network reads a source followed by EOS (`config.eos_id`), and a target preceded by BOS.
        """
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        ids: list[list[int]] = self._encode(texts, int)
        return ids

    def encode_targets(self, texts: Sequence[str]) -> list[list[int]]:
        """Same as `encode_batch`: both languages share a vocabulary."""
        return self.encode_batch(texts)

    def encode_arrays(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Like `encode_batch`, as arrays; releases the GIL, so that threads run in parallel."""
        ids: list[np.ndarray] = self._encode(texts, "numpy")
        return ids

    def encode_target_arrays(self, texts: Sequence[str]) -> list[np.ndarray]:
        """Same as `encode_arrays`."""
        return self.encode_arrays(texts)

    def decode_source(self, ids: Sequence[int] | np.ndarray) -> str:
        """Same as `decode`."""
        return self.decode(ids)

    def pieces(self, text: str) -> list[str]:
        """The tokens of a text as strings, with "▁" for a space."""
        pieces: list[list[str]] = self._encode([text], str)
        return pieces[0]

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        """The text of ids, without special symbols; invalid UTF-8 bytes become "�"."""
        if not len(ids):
            return ""
        try:
            text: str = self._processor.Decode([int(i) for i in ids])
        except (IndexError, TypeError):
            wrong = next(i for i in ids if not 0 <= i < self.vocab_size)
            raise InputError(
                f"token id {wrong} is outside the vocabulary of {self.vocab_size:,}"
            ) from None
        return _unescape(text)

    def _encode(self, texts: Sequence[str], kind: type | str) -> list:  # type: ignore[type-arg]
        return split(self._processor, [escape(text) for text in texts], kind)


def escape(text: str) -> str:
    """Escapes "▁", which SentencePiece uses for a space.

    >>> escape("a▁b c")
    'a\\x10_b c'
    """
    if SPACE not in text and ESCAPE not in text:
        return text
    return text.replace(ESCAPE, ESCAPE + ESCAPE).replace(SPACE, ESCAPE + "_")


def _unescape(text: str) -> str:
    if ESCAPE not in text:
        return text
    return _ESCAPED.sub(lambda match: SPACE if match[1] == "_" else ESCAPE, text)


def _draw(lines: Iterable[str], sample: int, rng: random.Random) -> tuple[list[str], int]:
    """A uniform random sample of lines (reservoir sampling), and the total number."""
    drawn: list[str] = []
    total = 0
    for line in lines:
        for start in range(0, len(line), LONGEST_LINE):
            total += 1
            # SentencePiece skips lines with the character that it reserves for unknown tokens
            part = escape(line[start : start + LONGEST_LINE].replace("▅", " "))
            if len(drawn) < sample:
                drawn.append(part)
            elif (i := rng.randrange(total)) < sample:
                drawn[i] = part
    return drawn, total


def _emptied(lines: list[str]) -> Iterator[str]:
    while lines:
        yield lines.pop()


def _train(
    lines: list[str],
    vocab_size: int,
    symbols: Sequence[str],
    tags: Sequence[str],
    model_type: str,
    leading_space: bool,
) -> bytes:
    """Trains a SentencePiece model; empties the list of lines to save memory."""
    model = io.BytesIO()
    try:
        _in_thread(
            sentencepiece.SentencePieceTrainer.Train,
            sentence_iterator=_emptied(lines),
            model_writer=model,
            model_type=model_type,
            vocab_size=max(vocab_size, SMALLEST),  # a smaller size is reported below
            hard_vocab_limit=False,
            byte_fallback=True,
            character_coverage=0.9999,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            add_dummy_prefix=leading_space,  # a word has the same token at the start of a line
            user_defined_symbols=list(symbols),
            control_symbols=list(tags),
            pad_id=PAD,
            bos_id=BOS,
            eos_id=EOS,
            unk_id=UNK,
            shuffle_input_sentence=False,
            num_threads=1,  # BPE uses one thread anyway, and the number is in the file
            minloglevel=2,
        )
    except RuntimeError as error:
        needed = re.search(r"smaller than required_chars\. \d+ vs (\d+)", str(error))
        if needed is None:
            raise
        smallest = int(needed[1])
    else:
        smallest = SMALLEST
    extra = len(symbols) + len(tags)
    if vocab_size < smallest:
        raise ConfigError(
            f"data.vocab_size = {vocab_size:,} is too small for this corpus: the smallest that "
            f"works is {smallest:,} (256 bytes, {len(SPECIALS) + extra:,} special symbols "
            f"and {smallest - SMALLEST - extra:,} characters)"
        )
    return model.getvalue()


def _in_thread(call: Callable[..., object], **arguments: object) -> None:
    """Runs a C++ function in a thread, so that a signal can interrupt waiting for it."""
    outcome: Future[object] = Future()

    def run() -> None:
        try:
            outcome.set_result(call(**arguments))
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, name=LEARNING, daemon=True).start()
    outcome.result()


def is_learning() -> bool:
    """Whether a vocabulary is being learned, or is still after an interruption."""
    return any(thread.name == LEARNING for thread in threading.enumerate())


def check_symbols(symbols: Sequence[str]) -> None:
    """Raises ConfigError if they cannot be symbols of a vocabulary."""
    for i, symbol in enumerate(symbols):
        if not symbol or any(character.isspace() for character in symbol):
            why = "it is empty or has a space"
        elif SPACE in symbol or ESCAPE in symbol:
            why = "it has a character that encodes a space"
        elif symbol in SPECIALS or re.fullmatch("<0x[0-9A-F]{2}>", symbol):
            why = "every vocabulary has it already"
        elif symbol in symbols[:i]:
            why = "it is given twice"
        else:
            continue
        raise ConfigError(f"{symbol!r} cannot be a symbol of the vocabulary: {why}")
