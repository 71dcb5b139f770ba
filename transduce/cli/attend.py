"""`transduce attend`: attention weights as figures, and what every head does."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from transduce.cli import options
from transduce.errors import InputError

if TYPE_CHECKING:
    from transduce.attend.view import Kind

FIGURES = {
    3: "Long-distance dependencies: where the heads look from “making”. Ten seconds.",
    4: "Anaphora: the heads that look from “its” to what it refers to. Ten seconds.",
    5: "Sentence structure: two heads that follow clauses. Ten seconds.",
}
PICTURES = (".svg", ".png", ".pdf", ".html")


class Picture(options.NewFile):
    """A picture to write, in one of the formats of its name."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Path:
        file = super().convert(value, param, ctx)
        if file.suffix.lower() not in PICTURES:
            self.fail(f"{file.name} must end in .svg, .png, .pdf or .html", param, ctx)
        return file


@click.command("attend", short_help="Draw attention weights; measure what every head does.")
@click.argument("text", required=False)
@click.option(
    "--kind",
    type=click.Choice(["encoder", "decoder", "cross"]),
    help="Self-attention of the encoder or the decoder, or cross-attention "
    "[default: encoder, if the model has one].",
)
@click.option("--layer", type=options.at_least_one, help="[default: the last but one, as 5 of 6]")
@click.option(
    "--head", "heads", type=options.at_least_one, multiple=True, help="May be repeated [all]."
)
@click.option("--from", "word", help="Only the weights from this word.")
@click.option("--target", help="The translation to read [default: the model's own].")
@click.option(
    "--form",
    type=click.Choice(["lines", "matrix", "grid"]),
    default="lines",
    show_default=True,
    help="Lines between words, heat maps, or every layer and head as thumbnails.",
)
@click.option("--values", is_flag=True, help="Numbers in the heat maps.")
@click.option("--pieces", is_flag=True, help="Word pieces instead of words.")
@click.option(
    "--heads",
    "measured",
    is_flag=True,
    help="Measure what every head does, on the built-in sentences or those of --input; "
    "half a minute.",
)
@click.option("--input", "source", type=options.PATH, help="With --heads: a file of sentences.")
@click.option(
    "--figure",
    type=click.Choice(["3", "4", "5"]),
    help="The paper's figure from this model; ten seconds.",
)
@click.option("--output", type=Picture(), help="Write a figure: .svg .png .pdf .html")
@options.model_option
@options.as_json
def attend_command(
    text: str | None,
    kind: "Kind | None",
    layer: int | None,
    heads: tuple[int, ...],
    word: str | None,
    target: str | None,
    form: str,
    values: bool,
    pieces: bool,
    measured: bool,
    source: Path | None,
    figure: str | None,
    output: Path | None,
    model: str | None,
    as_json: bool,
) -> None:
    """Show what the heads attend to in TEXT: a figure, or a table of the strongest links.

    Words are shown by default: the weights of word pieces are summed over keys and averaged over
    queries. In cross-attention the row of a word is the step that writes it. A figure takes about
    two seconds.
    """
    from transduce.attend.reader import Reader
    from transduce.attend.view import choose, render, to_json, view_of

    chosen = {"TEXT": text, "--target": target, "--from": word, "--layer": layer, "--head": heads}
    needless = next((name for name, value in chosen.items() if value), None)
    if figure:
        if needless or measured or as_json:
            other = needless or ("--heads" if measured else "--json")
            raise InputError(f"--figure {figure} is the paper's: leave out {other}")
        show_figure(int(figure), model, output)
        return
    if measured:
        if needless:
            raise InputError(f"--heads measures all heads on many sentences: leave out {needless}")
        _heads(model, source, output, as_json)
        return
    if source:
        raise InputError("--input is for --heads: give TEXT, or add --heads")
    if text is None:
        raise InputError("there is no sentence: give TEXT")
    if values and form != "matrix":
        raise InputError("--values are the numbers of heat maps: add --form matrix")
    found = Reader.load(model, options.log).attention(text, target)
    view = view_of(found, kind, pieces)
    choice = choose(view, layer, heads, word)
    if output is None:
        click.echo(to_json(view, choice) if as_json else render(view, choice))
        return
    if as_json:
        raise InputError("--json prints weights: leave out --output")
    if output.suffix.lower() == ".html":
        from transduce.figures.attention_page import draw_page

        draw_page(found, view, choice, form, output, values=values)
    else:
        from transduce.figures.attention import draw

        draw(form, view, choice, output, values=values, layers=[layer] if layer else [])
    options.log(f"{output}: written")


def _heads(model: str | None, source: Path | None, output: Path | None, as_json: bool) -> None:
    """The table, the JSON and the picture of every head."""
    from transduce.attend.heads import measure_heads
    from transduce.attend.reader import Reader, builtin_texts, read_texts
    from transduce.attend.report import render, to_json

    if output and output.suffix.lower() == ".html":
        raise InputError("--heads draws one picture: name an --output in .svg, .png or .pdf")
    texts = read_texts(source) if source else builtin_texts()
    report = measure_heads(Reader.load(model, options.log), texts, log=options.log)
    click.echo(to_json(report) if as_json else render(report))
    if output:
        from transduce.figures.head_roles import draw_heads

        draw_heads(report, output)
        options.log(f"{output}: written")


def show_figure(number: int, model: str | None, output: Path | None) -> None:
    """Prints what the paper's figure shows and what this model does, and draws it."""
    from transduce.attend.examples import paper_figure, render
    from transduce.attend.reader import Reader

    found = paper_figure(number, Reader.load(model, options.log))
    click.echo(render(found))
    if not output:
        return
    if output.suffix.lower() == ".html":
        from transduce.figures.attention_page import draw_page

        draw_page(found.attention, found.view, found.panels[-1][1], "lines", output)
    else:
        from transduce.figures.attention import draw_paper_figure

        draw_paper_figure(found, output)
    options.log(f"{output}: written")


def figure_command(number: int) -> click.Command:
    """`transduce paper figure3`, 4 and 5."""

    @click.command(f"figure{number}", help=FIGURES[number])
    @click.option("--output", type=Picture(), help="Also a picture: .svg .png .pdf .html")
    @options.model_option
    def command(output: Path | None, model: str | None) -> None:
        show_figure(number, model, output)

    return command
