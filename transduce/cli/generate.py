"""`transduce generate`: text from a language model."""

import click

from transduce.cli import options


@click.command("generate", short_help="Continue a text with a language model.")
@click.argument("prompt", required=False, default="")
@click.option(
    "--model", required=True, metavar="MODEL", help="Directory of a language model or of its run."
)
@click.option(
    "--tokens", type=options.at_least_one, default=500, show_default=True, help="Tokens to write."
)
@options.sampling
@click.option("--n", type=options.at_least_one, default=1, show_default=True, help="How many.")
@options.engine_and_device
@options.as_json
def generate_command(
    prompt: str,
    model: str,
    tokens: int,
    temperature: float,
    top_k: int | None,
    top_p: float,
    seed: int,
    n: int,
    engine: str,
    device: str,
    as_json: bool,
) -> None:
    """Continue PROMPT with a language model, which `transduce train --task lm` trains.

    The text is printed as it is written. Text number i of --n is that of --seed plus i, and the
    same seed writes the same text with the same engine. A model of lines ends at the end of a line.
    """
    import json

    from transduce.generate import TextGenerator
    from transduce.search import Sampling

    generator = TextGenerator.load(model, engine=engine, device=device, log=options.log)
    sampling = Sampling(temperature, top_k, top_p)
    for number in range(n):
        parts = generator.stream(prompt, tokens, sampling, seed + number)
        if as_json:
            text = prompt + "".join(parts)
            click.echo(json.dumps({"text": text, "seed": seed + number}, ensure_ascii=False))
            continue
        click.echo(prompt, nl=False)
        for part in parts:
            click.echo(part, nl=False)
        click.echo("\n" if number + 1 < n else "")
