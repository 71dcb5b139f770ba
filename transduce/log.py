"""Messages for the user: functions that log take a callback of type `Log`; numbers in words."""

from collections.abc import Callable

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
