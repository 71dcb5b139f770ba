"""YAML files of Marian; only plain values are read, never objects."""

from pathlib import Path
from typing import Any

from transduce.errors import ModelError

LARGEST = 64 * 2**20  # bytes


def read_yaml(file: Path) -> dict[str, Any]:
    """A YAML file with a mapping; raises ModelError if it is something else."""
    try:
        with file.open("rb") as stream:
            content = stream.read(LARGEST + 1)
    except OSError as error:
        raise ModelError(f"{file} cannot be read: {error.strerror}") from None
    if len(content) > LARGEST:
        raise ModelError(f"{file} cannot be read: it is larger than {LARGEST:,} bytes")
    return parse_yaml(content, str(file))


def parse_yaml(content: bytes, where: str) -> dict[str, Any]:
    import yaml

    try:
        values = yaml.safe_load(content)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = str(error).split("\n")[0]
        raise ModelError(f"{where} cannot be read: {reason}") from None
    if not isinstance(values, dict):
        raise ModelError(f"{where} cannot be read: it is not a YAML mapping")
    return values


def as_list(value: Any) -> list[str]:
    """The strings of a YAML list, or none."""
    return [str(item) for item in value] if isinstance(value, list) else []
