"""`transduce explain`: equation 1, step by step."""

import click

from transduce.cli.options import as_json, at_least_one, log, model_option


@click.command("explain", short_help="Compute equation 1 step by step on a sentence.")
@click.argument("text")
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="Follow one token through the whole network, to the next token's probabilities.",
)
@click.option("--layer", type=at_least_one, help="[default: 1]")
@click.option("--head", type=at_least_one, help="[default: 1]")
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
    help="The query token or word that is computed in detail [default: the last; the first of "
    "the source with --all].",
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
    everything: bool,
    layer: int | None,
    head: int | None,
    kind: str,
    target: str | None,
    word: str | None,
    model: str | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Compute attention on TEXT step by step: Q, K, QKᵀ/√d_k, mask, softmax, weighted V.

    The decoder reads the model's own translation, unless --target gives another. Its row of a word
    is what it computes after reading the word, to predict the next one. --all follows a token of
    --kind, and on the other side the one with most attention between the two. Seconds.
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
    if everything:
        if layer or head:
            raise InputError("--all shows every layer: leave out --all, or --layer and --head")
        tokens = example.source if kind == "encoder" else example.target
        row = explain.span_of(tokens, word)[-1] if word else 0
        traced = explain.trace(example, *explain.partners(example, kind, row))
        click.echo(explain.trace_to_json(traced) if as_json else explain.render_trace(traced))
        return
    worked = explain.work_out(example, kind, layer or 1, head or 1)
    click.echo(explain.to_json(worked) if as_json else explain.render(worked, word))
