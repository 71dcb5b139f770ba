"""Progress of translation: a bar on a terminal, and a summary at the end."""

import sys
import time
from collections import Counter

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import (
    Progress as Bar,
)

from transduce.translate.join import Translation


class Progress:
    """Counts results and flags, and prints a summary to stderr."""

    def __init__(self, quiet: bool = False, total: int | None = None) -> None:
        """With `quiet` only flags are printed."""
        self._quiet, self._total = quiet, total
        self._flags: Counter[str] = Counter()
        self._lines = 0

    def __enter__(self) -> "Progress":
        self._start = time.perf_counter()
        self._bar = None
        if sys.stderr.isatty() and not sys.stdout.isatty() and not self._quiet:
            self._bar = Bar(
                TextColumn("translating"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[rate]}"),
                console=Console(stderr=True),
                transient=True,
            )
            self._task = self._bar.add_task("lines", total=self._total, rate="")
            self._bar.start()
        return self

    def count(self, result: Translation) -> None:
        self._lines += 1
        self._flags.update(result.flags)
        if self._bar:
            rate = self._lines / (time.perf_counter() - self._start)
            self._bar.update(self._task, advance=1, rate=f"{rate:,.0f} lines/s")

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if self._bar:
            self._bar.stop()
        seconds = time.perf_counter() - self._start
        parts = [] if self._quiet else [f"{self._lines:,} lines in {seconds:.1f} s"]
        if self._flags:
            parts.append("; ".join(f"{flag}: {n:,}" for flag, n in self._flags.most_common()))
        if parts:
            print(", ".join(parts), file=sys.stderr)
