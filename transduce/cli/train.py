"""`transduce train`: from text files to a model directory."""

import sys
from pathlib import Path

import click

from transduce.cli import options


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
    English–German corpus.
    """
    from transduce.train.job import train_run
    from transduce.train.processes import StopSignal
    from transduce.train.run import Run

    settings, inputs = options.resolve_training(
        Run(run), train, valid, task, start, preset, config, overrides
    )
    with StopSignal().handled() as stop:
        try:
            step = train_run(Run(run), settings, inputs, stop)
            stopped = None if step is None else f"stopped and saved at step {step:,}"
        except KeyboardInterrupt:
            stopped = "stopped"
    if stopped is not None:
        click.echo(f"{stopped}; the same command continues", err=True)
        sys.exit(128 + (stop.received or 2))
