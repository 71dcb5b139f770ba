"""Messages for the user: functions that log take a callback of type `Log`; numbers in words."""

import shutil
import textwrap
from collections.abc import Callable
from typing import TextIO

Log = Callable[[str], None]


def silent(_message: str) -> None:
    """Logs nothing."""


def plural(number: int, noun: str) -> str:
    """A number and a noun in singular or plural.

    >>> plural(1, "line"), plural(2000, "pair"), plural(2, "entry")
    ('1 line', '2,000 pairs', '2 entries')
    """
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} " + (f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s")


def folded(message: str, stream: TextIO) -> str:
    """The message, broken between words if the stream is a terminal that is too narrow for it."""
    if not stream.isatty():
        return message
    width = shutil.get_terminal_size().columns
    wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    lines = message.split("\n")
    return "\n".join(line if len(line) <= width else wrapper.fill(line) for line in lines)
