"""Settings from a preset, a TOML file and `--set`; each overrides the one before."""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from transduce.config.presets import Difference, preset
from transduce.config.sections import Config, Section, unknown_setting
from transduce.errors import ConfigError, nearest

LARGEST_FILE = 2**20  # bytes of a settings file


def resolve(
    start: str | Difference = "base", file: Path | None = None, overrides: Iterable[str] = ()
) -> Config:
    """The settings of a preset, overridden by a TOML file and by `section.key=value` items.

    Instead of the name of a preset, `start` may be settings themselves.
    """
    return config_of(given_settings(start, file, overrides))


def given_settings(
    start: str | Difference, file: Path | None, overrides: Iterable[str]
) -> Difference:
    """The same as nested dictionaries, without the defaults."""
    values: dict[str, dict[str, Any]] = {}
    differences = [preset(start) if isinstance(start, str) else start]
    if file is not None:
        differences.append(read_toml(file))
    differences.extend(parse_override(item) for item in overrides)
    for difference in differences:
        for section, changes in difference.items():
            values.setdefault(section, {}).update(changes)
    return values


def config_of(values: Mapping[str, Mapping[str, Any]]) -> Config:
    """Validated settings from nested dictionaries as in TOML or JSON."""
    sections: dict[str, Section] = {}
    for name, changes in values.items():
        field = Config.model_fields.get(name)
        if field is None or field.annotation is None:
            raise ConfigError(f"unknown section {name}{nearest(name, Config.model_fields)}")
        sections[name] = field.annotation(**changes)
    return Config(**sections)  # type: ignore[arg-type]


def read_toml(file: Path) -> Difference:
    """The content of a settings file; raises ConfigError if it cannot be read."""
    try:
        with file.open("rb") as stream:
            content = stream.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise ConfigError(f"settings file {file} is larger than {LARGEST_FILE:,} bytes")
        sections = tomllib.loads(content.decode("utf-8").replace("\r\n", "\n"))
    except FileNotFoundError:
        raise ConfigError(f"no settings file {file}") from None
    except RecursionError:
        raise ConfigError(f"settings file {file} is nested too deeply") from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"settings file {file} cannot be read: {error}") from None
    for name, changes in sections.items():
        if not isinstance(changes, dict):
            raise ConfigError(f"{file}: {name} is not a section: write [{name}] above its settings")
    return sections


def parse_override(item: str) -> Difference:
    """`section.key=value` with a TOML value; a bare word is a string.

    >>> parse_override("model.n_heads=4")
    {'model': {'n_heads': 4}}
    """
    path, equals, text = item.partition("=")
    section, dot, key = path.strip().partition(".")
    if not (equals and dot and section and key):
        raise ConfigError(f"cannot read the setting {item!r}: write section.key=value")
    if section not in Config.model_fields:
        raise unknown_setting(f"{section}.{key}")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        value = text
    return {section: {key: value}}
