"""What users name as MODEL: a directory, a bundled model, or one of the Hugging Face hub."""

import re
from pathlib import Path

from transduce.directory import find_model
from transduce.errors import ModelError
from transduce.log import Log, silent

BUNDLED = Path(__file__).with_name("bundled")  # a directory for each language pair, and the parser
PARSER = "parse-en"
PAIR = re.compile(r"[a-z]{2,3}-[a-z]{2,3}")
DEFAULT_TARGET = "de"
PREFIX = "hf:"


def bundled_models() -> dict[str, Path]:
    """The bundled translators by pair, such as "en-de"; that of the default target first."""
    found = sorted(file.parent for file in BUNDLED.glob("*-*/config.json"))
    folders = [folder for folder in found if PAIR.fullmatch(folder.name)]
    folders.sort(key=lambda folder: folder.name.rpartition("-")[2] != DEFAULT_TARGET)
    return {folder.name: folder for folder in folders}


def bundled_parser() -> Path | None:
    """The directory of the bundled parser, if there is one."""
    return BUNDLED / PARSER if (BUNDLED / PARSER / "config.json").is_file() else None


def model_path(name: Path | str | None = None, to: str | None = None, log: Log = silent) -> Path:
    """The directory of the model that a user names, by default of a bundled one.

    `hf:ORG/NAME[@REVISION]` is fetched from the hub, once. An existing directory precedes a
    bundled model of the same name; that of a run stands for its model. `to` is the target
    language of a bundled model.
    """
    if name is None:
        return _bundled_for(DEFAULT_TARGET if to is None else to)
    if to is not None:
        raise ModelError(f"--to {to} chooses a bundled model: leave out --to or --model")
    if str(name).startswith(PREFIX):
        from transduce.exchange.hub import fetch

        return fetch(str(name), log)
    path, bundled = Path(name), bundled_models()
    if str(name) == PARSER and (parser := bundled_parser()):
        bundled[PARSER] = parser
    if path.is_dir() or not (PAIR.fullmatch(str(name)) or str(name) in bundled):
        return find_model(path)
    if str(name) not in bundled:
        raise ModelError(f"no model directory {name}, and no bundled model; {_listed(bundled)}")
    return bundled[str(name)]


def parser_path(name: Path | str | None, log: Log = silent) -> Path:
    """The directory of a parser that a user names, by default of the bundled one."""
    if name is not None:
        return model_path(name, log=log)
    if parser := bundled_parser():
        return parser
    raise ModelError(
        "there is no bundled parser: give one with --model; "
        "transduce train RUN --task parsing --train TREES makes one"
    )


def bundled_hint(source: str) -> str:
    """The end of a message about a text in this language: how to translate it."""
    bundled = bundled_models()
    targets = [name.split("-")[1] for name in bundled if name.startswith(f"{source}-")]
    return f": add --to {targets[0]}" if targets else f"; {_listed(bundled)}"


def is_model(name: str) -> bool:
    """Whether a name that may also be a text file names a model."""
    if name.startswith(PREFIX) or Path(name).is_dir():
        return True
    return name in bundled_models() and not Path(name).exists()


def _bundled_for(to: str) -> Path:
    bundled = bundled_models()
    if not bundled:
        raise ModelError("this installation has no bundled model: give one with --model")
    for name, path in bundled.items():
        if name.rpartition("-")[2] == to.lower():
            return path
    raise ModelError(f"there is no bundled model that translates into {to!r}; {_listed(bundled)}")


def _listed(bundled: dict[str, Path]) -> str:
    return f"bundled: {', '.join(bundled)}; give another model with --model"
