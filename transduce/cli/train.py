"""`transduce train`: from text files to a model directory."""

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from transduce.cli import options

if TYPE_CHECKING:
    from transduce.config import Config
    from transduce.train.inputs import Inputs
    from transduce.train.prepare import Prepared, Progress
    from transduce.train.run import Run


@click.command("train", cls=options.ManyFiles, short_help="Train a model from text, or resume.")
@click.argument("run", type=options.PATH)
@options.corpus
@options.training_settings
def train_command(
    run: Path,
    train: tuple[tuple[Path, ...], ...],
    valid: tuple[Path, ...],
    task: str | None,
    start: str | None,
    preset: str | None,
    config: Path | None,
    overrides: tuple[str, ...],
) -> None:
    """Train a model in the directory RUN; the same command again resumes.

    Learns the shared vocabulary, encodes the text, trains, validates, saves checkpoints, and writes
    an averaged, self-contained model to RUN/model. Without --train it uses the built-in
    English–German corpus. A new run begins with the warnings of `transduce check`.
    """
    from transduce.train.job import train_run
    from transduce.train.processes import StopSignal
    from transduce.train.run import Run

    settings, inputs, note = options.resolve_training(
        Run(run), train, valid, task, start, preset, config, overrides
    )
    with StopSignal().handled() as stop:
        try:
            step = train_run(Run(run), settings, inputs, stop, partial(_messages, note))
            stopped = None if step is None else f"stopped and saved at step {step:,}"
        except KeyboardInterrupt:
            stopped = "stopped"
    if stopped is not None:
        click.echo(f"{stopped}; the same command continues", err=True)
        sys.exit(128 + (stop.received or 2))


def _messages(
    note: str, run: "Run", config: "Config", inputs: "Inputs", data: "Prepared", show: "Progress"
) -> list[str]:
    """What to know before a training begins: its preset, and the warnings of `check`."""
    from transduce.check.advice import warnings_of, warnings_of_settings
    from transduce.check.preflight import review
    from transduce.tasks import TRANSLATION

    if inputs.task.name == TRANSLATION.name and config.model.kind == "transformer":
        warnings = warnings_of(review(run, config, inputs, data, show))
    else:
        warnings = warnings_of_settings(config)
    return [*([note] if note else []), *(f"warning: {warning}" for warning in warnings)]
