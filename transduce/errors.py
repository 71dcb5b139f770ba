"""What a user can get wrong. Caught once, in the command line: one line, exit code 2."""

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """A mistake that the user can put right: the message says what, where and what to do."""


class ConfigError(UserError):
    """A setting that does not exist or cannot have the value it was given."""


class ModelError(UserError):
    """A model directory that cannot be used as it is."""


class InputError(UserError):
    """Input that cannot be processed as it is."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: the known name that is most like it, or all."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else f"; known: {', '.join(known)}"
