"""Parameter files of EVALB."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib.resources import files

COLLINS = "COLLINS.prm"


@dataclass(frozen=True)
class Params:
    """The parameters; the defaults are those of the program without a file."""

    max_error: int = 10
    cutoff: int = 40  # words; shorter sentences have a summary of their own
    labeled: bool = True
    delete: tuple[str, ...] = ()
    delete_for_length: tuple[str, ...] = ()
    quotes: tuple[str, ...] = ()
    equal_labels: frozenset[frozenset[str]] = frozenset()
    equal_words: frozenset[frozenset[str]] = frozenset()

    def same_label(self, a: str, b: str) -> bool:
        return a == b or frozenset((a, b)) in self.equal_labels

    def same_word(self, a: str, b: str) -> bool:
        return a == b or frozenset((a, b)) in self.equal_words

    def deletes(self, label: str) -> bool:
        """Whether a bracket is left out; EQ_LABEL applies, as it does not to tags of words."""
        return any(self.same_label(label, name) for name in self.delete)


def read_params(lines: Iterable[str], write: Callable[[str], None]) -> Params:
    """The parameters of a file; `write` is called about lines that cannot be used."""
    params = Params()
    for number, raw in enumerate(lines, 1):
        line = raw[:1] + raw[1:].rstrip(" \t\n\v\f\r")
        if line.startswith("#") or len(line) < 3:
            continue
        name, *rest = line.split(maxsplit=1)
        if not rest:
            write(f"Empty value in parameter file ({number})")
        params = _set(params, name, rest[0] if rest else "", line, write)
    return params


def collins() -> Params:
    """The parameters that papers use: COLLINS.prm, which is part of the package."""
    text = files("transduce.parsing").joinpath(COLLINS).read_text("utf-8")
    return read_params(text.split("\n"), lambda _: None)


def _set(params: Params, name: str, value: str, line: str, write: Callable[[str], None]) -> Params:
    match name:
        case "DEBUG":
            return params
        case "MAX_ERROR":
            return replace(params, max_error=_number(value))
        case "CUTOFF_LEN":
            return replace(params, cutoff=_number(value))
        case "LABELED":
            return replace(params, labeled=_number(value) != 0)
        case "DELETE_LABEL":
            return replace(params, delete=(*params.delete, value))
        case "DELETE_LABEL_FOR_LENGTH":
            return replace(params, delete_for_length=(*params.delete_for_length, value))
        case "QUOTE_LABEL":
            return replace(params, quotes=(*params.quotes, value))
        case "EQ_LABEL" | "EQ_WORD" if len(value.split()) != 2:
            write(f"{name} requires two values")
        case "EQ_LABEL":
            return replace(params, equal_labels=params.equal_labels | {frozenset(value.split())})
        case "EQ_WORD":
            return replace(params, equal_words=params.equal_words | {frozenset(value.split())})
        case _:
            write(f"Unknown keyword ({line}) in parameter file")
    return params


def _number(value: str) -> int:
    """The number at the start of a text, 0 if there is none, like C's atoi."""
    found = re.match(r"\s*([+-]?\d+)", value)
    return int(found[1]) if found else 0
