"""`transduce bench`: speed, beside peers in the same run."""

from pathlib import Path

import click

from transduce.cli.options import ManyFiles, as_json

at_least_one = click.IntRange(min=1)


@click.group("bench")
def bench_command() -> None:
    """Measure speed beside peers, as ratios within one run."""


@bench_command.command("model")
@click.option("--shape", "shapes", multiple=True, default=("tiny", "base"), show_default=True)
@click.option("--batch", default=32, show_default=True, help="Sentences in a batch.")
@click.option("--length", default=24, show_default=True, help="Tokens of a sentence.")
@click.option("--repeat", default=7, show_default=True, help="Passes; the median counts.")
@as_json
def model(shapes: tuple[str, ...], batch: int, length: int, repeat: int, as_json: bool) -> None:
    """Forward and forward + backward of the network beside torch.nn.Transformer."""
    from transduce.bench.model import bench_model, render, to_json

    results = bench_model(shapes, batch, length, repeat)
    click.echo(to_json(results) if as_json else render(results))


@bench_command.command("train", cls=ManyFiles)
@click.option("--against", default="torch,huggingface", show_default=True, metavar="PEER,…")
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    type=click.Choice(["tiny", "small", "base", "big"]),
    default=("tiny", "base"),
    show_default=True,
    help="A preset; may be given several times.",
)
@click.option("--steps", type=at_least_one, default=30, show_default=True, help="Timed, of each.")
@click.option(
    "--tokens", type=at_least_one, default=4096, show_default=True, help="A batch's, each side."
)
@click.option(
    "--train",
    "files",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="SRC TGT",
    help="Text to train on [default: Multi30k in $TRANSDUCE_DATA, or the built-in corpus].",
)
@click.option("--output", type=click.Path(path_type=Path), help="Also write JSON to this file.")
@as_json
def train(
    against: str,
    shapes: tuple[str, ...],
    steps: int,
    tokens: int,
    files: tuple[Path, ...],
    output: Path | None,
    as_json: bool,
) -> None:
    """Whole training steps beside torch.nn.Transformer and Hugging Face's MarianMTModel.

    All begin with the same weights and see the same batches; they take turns, each in its own
    process. Prints tokens per second, memory, GFLOP/s, the share of the machine's matrix-multiply
    peak, and the loss after the same number of steps.
    """
    from transduce import atomic
    from transduce.bench.train import bench_train, render, to_json
    from transduce.exchange.huggingface import write_huggingface

    peers = [peer for peer in against.split(",") if peer]
    report = bench_train(
        shapes, peers, steps, tokens, files, write_huggingface, lambda m: click.echo(m, err=True)
    )
    if output:
        with atomic.file(output) as aside:
            aside.write_text(to_json(report) + "\n", "utf-8")
    click.echo(to_json(report) if as_json else render(report))
