"""Export as a package of Argos Translate and LibreTranslate, verified against the model."""

import json
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from transduce import atomic
from transduce.directory import ModelDirectory
from transduce.engines.router import write_converted
from transduce.errors import ModelError
from transduce.exchange.ctranslate2 import compare
from transduce.exchange.note import argos_note, write_note
from transduce.tokenizer import OURS

SUFFIX = ".argosmodel"
VERSION = "1.0"  # of the package
ARGOS = "1.5"  # the earliest version that reads it
WRITTEN = (1980, 1, 1, 0, 0, 0)  # time of the files in the archive: equal models, equal archives

NAMES = {
    "ar": "Arabic",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fi": "Finnish",
    "fr": "French",
    "it": "Italian",
    "ja": "Japanese",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ru": "Russian",
    "sv": "Swedish",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "zh": "Chinese",
}


def export_argos(
    directory: ModelDirectory, out: Path, sentences: Sequence[str], log: Callable[[str], None]
) -> None:
    """Writes OUT.argosmodel: a zip archive of a CTranslate2 model and its SentencePiece model.

    Raises ModelError, and writes nothing, if the results of the packed model differ.
    """
    metadata = _metadata(directory)
    name = f"translate-{metadata['from_code']}_{metadata['to_code']}-{VERSION.replace('.', '_')}"
    with tempfile.TemporaryDirectory() as place:
        package = Path(place) / name
        package.mkdir()
        int8 = directory.description.dtype == "int8"
        write_converted(directory, package / "model", int8, shortlists=False)
        shutil.copyfile(directory.path / OURS, package / "sentencepiece.model")
        text = json.dumps(metadata, indent=2, ensure_ascii=False) + "\n"
        (package / "metadata.json").write_text(text, "utf-8")
        write_note(package, argos_note(out.name, directory.description.to_json()))
        with atomic.file(out) as aside:
            _pack(package, aside)
            with zipfile.ZipFile(aside) as archive:
                archive.extractall(Path(place) / "unpacked")
            message = compare(directory, Path(place) / "unpacked" / name / "model", sentences)
    log(message)


def _metadata(directory: ModelDirectory) -> dict[str, str]:
    """What Argos Translate reads first; raises ModelError if the model has no such package."""
    described = directory.description
    codes = described.source_language, described.target_language
    if not codes[0] or not codes[1]:
        raise ModelError(
            f"{directory.path} does not state its languages, which a package of Argos Translate "
            "needs: add source_language and target_language to its config.json"
        )
    if not (directory.path / OURS).is_file():
        raise ModelError(
            f"{directory.path} has a SentencePiece model for each language, and a package of Argos "
            "Translate has one for both: export it to ctranslate2"
        )
    return {
        "package_version": VERSION,
        "argos_version": ARGOS,
        "from_code": codes[0],
        "from_name": NAMES.get(codes[0], codes[0]),
        "to_code": codes[1],
        "to_name": NAMES.get(codes[1], codes[1]),
    }


def _pack(package: Path, out: Path) -> None:
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(item for item in package.rglob("*") if item.is_file()):
            entry = zipfile.ZipInfo(str(file.relative_to(package.parent)), WRITTEN)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, file.read_bytes())
