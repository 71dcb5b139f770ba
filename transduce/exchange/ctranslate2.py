"""Export to CTranslate2, verified against the model."""

import math
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from transduce.directory import ModelDirectory
from transduce.engines import Request
from transduce.engines.router import open_converted, open_engine, write_converted
from transduce.errors import ModelError
from transduce.exchange.note import ctranslate2_note, write_note
from transduce.tokenizer import TOKENIZER_FILES

TOLERANCE = 1e-3  # maximum difference of a token's log-probability, both in float32
SAME = 0.9  # minimum share of equal translations: near-ties may be ranked differently


def export_ctranslate2(
    directory: ModelDirectory, out: Path, sentences: Sequence[str], log: Callable[[str], None]
) -> None:
    """Writes a CTranslate2 directory with the tokenizer's files and a usage note.

    Raises ModelError, and writes nothing, if its results differ from the model's. Our vocabulary
    map is left out: its entries are shortlist sizes, and CTranslate2's `use_vmap` looks up words.
    """

    def check(written: Path) -> None:
        for name in TOKENIZER_FILES:
            if (directory.path / name).is_file():
                shutil.copyfile(directory.path / name, written / name)
        note = ctranslate2_note(directory.tokenizer, directory.description.to_json())
        write_note(written, note)
        log(compare(directory, written, sentences))

    int8 = directory.description.dtype == "int8"
    write_converted(directory, out, int8, check, shortlists=False)


def compare(directory: ModelDirectory, written: Path, sentences: Sequence[str]) -> str:
    """Compares the export with torch; raises ModelError if results differ."""
    sources = [ids for ids in directory.tokenizer.encode_batch(list(sentences)) if ids]
    requests = [Request(ids) for ids in sources]
    ours = open_engine(directory, engine="torch")
    theirs = open_converted(directory, written, "float32", shortlist=False)
    expected = [best.tokens for best, *_ in ours.search(requests)]
    difference = 0.0
    for a, b in zip(ours.score(sources, expected), theirs.score(sources, expected), strict=True):
        difference = max([difference, *(abs(x - y) for x, y in zip(a, b, strict=True))])
    if not difference < TOLERANCE:
        raise ModelError(
            f"the export disagrees with the model: log-probabilities differ by {difference:.1e}"
        )
    found = [best.tokens for best, *_ in theirs.search(requests)]
    same = sum(a == b for a, b in zip(expected, found, strict=True))
    if same < math.floor(SAME * len(sources)):
        raise ModelError(
            f"the export disagrees with the model: {same} of {len(sources)} translations are equal"
        )
    return (
        f"log-probabilities differ by at most {difference:.1e}, "
        f"{same} of {len(sources)} translations are equal"
    )
