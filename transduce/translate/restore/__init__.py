"""Restores what translations lose or spoil: numbers, addresses, names, times of day, dates."""

from transduce.translate.restore.afternoon import keep_afternoons
from transduce.translate.restore.clock import keep_times
from transduce.translate.restore.dates import keep_dates
from transduce.translate.restore.insertion import insert_missing
from transduce.translate.restore.names import keep_names
from transduce.translate.restore.second import SecondSearch

__all__ = ["SecondSearch", "restore"]


def restore(second: SecondSearch) -> None:
    """Replaces translations that lost something, where it is certain what belongs where."""
    for keep in (keep_times, keep_dates, insert_missing, keep_names, keep_afternoons):
        keep(second)
