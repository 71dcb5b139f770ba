"""`transduce bench`: speed, beside a peer in the same run."""

import click

from transduce.cli.options import as_json


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
    from transduce import bench

    results = bench.bench_model(shapes, batch, length, repeat)
    click.echo(bench.to_json(results) if as_json else bench.render(results))
