"""`transduce explain`: equation 1, step by step."""

import click

from transduce.cli.options import as_json, at_least_one, log, model_option


@click.command("explain", short_help="Compute equation 1 step by step on a sentence.")
@click.argument("text")
@click.option("--layer", type=at_least_one, default=1, show_default=True)
@click.option("--head", type=at_least_one, default=1, show_default=True)
@click.option(
    "--kind",
    type=click.Choice(["encoder", "decoder", "cross"]),
    default="encoder",
    show_default=True,
    help="Self-attention of the encoder or the decoder, or cross-attention.",
)
@click.option("--target", help="The decoder's input (for decoder and cross).")
@click.option(
    "--from",
    "word",
    help="The query token or word whose row is computed in detail [default: the last].",
)
@model_option
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    help="Use a tiny model with random weights instead, whose numbers all fit the page.",
)
@as_json
def explain_command(
    text: str,
    layer: int,
    head: int,
    kind: str,
    target: str | None,
    word: str | None,
    model: str | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Compute attention on TEXT step by step: Q, K, QKᵀ/√d_k, mask, softmax, weighted V.

    The decoder reads the model's own translation, unless --target gives another. Its row of a word
    is what it computes after reading the word, to predict the next one.
    """
    from transduce import explain
    from transduce.errors import InputError
    from transduce.model_names import model_path

    if model and seed is not None:
        raise InputError("--seed creates a random model: leave out --model or --seed")
    if seed is None:
        example = explain.of_model(model_path(model, log=log), text, target)
    else:
        example = explain.example(text, target, seed)
    worked = explain.work_out(example, kind, layer, head)
    click.echo(explain.to_json(worked) if as_json else explain.render(worked, word))
