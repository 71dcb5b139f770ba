"""Progress of training on stderr: a progress bar on a terminal, otherwise plain lines."""

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

BAR = 12  # columns of a progress bar
AROUND = BAR + 10  # columns that are not text: the spinner, the bar and its percentage


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

    def text(self, width: int | None = None) -> str:
        """One line; what matters least is left out if it has more than `width` characters."""
        parts = {
            "step": f"step {self.step:,}/{self.steps:,}",
            "loss": f"loss {self.loss:.3f}",
            "perplexity": f"ppl {self.perplexity:,.2f}",
            "rate": f"lr {self.learning_rate:.2e}",
            "speed": f"{self.tokens_per_second:,.0f} tokens/s",
            "left": f"{clock(self.seconds_left)} left",
        }
        for least in ("rate", "speed", "loss", "perplexity"):
            if width is not None and len("  ".join(parts.values())) > width:
                del parts[least]
        return "  ".join(parts.values())

    def at(self, step: int) -> "Report":
        """The same at a later step, with the time that is then left."""
        remaining = (self.steps - step) / max(self.steps - self.step, 1)
        return replace(self, step=step, seconds_left=self.seconds_left * remaining)


class Display:
    """Where progress is shown; this base class shows nothing, for every process but rank 0."""

    def log(self, message: str) -> None:
        """A message."""

    def preparing(self, stage: str, pairs: int, total: int | None = None) -> None:
        """Progress of reading or encoding the text: so many pairs, of a total if it is known."""

    def doing(self, what: str) -> None:
        """What is done between two steps, such as a validation."""

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

    def preparing(self, stage: str, pairs: int, total: int | None = None) -> None:
        if time.monotonic() - self._reported > 10:
            self._reported = time.monotonic()
            self.log(counted(stage, pairs, total))

    def report(self, report: Report) -> None:
        self.log(report.text())


class LiveDisplay(Display):
    """A progress bar, with messages above it; its text is cut to fit the terminal."""

    def __init__(self, steps: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
        from rich.table import Column

        self._steps = steps
        self._report: Report | None = None
        self._first: tuple[int, float] | None = None  # step and time
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
            BarColumn(bar_width=BAR),
            TextColumn("{task.fields[share]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task("starting", total=None, share="")

    def log(self, message: str) -> None:
        self._bar.console.print(message, highlight=False, markup=False)

    def preparing(self, stage: str, pairs: int, total: int | None = None) -> None:
        self._show(counted(stage, pairs, total), pairs, total)

    def doing(self, what: str) -> None:
        self._bar.update(self._task, description=what)

    def report(self, report: Report) -> None:
        self._report = report
        self.advance(report.step)

    def advance(self, step: int) -> None:
        if self._report is not None:
            text = self._report.at(step).text(self._bar.console.width - AROUND)
        else:
            now = time.monotonic()
            self._first = self._first or (step, now)
            text = f"step {step:,}/{self._steps:,}"
            if step > self._first[0]:
                pace = (now - self._first[1]) / (step - self._first[0])
                text += f"  {clock(pace * (self._steps - step))} left"
        self._show(text, step, self._steps)

    def _show(self, text: str, done: int, total: int | None) -> None:
        share = f"{100 * min(done, total) / total:3.0f} %" if total else ""
        self._bar.update(self._task, description=text, completed=done, total=total, share=share)

    def close(self) -> None:
        self._bar.stop()


def counted(stage: str, pairs: int, total: int | None) -> str:
    """A stage and how far it has come.

    >>> counted("reading", 2000, None), counted("encoding", 2000, 29000)
    ('reading: 2,000 pairs', 'encoding: 2,000 of 29,000 pairs')
    """
    if not pairs:
        return stage
    return f"{stage}: {pairs:,} of {total:,} pairs" if total else f"{stage}: {pairs:,} pairs"


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
