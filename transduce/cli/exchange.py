"""`transduce import` and `transduce export`: conversion from and to other toolkits."""

from collections.abc import Callable
from pathlib import Path

import click

from transduce.cli.options import MODEL, PATH, log
from transduce.errors import ModelError


@click.command("import", short_help="Convert another toolkit's checkpoint to a model directory.")
@click.option("--from", "source", type=click.Choice(["huggingface"]), required=True)
@click.argument("directory", type=PATH)
@click.argument("out", type=PATH)
def import_command(source: str, directory: Path, out: Path) -> None:
    """Convert a Marian or OPUS-MT checkpoint to a transduce model.

    DIRECTORY is what Hugging Face's save_pretrained wrote; OUT becomes a model directory.
    """
    from transduce.directory import write_model
    from transduce.exchange.huggingface import read_huggingface, read_languages, read_tokenizer
    from transduce.model import count_parameters
    from transduce.tokenizer import has_tokenizer

    _require_empty(out)
    model = read_huggingface(directory)
    tokenizer = read_tokenizer(directory, model.config) if has_tokenizer(directory) else None
    card = f"# {out.name}\n\nImported from a Hugging Face Marian model, `{directory.name}`.\n"
    write_model(
        out,
        model,
        card=card,
        files=tokenizer.files if tokenizer else None,
        **read_languages(directory),
    )
    log(f"{out}: {count_parameters(model):,} parameters imported")
    if tokenizer is None:
        log(f"{directory} has no vocabulary, so {out} can translate token ids only, not text")
    elif tokenizer.languages:
        codes = " ".join(tokenizer.languages[:5]) + (" …" if len(tokenizer.languages) > 5 else "")
        log(f"begin each source with the code of the target language: {codes}")


@click.command("export", short_help="Convert a model for another toolkit.")
@click.option(
    "--to",
    "target",
    type=click.Choice(["ctranslate2", "huggingface"]),
    required=True,
    help="The toolkit.",
)
@click.argument("out", type=PATH)
@click.option("--model", metavar="MODEL", required=True, help=f"{MODEL}.")
@click.option(
    "--sentences",
    type=PATH,
    help="Lines to translate for the comparison, instead of built-in sentences.",
)
def export_command(target: str, out: Path, model: str, sentences: Path | None) -> None:
    """Convert a model for another toolkit; nothing is written if its results differ."""
    from transduce.model_names import model_path

    _require_empty(out)
    EXPORTS[target](model_path(model, log=log), out, sentences)


def _export_huggingface(model: Path, out: Path, sentences: Path | None) -> None:
    from transduce.corpus.reading import read_lines
    from transduce.directory import ModelDirectory
    from transduce.exchange.huggingface import write_huggingface
    from transduce.exchange.huggingface_comparison import SENTENCES
    from transduce.model import require_transformer
    from transduce.tokenizer import has_tokenizer

    directory = ModelDirectory.open(model)
    write_huggingface(
        require_transformer(directory.network(), "Hugging Face's Marian"),
        out,
        directory.tokenizer if has_tokenizer(model) else None,
        languages=directory.description.to_json(),
        sentences=list(read_lines(sentences)) if sentences else SENTENCES,
        log=lambda message: log(f"{out}: exported; {message}"),
    )


def _export_ctranslate2(model: Path, out: Path, sentences: Path | None) -> None:
    from transduce.corpus.reading import read_lines
    from transduce.directory import ModelDirectory
    from transduce.exchange.ctranslate2 import export_ctranslate2
    from transduce.exchange.huggingface_comparison import SENTENCES

    export_ctranslate2(
        ModelDirectory.open(model),
        out,
        list(read_lines(sentences)) if sentences else SENTENCES,
        lambda message: log(f"{out}: exported; {message}"),
    )


EXPORTS: dict[str, Callable[[Path, Path, Path | None], None]] = {
    "ctranslate2": _export_ctranslate2,
    "huggingface": _export_huggingface,
}


def _require_empty(out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ModelError(f"{out} is not empty: name a new directory")
