"""Progress of translation: a bar on a terminal, and a summary at the end."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import (
    Progress as Bar,
)

from transduce.translate.join import Translation

PACE = 300  # seconds over which the speed is averaged


class Progress:
    """Counts results and flags, and prints a summary to stderr; a bar if it is a terminal."""

    def __init__(
        self,
        quiet: bool = False,
        total: Callable[[], int] | None = None,
        done: int = 0,
        bar: bool = True,
    ) -> None:
        """With `quiet` only flags are printed; `total` counts the inputs, `done` of them done."""
        self._quiet, self._total, self._done = quiet, total, done
        self._shown = bar and not quiet and sys.stderr.isatty()
        self._flags: Counter[str] = Counter()
        self._lines = 0

    def __enter__(self) -> "Progress":
        self._start = time.perf_counter()
        self._bar = None
        if self._shown:
            self._bar = Bar(
                TextColumn("translating"),
                BarColumn(bar_width=None),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(),
                TextColumn("left"),
                console=Console(stderr=True),
                transient=True,
                expand=True,
                speed_estimate_period=PACE,
            )
            self._task = self._bar.add_task("lines", completed=self._done, total=None, rate="")
            self._bar.start()
            if self._total:  # counting a large file takes a while
                Thread(
                    target=self._count_inputs, args=(self._bar, self._total), daemon=True
                ).start()
        return self

    def count(self, result: Translation, last: int) -> None:
        """Counts a result; `last` is the number of the last input line that it translates."""
        self._lines += 1
        self._flags.update(result.flags)
        if self._bar:
            rate = self._lines / (time.perf_counter() - self._start)
            shown = f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"
            self._bar.update(self._task, completed=last, rate=f"{shown} lines/s")

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Without the bar, while something is printed to the terminal."""
        if self._bar:
            self._bar.stop()
        yield
        if self._bar:
            self._bar.start()

    def _count_inputs(self, bar: Bar, total: Callable[[], int]) -> None:
        try:
            bar.update(self._task, total=total())
        except Exception:  # an input that cannot be read is an error where it is translated
            return

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if self._bar:
            self._bar.stop()
        seconds = time.perf_counter() - self._start
        counted = f"{self._lines:,} line{'s' * (self._lines != 1)}"
        parts = [] if self._quiet else [f"{counted} in {seconds:.1f} s"]
        if self._flags:
            parts.append("; ".join(f"{flag}: {n:,}" for flag, n in self._flags.most_common()))
        if parts:
            print(", ".join(parts), file=sys.stderr)
