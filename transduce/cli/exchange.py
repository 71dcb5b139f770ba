"""`transduce import` and `transduce export`: models from and for other toolkits."""

from pathlib import Path

import click

from transduce.errors import ModelError


@click.command("import", short_help="Turn another toolkit's checkpoint into a model.")
@click.option("--from", "source", type=click.Choice(["huggingface"]), required=True)
@click.argument("directory", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
def import_command(source: str, directory: Path, out: Path) -> None:
    """Turn a Marian or OPUS-MT checkpoint into a transduce model.

    DIRECTORY is what Hugging Face's save_pretrained wrote; OUT becomes a model directory.
    """
    from transduce.checkpoint import save_model
    from transduce.exchange.huggingface import read_huggingface, tokenizer_files
    from transduce.model import count_parameters

    _refuse_occupied(out)
    model = read_huggingface(directory)
    card = f"# {out.name}\n\nImported from a Hugging Face Marian model, `{directory.name}`.\n"
    save_model(out, model, card=card, files=tokenizer_files(directory))
    click.echo(f"{out}: {count_parameters(model):,} parameters imported", err=True)


@click.command("export", short_help="Write a model in another toolkit's form, verified.")
@click.option("--to", "target", type=click.Choice(["huggingface"]), required=True)
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--model", type=click.Path(path_type=Path), required=True, help="Model directory.")
def export_command(target: str, out: Path, model: Path) -> None:
    """Write a model in another toolkit's form, compared with the original before it is kept."""
    from transduce.checkpoint import load_model
    from transduce.exchange.huggingface import (
        largest_difference,
        tokenizer_files,
        write_huggingface,
    )

    _refuse_occupied(out)
    loaded = load_model(model).model
    write_huggingface(loaded, out, tokenizer_files(model))
    difference = largest_difference(loaded, out)
    click.echo(f"{out}: exported; its logits differ by at most {difference:.1e}", err=True)


def _refuse_occupied(out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ModelError(f"{out} is not empty: name a directory that does not exist yet")
