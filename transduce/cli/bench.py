"""`transduce bench`: benchmarks against other libraries."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from transduce.cli import options
from transduce.cli.options import PATH, Command, as_json, at_least_one

if TYPE_CHECKING:
    from transduce.bench.report import Report

DEFAULT_TEXT = "[default: Multi30k in $TRANSDUCE_DATA, or the built-in corpus]"

output_file = click.option("--output", type=options.NewFile(), help="Also write JSON to this file.")


def against(default: str) -> Callable[[Command], Command]:
    """--against: a list of peers."""
    return click.option(
        "--against",
        "peers",
        default=default,
        show_default=True,
        metavar="PEER,…",
        callback=lambda _context, _option, names: [name for name in names.split(",") if name],
    )


@click.group("bench")
def bench_command() -> None:
    """Benchmarks against other libraries, as ratios within one run."""


@bench_command.command("model")
@click.option("--shape", "shapes", multiple=True, default=("tiny", "base"), show_default=True)
@click.option(
    "--batch", type=options.batch_size, default=32, show_default=True, help="Sentences in a batch."
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
    """Compare forward and backward passes with torch.nn.Transformer."""
    from transduce.bench.model import bench_model

    _print(bench_model(shapes, batch, length, repeat), None, as_json)


@bench_command.command("train", cls=options.ManyFiles)
@against("torch,huggingface")
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
@options.text_files("--train", f"Text to train on {DEFAULT_TEXT}.")
@output_file
@as_json
def train(
    peers: list[str],
    shapes: tuple[str, ...],
    steps: int,
    tokens: int,
    train: tuple[Path, ...],
    output: Path | None,
    as_json: bool,
) -> None:
    """Compare training steps with torch.nn.Transformer and Hugging Face's MarianMTModel.

    All begin with the same weights and see the same batches; they take turns, each in its own
    process. Prints tokens per second, memory, GFLOP/s, the share of the machine's matrix-multiply
    peak, and the loss after the same number of steps.
    """
    from transduce.bench.train import bench_train
    from transduce.exchange.huggingface import write_huggingface

    report = bench_train(shapes, peers, steps, tokens, train, write_huggingface, options.log)
    _print(report, output, as_json)


@bench_command.command("translate")
@click.option(
    "--model",
    "models",
    metavar="MODEL",
    multiple=True,
    required=True,
    help=f"{options.MODEL}; may be given several times.",
)
@against("huggingface,ctranslate2")
@click.option("--input", "source", type=PATH, help=f"Lines to translate {DEFAULT_TEXT}.")
@click.option("--ref", type=PATH, help="Their references, for BLEU.")
@click.option("--lines", type=at_least_one, default=1000, show_default=True, help="The first ones.")
@click.option("--beam", type=options.beam_width, default=4, show_default=True)
@click.option("--batch-size", type=options.batch_size, default=64, show_default=True)
@click.option("--rounds", type=at_least_one, default=3, show_default=True, help="Prints medians.")
@click.option(
    "--latency", type=at_least_one, default=50, show_default=True, help="Lines to time alone."
)
@output_file
@as_json
def translate(
    models: tuple[str, ...],
    peers: list[str],
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
    """Compare translation speed with Hugging Face's MarianMTModel and CTranslate2.

    All translate the same lines with the same weights; they take turns, each in its own process.
    Prints lines and tokens per second, the ratios, the latency of a line alone, memory, and BLEU.
    """
    from transduce.bench.text import find_sentences
    from transduce.bench.translate import bench_translate, check_systems
    from transduce.exchange.huggingface import write_huggingface
    from transduce.model_names import model_path

    paths = [model_path(model, log=options.log) for model in models]
    check_systems(paths, peers)
    report = bench_translate(
        paths,
        peers,
        find_sentences(source, ref, lines),
        beam,
        batch_size,
        rounds,
        latency,
        write_huggingface,
        options.log,
    )
    _print(report, output, as_json)


@bench_command.command("bleu", cls=options.ManyFiles)
@click.option("--against", default="huggingface", show_default=True, metavar="PEER")
@options.text_files("--train", "Training text.", required=True)
@options.text_files("--valid", "Validation text.", required=True)
@options.settings("tiny")
@click.option("--epochs", type=at_least_one, help="[default: as many steps as train.steps]")
@click.option(
    "--every", type=at_least_one, default=250, show_default=True, help="Steps between validations."
)
@click.option(
    "--output",
    type=PATH,
    default="time-to-bleu",
    show_default=True,
    help="Directory of the results.",
)
@click.option("--title", help="Title of the picture [the names of the files].")
@as_json
def bleu(
    against: str,
    train: tuple[Path, ...],
    valid: tuple[Path, ...],
    preset: str,
    config: Path | None,
    overrides: tuple[str, ...],
    epochs: int | None,
    every: int,
    output: Path,
    title: str | None,
    as_json: bool,
) -> None:
    """Compare the training time to a BLEU score with Hugging Face's MarianMTModel.

    Both begin with the same weights and see the same batches, one after the other. Leaves
    time-to-bleu.json and time-to-bleu.png in the output directory. The same command again
    continues: a system that had finished is not trained again, one that had not begins anew.
    """
    import json
    import signal
    from dataclasses import asdict

    from transduce import atomic
    from transduce.bench.bleu import Race, bench_bleu
    from transduce.bench.peers import NAMES
    from transduce.config import resolve
    from transduce.evaluate.record import commit, fingerprint
    from transduce.exchange.huggingface import read_huggingface, write_huggingface
    from transduce.figures.minutes import draw_minutes
    from transduce.tasks import TRANSLATION

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends the systems as Ctrl-C does
    settings = resolve(preset, config, overrides)
    text_of = TRANSLATION.text_of
    race = Race(settings, text_of(train), text_of(valid), epochs, every, against)
    report = bench_bleu(output, race, write_huggingface, read_huggingface, options.log)
    title = title or report.data
    files = {"train": [fingerprint(f) for f in train], "valid": [fingerprint(f) for f in valid]}
    facts = {"title": title, **asdict(report), "files": files, "commit": commit()}
    text = json.dumps(facts, indent=2, ensure_ascii=False)
    with atomic.file(output / "time-to-bleu.json") as aside:
        aside.write_text(f"{text}\n", "utf-8")
    curves = {
        NAMES[name]: [(point.minutes, point.bleu) for point in points]
        for name, points in report.systems.items()
    }
    mark, picture = report.reached.minutes, output / "time-to-bleu.png"
    draw_minutes(curves, mark, f"time to BLEU: {title}", picture)
    click.echo(text if as_json else report.render())


@bench_command.command("serve")
@options.model_option
@against("plain")
@click.option("--input", "source", type=PATH, help=f"Sentences to translate {DEFAULT_TEXT}.")
@click.option(
    "--clients",
    type=at_least_one,
    multiple=True,
    default=(1, 4, 16, 32),
    show_default=True,
    help="Clients at the same time; may be given several times.",
)
@click.option(
    "--seconds", type=options.Number(0.1, 3600), default=5.0, show_default=True, help="Of each row."
)
@click.option(
    "--soak",
    type=options.Number(0, 10_000),
    default=0.0,
    metavar="MINUTES",
    help="At half load, after the rest: memory, and requests that are lost.",
)
@click.option("--libretranslate", metavar="COMMAND", help="Of that peer, if it is not on the PATH.")
@click.option("--picture", type=options.NewFile(), help="Draw latency against load: .png, .svg.")
@output_file
@as_json
def serve(
    model: str | None,
    peers: list[str],
    source: Path | None,
    clients: tuple[int, ...],
    seconds: float,
    soak: float,
    libretranslate: str | None,
    picture: Path | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Compare `transduce serve` with other servers: throughput, latency, overload, lists.

    PEER is plain (a thread and a call of CTranslate2 for each request) or libretranslate. The
    servers take turns, with the same model and cores; the clients run on the same machine.
    """
    from transduce.bench.serve import bench_serve
    from transduce.bench.text import find_sentences
    from transduce.model_names import model_path

    text = find_sentences(source, None, 2000)
    path, counts = model_path(model), sorted(clients)
    report = bench_serve(path, peers, text, counts, seconds, options.log, soak, libretranslate)
    if picture:
        from transduce.figures.latency import draw_latency

        draw_latency(report.curves(), "latency of transduce serve against load", picture)
    _print(report, output, as_json)


def _print(report: "Report", output: Path | None, as_json: bool) -> None:
    from transduce import atomic

    if output:
        with atomic.file(output) as aside:
            aside.write_text(report.to_json() + "\n", "utf-8")
    click.echo(report.to_json() if as_json else report.render())
