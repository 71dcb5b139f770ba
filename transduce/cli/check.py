"""`transduce check`: a dry run of training."""

from pathlib import Path

import click

from transduce.cli import options


@click.command(
    "check", cls=options.ManyFiles, short_help="Dry run of training: filters, sizes, memory, time."
)
@options.corpus
@options.text_files("--test", "Test files to look for in the training data.")
@options.training_settings
@click.option("--timing/--no-timing", default=True, help="Time some training steps, for 15 s.")
@options.as_json
def check_command(
    train: tuple[tuple[Path, ...], ...],
    valid: tuple[Path, ...],
    test: tuple[Path, ...],
    task: str | None,
    start: str | None,
    preset: str | None,
    config: Path | None,
    overrides: tuple[str, ...],
    timing: bool,
    as_json: bool,
) -> None:
    """Print what `transduce train` with the same options would do, without training.

    Reports numbers and lengths of sentences, pairs that would be dropped and why, validation and
    test sentences that occur in the training data, batches, memory, time and operations. Data that
    training would reject is an error here too, with the same message.
    """
    import tempfile

    from transduce.check import report
    from transduce.check.preflight import check
    from transduce.corpus.reading import STDIN, open_bytes
    from transduce.errors import InputError
    from transduce.train.progress import choose_display
    from transduce.train.run import Run

    for file in test:  # they are read last: report a missing file at once
        if str(file) != STDIN:
            with open_bytes(file):
                pass
    with tempfile.TemporaryDirectory(prefix="transduce-check-") as folder:
        run = Run(Path(folder))
        settings, inputs, note = options.resolve_training(
            run, train, valid, task, start, preset, config, overrides
        )
        if inputs.task.symbols:
            raise InputError(
                f"transduce check examines sentence pairs, which the task {inputs.task.name} does "
                "not have: transduce train says what it changes and drops"
            )
        display = choose_display(settings.train.steps, first=True)
        try:
            text = inputs.task.text_of(test) if test else None
            found = check(run, settings, inputs, text, timing, display.preparing)
        finally:
            display.close()
    if note:
        options.log(note)
    click.echo(report.to_json(found) if as_json else report.render(found))
