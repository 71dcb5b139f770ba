"""Progress of training on stderr: a progress bar on a terminal, otherwise plain lines."""

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click


@dataclass(frozen=True)
class Report:
    """The metrics of the last few steps."""

    step: int
    steps: int
    epoch: int
    loss: float  # per token, with label smoothing
    perplexity: float  # without label smoothing
    learning_rate: float
    tokens_per_second: float
    seconds_left: float

    def __str__(self) -> str:
        return (
            f"step {self.step:,}/{self.steps:,}  loss {self.loss:.3f}  "
            f"ppl {self.perplexity:,.2f}  lr {self.learning_rate:.2e}  "
            f"{self.tokens_per_second:,.0f} tokens/s  {clock(self.seconds_left)} left"
        )


class Display:
    """Where progress is shown; this base class shows nothing, for every process but rank 0."""

    def log(self, message: str) -> None:
        """A message."""

    def preparing(self, stage: str, pairs: int) -> None:
        """Progress of reading or encoding the text."""

    def report(self, report: Report) -> None:
        """The last few steps."""

    def advance(self, step: int) -> None:
        """One more step is done."""

    def close(self) -> None:
        """Removes the progress bar."""


class PlainDisplay(Display):
    """Plain lines on stderr."""

    def __init__(self) -> None:
        self._reported = time.monotonic()

    def log(self, message: str) -> None:
        click.echo(message, err=True)

    def preparing(self, stage: str, pairs: int) -> None:
        if time.monotonic() - self._reported > 10:
            self._reported = time.monotonic()
            self.log(f"{stage}: {pairs:,} pairs")

    def report(self, report: Report) -> None:
        self.log(str(report))


class LiveDisplay(Display):
    """A progress bar, with messages above it."""

    def __init__(self, steps: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

        self._steps = steps
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.percentage:>3.0f} %"),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task("preparing", total=None)

    def log(self, message: str) -> None:
        self._bar.console.print(message, highlight=False, markup=False)

    def preparing(self, stage: str, pairs: int) -> None:
        self._bar.update(self._task, description=f"{stage}: {pairs:,} pairs")

    def report(self, report: Report) -> None:
        self._bar.update(self._task, description=str(report), total=report.steps)

    def advance(self, step: int) -> None:
        self._bar.update(self._task, completed=step, total=self._steps)

    def close(self) -> None:
        self._bar.stop()


def choose_display(steps: int, first: bool) -> Display:
    """The display of this process; stderr may be a terminal or not."""
    if not first:
        return Display()
    return LiveDisplay(steps) if sys.stderr.isatty() else PlainDisplay()


class TensorBoard:
    """Writes the metrics for TensorBoard, if it is installed."""

    def __init__(self, directory: Path, step: int) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            self._writer = None
        else:
            self._writer = SummaryWriter(str(directory), purge_step=step)

    def write(self, step: int, values: Mapping[str, Any]) -> None:
        if self._writer is not None:
            for name, value in values.items():
                if isinstance(value, int | float):
                    self._writer.add_scalar(name, value, step)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def clock(seconds: float) -> str:
    """A duration as hours, minutes and seconds.

    >>> clock(3725)
    '1:02:05'
    """
    minutes, second = divmod(round(seconds), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour}:{minute:02d}:{second:02d}" if hour else f"{minute}:{second:02d}"
