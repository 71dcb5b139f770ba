"""`transduce explain`: equation 1, number by number."""

import click

from transduce.cli.options import as_json


@click.command("explain", short_help="Work equation 1 out on a sentence, number by number.")
@click.argument("text")
@click.option("--layer", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--head", type=click.IntRange(min=1), default=1, show_default=True)
@click.option(
    "--kind",
    type=click.Choice(["encoder", "decoder", "cross"]),
    default="encoder",
    show_default=True,
    help="Self-attention of either stack, or the decoder's over the encoder's output.",
)
@click.option("--target", help="The translation that the decoder reads (decoder and cross).")
@click.option("--from", "word", help="The word whose row is worked out by hand.")
@click.option("--seed", default=0, show_default=True, help="Seed of the example model's weights.")
@as_json
def explain_command(
    text: str,
    layer: int,
    head: int,
    kind: str,
    target: str | None,
    word: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Work attention out on TEXT: Q, K, QKᵀ/√d_k, mask, softmax and weighted V, step by step.

    The model is a tiny one with seeded random weights, so that every number fits the page.
    """
    from transduce import explain

    example = explain.example(text, target, seed)
    worked = explain.work_out(example, kind, layer, head)
    click.echo(explain.to_json(worked) if as_json else explain.render(worked, word))
