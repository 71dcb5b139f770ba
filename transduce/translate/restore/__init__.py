"""Restores what translations lose or spoil: numbers, addresses, names, times of day, dates."""

from transduce.translate.restore.afternoon import keep_afternoons
from transduce.translate.restore.clock import keep_times
from transduce.translate.restore.dates import keep_dates
from transduce.translate.restore.familiar import keep_names, keep_titles
from transduce.translate.restore.insertion import insert_missing
from transduce.translate.restore.places import keep_places
from transduce.translate.restore.quotations import keep_quotations
from transduce.translate.restore.second import SecondSearch
from transduce.translate.restore.separators import keep_separators
from transduce.translate.restore.spelling import keep_spellings

__all__ = ["SecondSearch", "restore"]


def restore(second: SecondSearch) -> None:
    """Replaces translations that lost something, where it is certain what belongs where."""
    keep_quotations(second)
    keep_times(second)
    keep_dates(second)
    insert_missing(second)
    keep_names(second)
    keep_titles(second)
    keep_spellings(second)
    keep_places(second)
    keep_afternoons(second)
    keep_separators(second)
