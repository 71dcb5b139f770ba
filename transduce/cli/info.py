"""`transduce info`: a description of a model directory or a run."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from transduce.cli.options import NewFile, as_json, log

if TYPE_CHECKING:
    from transduce.directory import Description


@click.command("info", short_help="Describe a model directory or a run.")
@click.argument("name", metavar="[MODEL]", required=False)
@click.option(
    "--output",
    type=NewFile(),
    help="Plot the learning curve of a run to a .svg, .png or .pdf file.",
)
@as_json
def info_command(name: str | None, output: Path | None, as_json: bool) -> None:
    """Describe MODEL: languages, sizes, settings, checksums [default: the bundled model en-de].

    If it is the directory of a run, print how its training is doing: data,
    progress, scores, checkpoints and the learning curve.
    """
    from transduce.errors import UserError
    from transduce.model_names import model_path
    from transduce.train.run import is_run

    if name is not None and is_run(Path(name)):
        _print_run(Path(name), output, as_json)
        return
    path = model_path(name, log=log)
    if output is not None:
        raise UserError(f"{path} is not a run: only a run has a learning curve")
    _print_model(path, as_json)


def _print_run(directory: Path, output: Path | None, as_json: bool) -> None:
    import json
    from dataclasses import asdict

    from transduce import history
    from transduce.errors import UserError
    from transduce.figures.series import curves_of
    from transduce.train.run import Run, read_metrics

    run = Run(directory)
    curves = curves_of(read_metrics(run.metrics))
    if output is not None:
        from transduce.figures.curve import draw_curves

        if curves.last_step == 0:
            raise UserError(f"{directory} has no learning curve yet: its training has not begun")
        draw_curves(curves, directory.resolve().name, output)
        click.echo(f"{output}: written", err=True)
    known = history.read_history(run)
    if as_json:
        facts = {**asdict(known), "curves": asdict(curves)}
        click.echo(json.dumps(facts, indent=2, default=str))
        return
    click.echo(history.render(known))
    if curves.last_step:
        from transduce.figures.terminal import plots

        click.echo("\n" + plots(curves))


def _task(description: "Description") -> str:
    languages = description.source_language, description.target_language
    return description.task + (f" {languages[0]} → {languages[1]}" if all(languages) else "")


def _print_model(directory: Path, as_json: bool) -> None:
    import json

    from transduce.directory import ModelDirectory
    from transduce.engines.router import how_it_runs
    from transduce.table import paragraph, render_table
    from transduce.tokenizer import has_tokenizer

    model = ModelDirectory.open(directory)
    files = {f.name: f.stat().st_size for f in sorted(directory.iterdir()) if f.is_file()}
    described = model.description.to_json()
    settings = described.pop("model")
    facts = {
        **described,
        "parameters": model.parameters,
        "bytes": sum(files.values()),
        "runs": how_it_runs(model),
        "model": settings,
        "checksums": model.checksums,
    }
    if as_json:
        click.echo(json.dumps(facts, indent=2))
        return
    sizes = [
        (name, f"{size:,}", "ok" if name in model.checksums else "") for name, size in files.items()
    ]
    title = f"{directory}: {_task(model.description)}, {model.parameters:,} parameters"
    click.echo(render_table(paragraph(title), ("file", "bytes", "checksum"), "<><", sizes) + "\n")
    if model.description.weights:
        click.echo(paragraph(f"Weights: {model.description.weights}", rest="  ") + "\n")
    if codes := getattr(model.tokenizer, "languages", ()) if has_tokenizer(directory) else ():
        text = f"Begin each source with the code of the target language: {' '.join(codes)}"
        click.echo(paragraph(text, rest="  ") + "\n")
    for name, value in settings.items():
        click.echo(f"  {name} = {value}")
    runs = ", ".join(f"{name} {value}" for name, value in how_it_runs(model).items())
    click.echo("\n" + paragraph(f"On this machine: {runs}", rest="  "))
