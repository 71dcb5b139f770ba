"""The text that is measured on: what is given, or Multi30k, or else the built-in corpus."""

import os
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from transduce import grammar
from transduce.corpus.reading import read_lines, read_pairs
from transduce.corpus.text import Text
from transduce.errors import InputError
from transduce.log import Log
from transduce.tasks import TRANSLATION
from transduce.train.inputs import BUILTIN, generate_builtin
from transduce.train.run import Run

MULTI30K = "Multi30k, English → German"
BUILT_IN = "the built-in corpus, English → German"


@dataclass(frozen=True)
class Sentences:
    """Lines to translate, perhaps with references."""

    what: str
    sources: list[str]
    references: list[str] | None = None


def multi30k(split: str) -> tuple[Path, Path] | None:
    """The English and the German file, if they are in $TRANSDUCE_DATA."""
    folder = Path(os.environ.get("TRANSDUCE_DATA", "../shared/data")) / "multi30k"
    files = folder / f"{split}.en.gz", folder / f"{split}.de.gz"
    return files if all(file.is_file() for file in files) else None


def find_training_text(run: Run, files: tuple[Path, ...], log: Log) -> tuple[Text, str]:
    """The given files, or Multi30k, or else the built-in corpus; and what it is called."""
    if files:
        text = TRANSLATION.text_of(files)
        return text, str(text)
    found = multi30k("train")
    if found:
        return TRANSLATION.text_of(found), MULTI30K
    generate_builtin(run, log)
    return Text((run.builtin("train"),)), BUILT_IN


def find_sentences(source: Path | None, reference: Path | None, count: int) -> Sentences:
    """The first lines of the given file, or of a test set with its references."""
    if source is None:
        if reference is not None:
            raise InputError(f"{reference} refers to nothing: give --input as well")
        return _test_set(count)
    if reference is not None:
        return _aligned(", ".join((source.name, reference.name)), source, reference, count)
    sources = list(islice(read_lines(source), count))
    if not sources:
        raise InputError(f"{source} is empty: it needs one sentence a line")
    return Sentences(source.name, sources)


def _test_set(count: int) -> Sentences:
    files = multi30k("test_2016_flickr")
    if files:
        return _aligned(f"{MULTI30K}, test_2016_flickr", *files, count)
    pairs = grammar.sentences("test", min(count, BUILTIN["test"]), seed=0)
    return Sentences(
        f"{BUILT_IN}, test", [pair.source for pair in pairs], [pair.target for pair in pairs]
    )


def _aligned(what: str, source: Path, reference: Path, count: int) -> Sentences:
    pairs = list(islice(read_pairs([source], [reference]), count))
    return Sentences(what, [pair.source for pair in pairs], [pair.target for pair in pairs])
