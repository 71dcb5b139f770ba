"""Messages for the user: functions that log take a callback of type `Log`."""

from collections.abc import Callable

Log = Callable[[str], None]


def silent(_message: str) -> None:
    """Logs nothing."""
