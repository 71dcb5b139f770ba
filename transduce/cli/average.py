"""`transduce average`: §6.1, checkpoint averaging."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from transduce.cli.options import PATH, at_least_one, log, require_writable
from transduce.errors import ModelError

if TYPE_CHECKING:
    from transduce.directory import DType


@click.command("average", short_help="Average the last checkpoints of a run.")
@click.argument("run", type=PATH)
@click.option(
    "--last", type=at_least_one, default=5, show_default=True, help="Number of checkpoints."
)
@click.option(
    "--mix",
    "mixes",
    multiple=True,
    metavar="MODEL:SHARE",
    help="Mix in a share of a model, such as 0.3 of the one that RUN started from; repeatable.",
)
@click.option("--output", type=PATH, help="Model directory [default: RUN/model].")
@click.option(
    "--dtype",
    "--stored",
    "dtype",
    type=click.Choice(["float32", "float16", "int8"]),
    default="float32",
    show_default=True,
    help="dtype of the stored weights; --stored is an alias.",
)
@click.option("--note", type=PATH, help="A text file to append to the model card.")
def average_command(
    run: Path,
    last: int,
    mixes: tuple[str, ...],
    output: Path | None,
    dtype: "DType",
    note: Path | None,
) -> None:
    """Average the weights of the last checkpoints of RUN and write a model directory.

    Checkpoints saved on a signal are left out, and damaged ones are reported and left out.
    """
    from transduce.directory.network import load_weights
    from transduce.errors import InputError
    from transduce.log import plural
    from transduce.model import build_network, count_parameters
    from transduce.train import state
    from transduce.train.inputs import model_name, read_inputs
    from transduce.train.mixing import mixed, parse_shares, weights_of
    from transduce.train.prepare import in_blocks, reopen
    from transduce.train.processes import join
    from transduce.train.publish import described, publish
    from transduce.train.run import Run, numbered, read_config

    run_dir = Run(run)
    out = output or run_dir.model
    if not run_dir.config.exists():
        raise ModelError(f"{run} is not a run: it has no config.toml")
    _check_replaceable(out)
    shares = parse_shares(mixes)
    text = _read(note) if note else ""
    paths = state.usable(run_dir.checkpoints, last, log)
    if not paths:
        found = numbered(run_dir.checkpoints)
        why = ": none is intact and on schedule" if found else " yet: train it first"
        raise ModelError(f"{run} has no checkpoint to average{why}")
    if len(paths) < last:
        usable = f"{plural(len(paths), 'checkpoint')} {'is' if len(paths) == 1 else 'are'} usable"
        log(f"{usable}, not {last}: all are averaged")
    config, data = read_config(run_dir), None
    try:
        data = in_blocks(reopen(run_dir), config.model.max_positions)
    except InputError as error:
        log(f"{error}; the averaged model is not scored without the data")
    position, what = state.read_state(paths[-1])[0], described(paths)
    weights = state.average(paths)
    if shares:
        others = [(weights_of(run_dir, name, log), share) for name, share in shares.items()]
        weights = mixed(weights, others)
        parts = (f"{share:.0%} of {model_name(name)}" for name, share in shares.items())
        what = f"{what} with {' and '.join(parts)}"
    with join() as processes:
        network = build_network(config.model).to(processes.device)
        load_weights(network, weights, run_dir.checkpoints)
        inputs = read_inputs(run_dir)
        publish(
            run_dir,
            config,
            inputs,
            data,
            network,
            what,
            position,
            processes,
            out,
            None,
            dtype,
            text,
        )
    log(f"{out}: {what}; {count_parameters(network):,} parameters")


def _read(note: Path) -> str:
    try:
        return "\n" + note.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"{note} cannot be read: {error}") from None


def _check_replaceable(out: Path) -> None:
    if out.is_file():
        raise ModelError(f"{out} is a file, not a directory: name another place with --output")
    require_writable(out)
    model = (out / "config.json").exists() and (out / "model.safetensors").exists()
    if out.exists() and not model and any(out.iterdir()):
        raise ModelError(
            f"{out} is not empty and not a model directory: name another with --output"
        )
