"""`transduce bench bleu`: how soon training reaches a BLEU, beside a peer."""

import json
import signal
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from transduce.cli.options import ManyFiles, as_json

if TYPE_CHECKING:
    from transduce.bench.bleu_report import Report
    from transduce.figures.minutes import Timed

path = click.Path(path_type=Path)
at_least_one = click.IntRange(min=1)


@click.command("bleu", cls=ManyFiles)
@click.option("--against", default="huggingface", show_default=True, metavar="PEER")
@click.option(
    "--train",
    type=path,
    multiple=True,
    required=True,
    metavar="SRC TGT",
    help="Training text.",
)
@click.option(
    "--valid", type=path, multiple=True, required=True, metavar="SRC TGT", help="Validation text."
)
@click.option("--preset", default="tiny", show_default=True, help="Start from this preset.")
@click.option("--config", type=path, help="A TOML file of settings that differ.")
@click.option("--set", "overrides", multiple=True, metavar="SECTION.KEY=VALUE", help="One setting.")
@click.option("--epochs", type=at_least_one, help="[default: as many steps as train.steps]")
@click.option(
    "--every", type=at_least_one, default=250, show_default=True, help="Steps between validations."
)
@click.option(
    "--output",
    type=path,
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
    """Minutes of training to a BLEU, beside Hugging Face's MarianMTModel.

    Both begin with the same weights and see the same batches, one after the other. Leaves
    time-to-bleu.json and time-to-bleu.png in the output directory. The same command again
    continues: a system that had finished is not trained again, one that had not begins anew.
    """
    from transduce import atomic
    from transduce.bench.bleu import Race, bench_bleu
    from transduce.config import resolve
    from transduce.evaluate.record import commit, fingerprint
    from transduce.exchange.huggingface import read_huggingface, write_huggingface
    from transduce.figures.minutes import draw_minutes
    from transduce.tasks import TRANSLATION

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends the systems as Ctrl-C does
    settings = resolve(preset, config, overrides)
    race = Race(
        settings, TRANSLATION.text_of(train), TRANSLATION.text_of(valid), epochs, every, against
    )
    report = bench_bleu(output, race, write_huggingface, read_huggingface, _log)
    title = title or report.data
    files = {"train": [fingerprint(f) for f in train], "valid": [fingerprint(f) for f in valid]}
    facts = {"title": title, **asdict(report), "files": files, "commit": commit()}
    text = json.dumps(facts, indent=2, ensure_ascii=False)
    with atomic.file(output / "time-to-bleu.json") as aside:
        aside.write_text(f"{text}\n", "utf-8")
    ours, peer = _timed(report)
    mark = report.reached.minutes
    draw_minutes(ours, peer, mark, f"time to BLEU: {title}", output / "time-to-bleu.png")
    click.echo(text if as_json else report.render())


def _timed(report: "Report") -> list["Timed"]:
    from transduce.bench.peers import NAMES
    from transduce.figures.minutes import Timed

    return [
        Timed(NAMES[name], tuple(p.minutes for p in points), tuple(p.bleu for p in points))
        for name, points in report.systems.items()
    ]


def _log(message: str) -> None:
    click.echo(message, err=True)
