"""`transduce bench`: speed, beside peers in the same run."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from transduce.cli.bench_bleu import bleu
from transduce.cli.options import ManyFiles, NewFile, as_json, batch_size, beam_width

if TYPE_CHECKING:
    from transduce.bench.report import Report

at_least_one = click.IntRange(min=1)
output_file = click.option("--output", type=NewFile(), help="Also write JSON to this file.")


@click.group("bench")
def bench_command() -> None:
    """Measure speed beside peers, as ratios within one run."""


bench_command.add_command(bleu)


@bench_command.command("model")
@click.option("--shape", "shapes", multiple=True, default=("tiny", "base"), show_default=True)
@click.option(
    "--batch", type=batch_size, default=32, show_default=True, help="Sentences in a batch."
)
@click.option(
    "--length",
    type=click.IntRange(1, 4096),
    default=24,
    show_default=True,
    help="Tokens of a sentence.",
)
@click.option(
    "--repeat", type=at_least_one, default=7, show_default=True, help="Of each; prints medians."
)
@as_json
def model(shapes: tuple[str, ...], batch: int, length: int, repeat: int, as_json: bool) -> None:
    """Forward and forward + backward of the network beside torch.nn.Transformer."""
    from transduce.bench.model import bench_model

    _print(bench_model(shapes, batch, length, repeat), None, as_json)


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
@output_file
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
    from transduce.bench.train import bench_train
    from transduce.exchange.huggingface import write_huggingface

    peers = [peer for peer in against.split(",") if peer]
    report = bench_train(shapes, peers, steps, tokens, files, write_huggingface, _log)
    _print(report, output, as_json)


@bench_command.command("translate")
@click.option(
    "--model",
    "models",
    type=click.Path(path_type=Path),
    multiple=True,
    required=True,
    help="Model directory; may be given several times.",
)
@click.option("--against", default="huggingface,ctranslate2", show_default=True, metavar="PEER,…")
@click.option(
    "--input",
    "source",
    type=click.Path(path_type=Path),
    help="Lines to translate [default: Multi30k in $TRANSDUCE_DATA, or the built-in corpus].",
)
@click.option("--ref", type=click.Path(path_type=Path), help="Their references, for BLEU.")
@click.option("--lines", type=at_least_one, default=1000, show_default=True, help="The first ones.")
@click.option("--beam", type=beam_width, default=4, show_default=True)
@click.option("--batch-size", type=batch_size, default=64, show_default=True)
@click.option("--rounds", type=at_least_one, default=3, show_default=True, help="Prints medians.")
@click.option(
    "--latency", type=at_least_one, default=50, show_default=True, help="Lines to time alone."
)
@output_file
@as_json
def translate(
    models: tuple[Path, ...],
    against: str,
    source: Path | None,
    ref: Path | None,
    lines: int,
    beam: int,
    batch_size: int,
    rounds: int,
    latency: int,
    output: Path | None,
    as_json: bool,
) -> None:
    """Text to text beside Hugging Face's MarianMTModel and CTranslate2.

    All translate the same lines with the same weights; they take turns, each in its own process.
    Prints lines and tokens per second, the ratios, the latency of a line alone, memory, and BLEU.
    """
    from transduce.bench.text import find_sentences
    from transduce.bench.translate import bench_translate
    from transduce.exchange.huggingface import write_huggingface

    report = bench_translate(
        models,
        [peer for peer in against.split(",") if peer],
        find_sentences(source, ref, lines),
        beam,
        batch_size,
        rounds,
        latency,
        write_huggingface,
        _log,
    )
    _print(report, output, as_json)


def _print(report: "Report", output: Path | None, as_json: bool) -> None:
    from transduce import atomic

    if output:
        with atomic.file(output) as aside:
            aside.write_text(report.to_json() + "\n", "utf-8")
    click.echo(report.to_json() if as_json else report.render())


def _log(message: str) -> None:
    click.echo(message, err=True)
