"""The reference of all settings, from the code: `python -m transduce.config.reference`."""

import types
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Lt

from transduce.config.sections import Config, Section

INTRODUCTION = """# Settings

Every setting with its default, which is the paper's value where the paper has one. A preset
(`transduce presets` lists them), a TOML file (`--config FILE`) and the command line
(`--set model.d_model=256`) change settings; each overrides the one before. A setting whose default
is none is left out. `make docs` writes this page; `transduce presets --settings` prints the same.
"""


@dataclass(frozen=True)
class Setting:
    """One setting, as the reference describes it."""

    name: str
    default: str
    values: str
    meaning: str
    paper: str  # the section of the paper, or empty


def reference() -> dict[type[Section], list[Setting]]:
    """All settings, by section."""
    sections = [field.annotation for field in Config.model_fields.values()]
    return {
        section: _settings(section)
        for section in sections
        if isinstance(section, type) and issubclass(section, Section)
    }


def markdown() -> str:
    """docs/settings.md."""
    lines = [INTRODUCTION]
    for section, settings in reference().items():
        lines += [f"## `[{section.section}]`\n", f"{section.title}\n"]
        lines += [
            "| setting | default | values | meaning | paper |",
            "| --- | --- | --- | --- | --- |",
        ]
        lines += [
            f"| `{s.name}` | {s.default} | {s.values} | {s.meaning} | {s.paper} |" for s in settings
        ]
        lines.append("")
    return "\n".join(lines)


def _settings(section: type[Section]) -> list[Setting]:
    found = []
    for name, field in section.model_fields.items():
        text = field.description or ""
        meaning, _, paper = text.partition(" (§") if text.endswith(")") else (text, "", "")
        values = _values(field.annotation, field.metadata)
        default = shown(field.default)
        paper = f"§{paper.removesuffix(')')}" if paper else ""
        found.append(Setting(f"{section.section}.{name}", default, values, meaning, paper))
    return found


def shown(value: Any) -> str:
    """A value as people write it.

    >>> shown(37_000), shown(None), shown(True)
    ('37,000', 'none', 'true')
    """
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return f"{value:,}" if isinstance(value, int) else str(value)


def _values(annotation: Any, bounds: list[Any]) -> str:
    """The values that a setting may have."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        one = next(part for part in parts if part is not types.NoneType)
        kind, *fields = get_args(one)
        inner = [bound for field in fields for bound in getattr(field, "metadata", [field])]
        return f"{_values(kind, inner)}, or none"
    if origin is Literal:
        return ", ".join(map(str, parts))
    if annotation is bool:
        return "true, false"
    limits = " and ".join(filter(None, map(_limit, bounds)))
    kind = {int: "whole number", float: "number"}.get(annotation, str(annotation))
    return f"{kind} {limits}".rstrip()


def _limit(bound: Any) -> str:
    """A bound; upper ones are only there to catch mistakes, but for those of probabilities."""
    match bound:
        case Ge(ge=least):
            return f"≥ {least}"
        case Gt(gt=below):
            return f"> {below}"
        case Lt(lt=above):
            return f"< {above}"
    return ""


if __name__ == "__main__":
    print(markdown(), end="")
