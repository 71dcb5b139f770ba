"""How a part of the library tells people what it does: it calls the function it was given."""

from collections.abc import Callable

Log = Callable[[str], None]


def silent(_message: str) -> None:
    """Logs nothing."""
