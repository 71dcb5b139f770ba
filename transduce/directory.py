"""The files of a model directory: their names, their version and their checksums."""

import hashlib
import json
from pathlib import Path
from typing import Any

from transduce.errors import ModelError

FORMAT_VERSION = 1


def read_description(directory: Path) -> dict[str, Any]:
    """What `config.json` says of a model, if this version can read it."""
    description = read_json(directory, "config.json")
    version = description.get("format_version")
    if version != FORMAT_VERSION:
        raise ModelError(
            f"{directory} has format version {version}, but this transduce reads version "
            f"{FORMAT_VERSION}: use the release that wrote it, or export the model again"
        )
    return description


def read_json(directory: Path, name: str) -> dict[str, Any]:
    """One of a directory's JSON files, or a sentence about why it cannot be had."""
    if not directory.is_dir():
        raise ModelError(f"no model directory {directory}")
    try:
        content = json.loads((directory / name).read_text("utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{directory} is not a model directory: it has no {name}") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{directory / name} cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise ModelError(f"{directory / name} cannot be read: it holds no JSON object")
    return content


def verify_checksums(directory: Path) -> None:
    """Refuses a directory any of whose files is missing or is not what was written."""
    for name, expected in read_json(directory, "checksums.json").items():
        file = directory / name
        if Path(name).name != name or not file.is_file():
            raise ModelError(f"{directory} is incomplete: it has no {name}")
        if sha256(file) != expected:
            raise ModelError(f"{file} is damaged: its checksum is not the one in checksums.json")


def sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
