"""`transduce import` and `transduce export`: conversion from and to other toolkits."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from transduce.cli.options import PATH, log, model_option
from transduce.errors import ModelError

if TYPE_CHECKING:
    from transduce.directory import ModelDirectory
    from transduce.log import Log


@click.command("import", short_help="Convert another toolkit's checkpoint to a model directory.")
@click.option("--from", "source", type=click.Choice(["huggingface", "marian"]), required=True)
@click.argument("directory", type=PATH)
@click.argument("out", type=PATH)
def import_command(source: str, directory: Path, out: Path) -> None:
    """Convert a Marian or OPUS-MT checkpoint to a transduce model.

    DIRECTORY has what Hugging Face's save_pretrained wrote (config.json, model.safetensors or
    pytorch_model.bin, source.spm, target.spm, vocab.json), or with --from marian the content of an
    archive of OPUS-MT (a .npz file, decoder.yml, source.spm, target.spm, a .yml vocabulary). OUT
    becomes a model directory.
    """
    from transduce.exchange.imported import import_checkpoint

    _require_empty(out)
    import_checkpoint(source, directory, out, log)


@click.command("export", short_help="Convert a model for another toolkit.")
@click.option(
    "--to",
    "target",
    type=click.Choice(["ctranslate2", "huggingface", "argos"]),
    required=True,
    help="The toolkit.",
)
@click.argument("out", type=PATH)
@model_option
@click.option(
    "--sentences",
    type=PATH,
    help="Lines to translate for the comparison, instead of built-in sentences.",
)
def export_command(target: str, out: Path, model: str | None, sentences: Path | None) -> None:
    """Convert a model for another toolkit; nothing is written if its results differ.

    OUT is a directory, or with --to argos a file OUT.argosmodel for Argos Translate and
    LibreTranslate. It has a README.md with the Python code that translates with it.
    """
    from transduce.model_names import model_path

    if target == "argos":
        _require_package_name(out)
    else:
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
    directory.require_task("translation")
    write_huggingface(
        require_transformer(directory.network(), "Hugging Face's Marian"),
        out,
        directory.tokenizer if has_tokenizer(model) else None,
        languages=directory.description.to_json(),
        sentences=list(read_lines(sentences)) if sentences else SENTENCES,
        log=lambda message: log(f"{out}: exported; {message}"),
    )


def _export_ctranslate2(model: Path, out: Path, sentences: Path | None) -> None:
    from transduce.exchange.ctranslate2 import export_ctranslate2

    _export_with(export_ctranslate2, model, out, sentences)


def _export_argos(model: Path, out: Path, sentences: Path | None) -> None:
    from transduce.exchange.argos import export_argos

    _export_with(export_argos, model, out, sentences)


def _export_with(
    export: Callable[["ModelDirectory", Path, list[str], "Log"], None],
    model: Path,
    out: Path,
    sentences: Path | None,
) -> None:
    from transduce.corpus.reading import read_lines
    from transduce.directory import ModelDirectory
    from transduce.exchange.huggingface_comparison import SENTENCES

    directory = ModelDirectory.open(model)
    directory.require_task("translation")
    compared = list(read_lines(sentences)) if sentences else list(SENTENCES)
    export(directory, out, compared, lambda message: log(f"{out}: exported; {message}"))


EXPORTS: dict[str, Callable[[Path, Path, Path | None], None]] = {
    "ctranslate2": _export_ctranslate2,
    "huggingface": _export_huggingface,
    "argos": _export_argos,
}


def _require_empty(out: Path) -> None:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ModelError(f"{out} is not empty: name a new directory")


def _require_package_name(out: Path) -> None:
    if out.suffix != ".argosmodel":
        raise ModelError(
            f"a package of Argos Translate ends in .argosmodel: name it {out}.argosmodel"
        )
    if out.exists():
        raise ModelError(f"{out} exists: name a new file")
