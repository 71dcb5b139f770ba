"""A checkpoint of another toolkit as a model directory."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from transduce.directory import DType, write_model
from transduce.log import Log
from transduce.model import Transformer, count_parameters
from transduce.tokenizer import MarianTokenizer

Checkpoint = tuple[Transformer, MarianTokenizer | None, dict[str, Any]]


def import_checkpoint(
    toolkit: str, directory: Path, out: Path, log: Log, origin: str | None = None
) -> None:
    """Writes the model directory `out`; `origin` says where the checkpoint is from."""
    model, tokenizer, languages = READERS[toolkit](directory)
    origin = origin or f"`{directory.resolve().name}`"
    write_model(
        out,
        model,
        card=f"# {out.name}\n\nImported from a {NAMES[toolkit]} model, {origin}.\n",
        files=tokenizer.files if tokenizer else None,
        weights=f"imported from {origin}",
        dtype=_dtype(model),
        **languages,
    )
    log(f"{out}: {count_parameters(model):,} parameters imported")
    if tokenizer is None:
        log(f"{directory} has no vocabulary, so {out} can translate token ids only, not text")
    elif tokenizer.languages:
        codes = " ".join(tokenizer.languages[:5]) + (" …" if len(tokenizer.languages) > 5 else "")
        log(f"begin each source with the code of the target language: {codes}")


def _dtype(model: Transformer) -> DType:
    """float16 if that loses nothing, as for most of OPUS-MT's checkpoints."""
    matrices = (p.detach() for p in model.parameters() if p.dim() == 2)
    return "float16" if all((m.half().float() == m).all() for m in matrices) else "float32"


def _huggingface(directory: Path) -> Checkpoint:
    from transduce.exchange.huggingface import read_huggingface, read_languages, read_tokenizer
    from transduce.tokenizer import has_tokenizer

    model = read_huggingface(directory)
    tokenizer = read_tokenizer(directory, model.config) if has_tokenizer(directory) else None
    return model, tokenizer, read_languages(directory)


def _marian(directory: Path) -> Checkpoint:
    from transduce.exchange.marian_npz import read_languages, read_marian

    return *read_marian(directory), read_languages(directory)


READERS: dict[str, Callable[[Path], Checkpoint]] = {"huggingface": _huggingface, "marian": _marian}
NAMES = {"huggingface": "Hugging Face Marian", "marian": "Marian"}
