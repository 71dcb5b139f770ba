"""`transduce paper`: the paper's tables and figures."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from transduce.cli import attend, options

if TYPE_CHECKING:
    from transduce.paper.experiments import Experiment, Row
    from transduce.train.inputs import Inputs
    from transduce.train.run import Run


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
@click.option("--output", type=options.NewFile(), help="Also a picture: .svg .png .pdf")
@options.as_json
def table4(results: Path, output: Path | None, as_json: bool) -> None:
    """Table 4: F1 of constituency parsers, the paper's and of recorded results."""
    from transduce.paper.table4 import PAPER, grouped, read_rows, render, to_json

    rows = read_rows(results)
    click.echo(to_json([*PAPER, *rows]) if as_json else render(rows))
    if output:
        from transduce.figures.tables import draw_parsers

        draw_parsers(
            {f"{row.parser}, {row.training}": row.f1 for row in PAPER},
            {f"{row.test}: {row.parser}, beam {row.beam}": row.f1 for *_, row in grouped(rows)},
            output,
        )
        options.log(f"{output}: written")


@paper_command.command("figure1")
@click.option("--output", required=True, type=options.NewFile(), help=".svg .png .pdf")
@options.settings()
def figure1(output: Path, preset: str, config: Path | None, overrides: tuple[str, ...]) -> None:
    """Draw Figure 1 for any configuration, from its torch modules (5 s)."""
    from transduce.config import resolve
    from transduce.figures.architecture import draw_figure1

    draw_figure1(resolve(preset, config, overrides).model, output)
    click.echo(f"{output}: written", err=True)


@paper_command.command("figure2")
@click.option("--output", required=True, type=options.NewFile(), help=".svg .png .pdf")
@options.settings()
def figure2(output: Path, preset: str, config: Path | None, overrides: tuple[str, ...]) -> None:
    """Draw Figure 2, the two diagrams of attention, with the shapes of a configuration (5 s)."""
    from transduce.config import resolve
    from transduce.figures.multi_head import draw_figure2

    draw_figure2(resolve(preset, config, overrides).model, output)
    options.log(f"{output}: written")


for number in attend.FIGURES:
    paper_command.add_command(attend.figure_command(number))


@paper_command.command("table1")
@click.option("--quick", is_flag=True, help="Smaller layers, in less than a minute.")
@click.option("--output", type=options.NewFile(), help="Also a picture: .svg .png .pdf")
@options.as_json
def table1(quick: bool, output: Path | None, as_json: bool) -> None:
    """Table 1: the four kinds of layers, built and measured beside the paper's O(·)."""
    import json
    from dataclasses import asdict

    from transduce.paper import table1

    sizes = table1.QUICK if quick else table1.FULL
    found = table1.measure(sizes)
    if as_json:
        click.echo(json.dumps([asdict(one) for one in found], indent=2))
    else:
        click.echo(table1.render(found, sizes))
    if output:
        from transduce.figures.tables import draw_layers

        panels: dict[str, dict[str, Any]] = {
            "operations": {one.name: one.operations for one in found},
            "seconds": {one.name: one.seconds for one in found},
            "path length": {one.name: one.paths for one in found},
        }
        draw_layers(panels, output)
        options.log(f"{output}: written")


@paper_command.command("why")
@click.argument("what", required=False)
@click.option("--quick", is_flag=True, help="Smaller experiments, in seconds.")
@click.option("--seed", type=click.IntRange(0, 2**31), default=1, show_default=True)
@click.option("--output", type=options.NewFile(), help="Also a picture: .svg .png .pdf")
@options.as_json
def why(what: str | None, quick: bool, seed: int, output: Path | None, as_json: bool) -> None:
    """Small experiments that answer what readers of the paper ask.

    WHAT is scaling or embedding (5 s), heads or masks (20 s), or norm, warmup, positions or
    smoothing (1 min), each on one core. Without WHAT: the list of questions.
    """
    from transduce.paper import why

    if what is None:
        click.echo(why.render_questions())
        return
    found = why.answer(what, quick, seed, options.log)
    click.echo(why.to_json(what, found) if as_json else why.render(what, found))
    if output:
        from transduce.figures.charts import draw_charts

        draw_charts(why.QUESTIONS[what].text, found.charts, output)
        options.log(f"{output}: written")


def tables(steps: str) -> Callable[[options.Command], options.Command]:
    """What Table 2 and Table 3 share: the results, and how they are computed anew."""
    return lambda command: options.add(
        command,
        [
            click.option(
                "--results",
                type=options.PATH,
                default=Path("results"),
                show_default=True,
                help="Directory of results; they are printed, and --run adds to them.",
            ),
            click.option("--run", is_flag=True, help="Train the rows without a result."),
            click.option(
                "--quick", is_flag=True, help="Train a few rows on the built-in corpus, in minutes."
            ),
            click.option("--steps", type=options.at_least_one, help=f"Steps of each row {steps}."),
            click.option(
                "--runs", type=options.PATH, help="Directory of the runs [default: runs/NAME]."
            ),
            options.text_files("--train", "Training data of --run, as for `transduce train`."),
            options.text_files("--valid", "Validation data."),
            options.text_files("--test", "Test data [default: the validation data]."),
            click.option("--output", type=options.NewFile(), help="Also a picture: .svg .png .pdf"),
            options.as_json,
        ],
    )


@paper_command.command("table2", cls=options.ManyFiles)
@tables("[default: 3,000]; twice as many at most where training ends by validation")
def table2(**given: Any) -> None:
    """Table 2: BLEU and training cost, of the paper's models and of the networks trained here.

    With --run the Transformer, the recurrent and the convolutional network are trained, for as many
    target tokens and then until validation stops improving. Each row is one file in
    RESULTS/table2, written when the row is done; the same command resumes.
    """
    from transduce.evaluate.results import read_results
    from transduce.paper import table2

    rows = _rows("table2", table2.experiments(given["quick"], given["steps"]), **given)
    _show(rows, given["as_json"], lambda: table2.render(rows, read_results(given["results"])))
    if given["output"]:
        from transduce.figures.tables import draw_costs

        paper = {row.model: (row.flops[0], row.bleu[0]) for row in table2.PAPER}
        known = {name: (x, y) for name, (x, y) in paper.items() if x and y}
        draw_costs(known, table2.points(rows), given["output"])
        options.log(f"{given['output']}: written")


@paper_command.command("table3", cls=options.ManyFiles)
@tables("[default: 1,500]")
def table3(**given: Any) -> None:
    """Table 3: every variation of the base model, as the same change to the preset tiny.

    With --run they are trained one after the other. Each row is one file in RESULTS/table3, written
    when the row is done; the same command resumes.
    """
    from transduce.paper import table3

    rows = _rows("table3", table3.experiments(given["quick"], given["steps"]), **given)
    _show(rows, given["as_json"], lambda: table3.render(rows))
    if given["output"]:
        from transduce.figures.tables import draw_variations

        lines = table3.compared(rows)
        changes = [(li.variation.name, li.bleu_change, li.variation.bleu) for li in lines]
        draw_variations(changes, table3.noise_of(rows).bleu, table3.BASE_BLEU, given["output"])
        options.log(f"{given['output']}: written")


def _rows(
    name: str,
    experiments: "list[Experiment]",
    results: Path,
    run: bool,
    quick: bool,
    steps: int | None,
    runs: Path | None,
    train: tuple[Path, ...],
    valid: tuple[Path, ...],
    test: tuple[Path, ...],
    **_: Any,
) -> "list[Row]":
    """The results of a table, after training what is missing with --run or --quick."""
    import sys

    from transduce.corpus.reading import read_pairs
    from transduce.errors import InputError
    from transduce.evaluate.record import commit, fingerprint, training_data
    from transduce.paper.experiments import read_rows, run_all
    from transduce.tasks import TRANSLATION
    from transduce.train.inputs import builtin_inputs, given_inputs
    from transduce.train.processes import StopSignal

    if not (run or quick):
        if train or valid or test or runs or steps:
            raise InputError("--train, --valid, --test, --steps and --runs are for --run: add it")
        return read_rows(results / name, experiments)
    if run and (quick or not train):
        raise InputError("--run needs --train SRC TGT and --valid SRC TGT; --quick needs no files")
    pairs = None
    if test:
        text = TRANSLATION.text_of(list(test))
        tested = list(read_pairs(text.sources, text.targets))
        pairs = [pair.source for pair in tested], [pair.target for pair in tested]

    def inputs_of(one: "Run") -> "Inputs":
        return builtin_inputs(one) if quick else given_inputs(one, TRANSLATION, [train], valid)

    def facts(one: "Run") -> "Row":
        tested = [fingerprint(file) for file in test or valid]
        return {"data": {**training_data(one), "test": tested}, "commit": commit()}

    folder = runs or Path("runs") / (f"{name}-quick" if quick else name)
    written = folder / "results" if quick else results / name
    with StopSignal().handled() as stop:
        most = 100 if quick else 2000
        if not run_all(
            experiments, inputs_of, pairs, folder, written, stop, options.log, facts, most
        ):
            options.log("stopped and saved; the same command continues")
            sys.exit(128 + (stop.received or 2))
    return read_rows(written, experiments)


def _show(rows: "list[Row]", as_json: bool, render: Callable[[], str]) -> None:
    import json

    click.echo(json.dumps(rows, indent=2) if as_json else render())
