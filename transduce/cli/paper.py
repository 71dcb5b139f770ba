"""`transduce paper`: the paper's tables and figures."""

from pathlib import Path

import click

from transduce.cli import options


@click.group("paper")
def paper_command() -> None:
    """Regenerate the paper's tables and figures."""


@paper_command.command("params")
@options.as_json
def params(as_json: bool) -> None:
    """Parameter counts of Table 3, the paper's and ours."""
    from transduce.paper import parameters

    rows = parameters.count_table_3()
    click.echo(parameters.to_json(rows) if as_json else parameters.render(rows))


@paper_command.command("table4")
@click.option(
    "--results",
    type=options.PATH,
    default="results",
    show_default=True,
    help="Folder of records that transduce parse --record wrote.",
)
@options.as_json
def table4(results: Path, as_json: bool) -> None:
    """Constituency parsing: the F1 of Table 4 and of recorded results."""
    from transduce.paper.table4 import PAPER, read_rows, render, to_json

    rows = read_rows(results)
    click.echo(to_json([*PAPER, *rows]) if as_json else render(rows))


@paper_command.command("figure1")
@click.option("--output", required=True, type=options.NewFile(), help=".svg .png .pdf")
@options.settings()
def figure1(output: Path, preset: str, config: Path | None, overrides: tuple[str, ...]) -> None:
    """Draw Figure 1 for any configuration, from its torch modules."""
    from transduce.config import resolve
    from transduce.figures.architecture import draw_figure1

    draw_figure1(resolve(preset, config, overrides).model, output)
    click.echo(f"{output}: written", err=True)
