"""`transduce average`: §6.1, the mean of a run's last checkpoints as a model directory."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from transduce.errors import ModelError

if TYPE_CHECKING:
    from transduce.config import Config
    from transduce.directory import DType
    from transduce.model import Transformer
    from transduce.train.prepare import Prepared
    from transduce.train.run import Run


@click.command("average", short_help="Average the last checkpoints of a run.")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--last", type=click.IntRange(min=1), default=5, show_default=True, help="Checkpoints."
)
@click.option("--output", type=click.Path(path_type=Path), help="Model directory [RUN/model].")
@click.option(
    "--dtype",
    "--stored",
    "dtype",
    type=click.Choice(["float32", "float16", "int8"]),
    default="float32",
    show_default=True,
    help="Of the weights in the file; --stored is another name of this option.",
)
@click.option(
    "--note", type=click.Path(path_type=Path), help="A text file that the card is to end with."
)
def average_command(
    run: Path, last: int, output: Path | None, dtype: "DType", note: Path | None
) -> None:
    """Average the weights of the last checkpoints of RUN and leave them as a model directory.

    Checkpoints that a signal asked for take no part, and damaged ones are named and left out.
    """
    from transduce.directory import write_model
    from transduce.directory.network import load_weights
    from transduce.errors import InputError
    from transduce.model import Transformer, count_parameters
    from transduce.train import state
    from transduce.train.inputs import read_inputs
    from transduce.train.job import files_of, languages_of
    from transduce.train.prepare import reopen
    from transduce.train.run import Run, read_config

    whole = Run(run)
    out = output or whole.model
    if not whole.config.exists():
        raise ModelError(f"{run} is not a run: it has no config.toml")
    _check_replaceable(out)
    said = _read(note) if note else ""
    paths = _usable(whole, last)
    config = read_config(whole)
    data = None
    try:
        data = reopen(whole)
    except InputError as error:
        click.echo(f"{error}; without it the mean is not scored", err=True)
    model = Transformer(config.model)
    load_weights(model, state.average(paths), whole.checkpoints)
    steps = ", ".join(f"{int(path.name.split('-')[1]):,}" for path in paths)
    what = f"mean of {len(paths)} checkpoint{'s' * (len(paths) > 1)} (steps {steps})"
    write_model(
        out,
        model,
        card=_card(whole, config, model, paths[-1], what, data) + said,
        files=files_of(whole, data),
        max_length=config.data.max_length,
        weights=what,
        dtype=dtype,
        **languages_of(read_inputs(whole)),
    )
    click.echo(f"{out}: {what}; {count_parameters(model):,} parameters", err=True)


def _usable(run: "Run", last: int) -> list[Path]:
    """The last checkpoints that were saved on schedule and are whole, oldest first."""
    from transduce.history import saved_state
    from transduce.train import state

    found = state.numbered(run.checkpoints)
    usable: list[Path] = []
    for path in reversed(found):
        if len(usable) == last:
            break
        saved = saved_state(path)
        if saved.problem:
            click.echo(f"{saved.problem}; it is left out", err=True)
        elif saved.scheduled:
            usable.append(path)
    if not usable:
        raise ModelError(
            f"{run.directory} has no checkpoint to average"
            + (": none is whole and on schedule" if found else " yet: train it first")
        )
    if len(usable) < last:
        click.echo(f"{len(usable)} checkpoints are there, not {last}: all are averaged", err=True)
    return usable[::-1]


def _read(note: Path) -> str:
    try:
        return "\n" + note.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{note} cannot be read: {error}") from None


def _check_replaceable(out: Path) -> None:
    model = (out / "config.json").exists() and (out / "model.safetensors").exists()
    if out.exists() and not model and (not out.is_dir() or any(out.iterdir())):
        raise ModelError(
            f"{out} is not empty and not a model directory: name another with --output"
        )


def _card(
    run: "Run",
    config: "Config",
    model: "Transformer",
    newest: Path,
    what: str,
    data: "Prepared | None",
) -> str:
    from transduce.model import count_parameters
    from transduce.search import PAPER
    from transduce.train.card import write_card
    from transduce.train.inputs import read_inputs
    from transduce.train.processes import join
    from transduce.train.state import position_of
    from transduce.train.validate import validate

    scores = None
    if data:
        with join() as processes:
            model.to(processes.device)
            wanted = config.train.bleu_sentences
            scores = validate(model, data, wanted, processes, PAPER)
    return write_card(
        run.directory.resolve().name,
        count_parameters(model),
        config,
        read_inputs(run),
        data,
        position_of(newest),
        what,
        scores,
    )
