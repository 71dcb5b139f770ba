"""SentencePiece with errors of the UserError family."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sentencepiece import SentencePieceProcessor

from transduce.errors import InputError, ModelError

SPACE = "▁"  # U+2581, as SentencePiece writes a space
FEW = 64  # texts; for a list SentencePiece starts a thread, which takes 0.3 ms or more


def processor_of(model: bytes) -> SentencePieceProcessor:
    """The processor of a serialised SentencePiece model; raises RuntimeError if it is not one."""
    processor = SentencePieceProcessor()
    processor.LoadFromSerializedProto(model)
    return processor


@contextmanager
def readable(file: Path) -> Iterator[None]:
    """Raises ModelError, naming the file, if a SentencePiece model cannot be read from it."""
    try:
        yield
    except FileNotFoundError:
        raise ModelError(f"there is no vocabulary {file}") from None
    except OSError as error:
        raise ModelError(f"the vocabulary {file} cannot be read: {error.strerror}") from None
    except RuntimeError:
        raise ModelError(
            f"{file} is damaged, or not a SentencePiece model: restore the original"
        ) from None


def split(processor: SentencePieceProcessor, texts: Sequence[str], kind: type | str) -> list:  # type: ignore[type-arg]
    """The texts as lists of pieces (`str`), lists of ids (`int`) or arrays of ids ("numpy")."""
    try:
        if len(texts) <= FEW:
            return [processor.Encode(text, return_type=kind) for text in texts]  # type: ignore[arg-type]
        return processor.Encode(list(texts), return_type=kind, num_threads=1)  # type: ignore[arg-type]
    except (RuntimeError, TypeError):  # depends on its version
        raise InputError("the text has an unpaired surrogate, which is not a character") from None
