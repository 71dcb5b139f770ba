"""`transduce explain`: equation 1, number by number."""

from pathlib import Path

import click

from transduce.cli.options import PATH, as_json, at_least_one


@click.command("explain", short_help="Work equation 1 out on a sentence, number by number.")
@click.argument("text")
@click.option("--layer", type=at_least_one, default=1, show_default=True)
@click.option("--head", type=at_least_one, default=1, show_default=True)
@click.option(
    "--kind",
    type=click.Choice(["encoder", "decoder", "cross"]),
    default="encoder",
    show_default=True,
    help="Self-attention of either stack, or the decoder's over the encoder's output.",
)
@click.option("--target", help="The translation that the decoder reads (decoder and cross).")
@click.option("--from", "word", help="The word whose row is worked out by hand.")
@click.option("--model", type=PATH, help="Model directory [the bundled one].")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    help="Not a trained model but a tiny one of random weights: every number fits the page.",
)
@as_json
def explain_command(
    text: str,
    layer: int,
    head: int,
    kind: str,
    target: str | None,
    word: str | None,
    model: Path | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Work attention out on TEXT: Q, K, QKᵀ/√d_k, mask, softmax and weighted V, step by step.

    The decoder reads the model's own translation, unless --target gives another.
    """
    from transduce import explain
    from transduce.errors import InputError
    from transduce.translate.translator import place_of

    if model and seed is not None:
        raise InputError("--seed makes a model of its own: leave out --model, or --seed")
    if seed is None:
        example = explain.of_model(place_of(model), text, target)
    else:
        example = explain.example(text, target, seed)
    worked = explain.work_out(example, kind, layer, head)
    click.echo(explain.to_json(worked) if as_json else explain.render(worked, word))
