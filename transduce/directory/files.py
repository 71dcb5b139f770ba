"""JSON files and checksums of model directories and checkpoints."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from transduce.errors import ModelError

CHECKSUMS = "checksums.json"
LARGEST = 16 * 2**20  # bytes of a JSON file


def read_json(directory: Path, name: str) -> dict[str, Any]:
    """One of a directory's JSON files; raises ModelError if it is missing or not an object."""
    if not directory.is_dir():
        raise ModelError(f"no model directory {directory}")
    file = directory / name
    try:
        with file.open("rb") as stream:
            content = stream.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise ModelError(f"{file} cannot be read: it is larger than {LARGEST:,} bytes")
        values = json.loads(content.decode("utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{directory} is not a model directory: it has no {name}") from None
    except RecursionError:
        raise ModelError(f"{file} cannot be read: it is nested too deeply") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{file} cannot be read: {error}") from None
    if not isinstance(values, dict):
        raise ModelError(f"{file} cannot be read: it is not a JSON object")
    return values


def sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_checksums(directory: Path) -> None:
    """Writes `checksums.json`, which lists every other file of the directory."""
    sums = {file.name: sha256(file) for file in sorted(directory.iterdir())}
    (directory / CHECKSUMS).write_text(json.dumps(sums, indent=2) + "\n", "utf-8")


def verify_checksums(directory: Path, required: Iterable[str]) -> dict[str, str]:
    """The checksums of a directory; raises ModelError if a file is missing, changed or not listed.

    Every name in `required` must be listed.
    """
    return verify_files(directory, read_json(directory, CHECKSUMS), required, CHECKSUMS)


def verify_files(
    directory: Path, sums: Any, required: Iterable[str], listed_in: str
) -> dict[str, str]:
    """The same for a list of checksums that was read from the file `listed_in`."""
    if not isinstance(sums, dict):
        raise ModelError(f"{directory / listed_in} is damaged: it has no list of checksums")
    for name in required:
        if name not in sums:
            raise ModelError(f"{directory / listed_in} is damaged: it does not list {name}")
    for name, expected in sums.items():
        file = directory / name
        try:
            if Path(name).name != name or not file.is_file():
                raise ModelError(f"{directory} is incomplete: it has no {name}")
            found = sha256(file)
        except (OSError, ValueError) as error:  # ValueError: a name with a NUL character
            raise ModelError(f"{directory} cannot be read: {error}") from None
        if found != expected:
            raise ModelError(f"{file} is damaged: its checksum is not the one in {listed_in}")
    return sums
