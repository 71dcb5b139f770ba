"""Errors caused by the user; the command line prints them as one line, with exit code 2."""

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

# Optional dependencies → the extra that installs them.
EXTRAS = {
    "torch": "train",
    "tensorboard": "train",
    "sacrebleu": "evaluate",
    "sacremoses": "evaluate",
    "matplotlib": "figures",
    "transformers": "huggingface",
    "huggingface_hub": "huggingface",
    "ray": "ray",
    "starlette": "serve",
    "uvicorn": "serve",
    "httptools": "serve",
    "python_multipart": "serve",
    "prometheus_client": "serve",
    "limits": "serve",
    "py3langid": "serve",
}


class UserError(Exception):
    """An error that the user can fix: the message says what is wrong, where, and what to do."""


class ConfigError(UserError):
    """An unknown setting or an invalid value."""


class ModelError(UserError):
    """A model that is damaged or not supported."""


class InputError(UserError):
    """Input that cannot be processed."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the most similar known name, or all of them."""
    known = list(known)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else f"; known: {', '.join(known)}"


@contextmanager
def optional(what: str) -> Iterator[None]:
    """Imports in the block may fail: then the error names the extra that `what` needs."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        raise ModuleNotFoundError(
            f"{what} needs {package}: pip install 'transduce[{EXTRAS[package]}]'", name=package
        ) from None
