"""The vocabularies of Marian's own models, as the files of our `MarianTokenizer`.

A vocabulary is a .yml file with the ids of tokens, a text file with a token a line, or a
SentencePiece model. OPUS-MT has the first two, beside source.spm and target.spm.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from transduce.errors import ModelError
from transduce.tokenizer import MarianTokenizer
from transduce.tokenizer.marian import PADDING, SOURCE, TARGET, TARGET_VOCABULARY, VOCABULARY
from transduce.tokenizer.processor import processor_of, readable

# Pairs of patterns for the source and the target, if decoder.yml does not name the files.
PATTERNS = (
    ("*src.vocab.yml", "*trg.vocab.yml"),
    ("*vocab.yml", "*vocab.yml"),
    ("*src.vocab", "*trg.vocab"),
    ("*vocab.spm", "*vocab.spm"),
)
ESCAPES = {
    **{"0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"},
    **{"e": "\x1b", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029"},
}
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)")


def find_vocabularies(directory: Path, named: Sequence[str]) -> tuple[Path, Path]:
    """The files of the source and the target vocabulary, which may be the same."""
    found = [directory / Path(name).name for name in named]
    if found:
        return found[0], found[-1]
    for patterns in PATTERNS:
        source, target = (sorted(directory.glob(pattern)) for pattern in patterns)
        if len(source) == len(target) == 1:
            return source[0], target[0]
    raise ModelError(f"{directory} has no vocabulary: neither *.vocab.yml nor *.vocab nor *.spm")


def read_vocabularies(
    directory: Path, files: tuple[Path, Path], sizes: tuple[int, int], pad: int
) -> MarianTokenizer:
    """The tokenizer, with a padding symbol of this id; `sizes` are the numbers of embeddings."""
    pieces = {}
    for side, vocabulary in zip((SOURCE, TARGET), files, strict=True):
        file = vocabulary if vocabulary.suffix == ".spm" else directory / side
        bpe = directory / side.replace(".spm", ".bpe")
        if not file.is_file() and bpe.is_file():
            raise ModelError(
                f"{directory} splits words with {bpe.name} of subword-nmt, after Moses' tokenizer: "
                "only models with SentencePiece (source.spm, target.spm) can be imported"
            )
        with readable(file):
            pieces[side] = file.read_bytes()
    written = []
    for file, size in zip(files, sizes, strict=True):
        ids = _spm_ids(file) if file.suffix == ".spm" else _text_ids(file)
        if max(ids.values(), default=0) >= size:
            raise ModelError(
                f"{file} has ids up to {max(ids.values()):,}, but the model has {size:,} "
                "embeddings: they belong to different models"
            )
        written.append(json.dumps({**ids, PADDING: pad}, ensure_ascii=False).encode())
    tokenizer_files = {**pieces, VOCABULARY: written[0]}
    if written[0] != written[1]:
        tokenizer_files[TARGET_VOCABULARY] = written[1]
    return MarianTokenizer(tokenizer_files, directory)


def _spm_ids(file: Path) -> dict[str, int]:
    with readable(file):
        processor = processor_of(file.read_bytes())
    return {processor.IdToPiece(i): i for i in range(processor.GetPieceSize())}


def _text_ids(file: Path) -> dict[str, int]:
    try:
        text = file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise ModelError(f"there is no vocabulary {file}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"the vocabulary {file} cannot be read: {error}") from None
    # only these line breaks: others of Unicode are tokens
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if file.suffix not in (".yml", ".yaml"):
        return {token: i for i, token in enumerate(lines) if token}
    return _yaml_ids(lines, file)


def _yaml_ids(lines: Sequence[str], file: Path) -> dict[str, int]:
    """The pairs `token: id`, one a line, or two lines `? token` and `: id`.

    PyYAML is slow on them, and reads some tokens as numbers, dates or line breaks.
    """
    ids: dict[str, int] = {}
    key = None
    for number, line in enumerate(lines, 1):
        if key is None and (not line.strip() or line.startswith(("#", "---"))):
            continue
        if key is None and line.startswith("? "):
            key = line[2:]
            continue
        token, colon, value = line.rpartition(":")
        token = token if key is None else key
        if not colon or not value.strip().isdecimal():
            raise ModelError(f"{file}, line {number}: this is not a token and its id")
        ids[_unquoted(token)] = int(value)
        key = None
    return ids


def _unquoted(token: str) -> str:
    if len(token) > 1 and token[0] == token[-1] == '"':
        text = _ESCAPE.sub(_unescaped, token[1:-1])
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # JSON's pairs
    if len(token) > 1 and token[0] == token[-1] == "'":
        return token[1:-1].replace("''", "'")
    return token


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    if len(code) > 1:
        return chr(min(int(code[1:], 16), 0x10FFFF))
    return ESCAPES.get(code, code)
