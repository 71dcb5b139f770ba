"""`transduce info`: what a model directory holds."""

from pathlib import Path

import click

from transduce.cli.options import as_json


@click.command("info", short_help="Say what a model directory holds.")
@click.argument("directory", type=click.Path(path_type=Path))
@as_json
def info_command(directory: Path, as_json: bool) -> None:
    """Say what the model in DIRECTORY is: sizes, settings and checksums."""
    import json

    from transduce.checkpoint import load_model, read_json
    from transduce.model import count_parameters

    loaded = load_model(directory)
    files = {f.name: f.stat().st_size for f in sorted(directory.iterdir()) if f.is_file()}
    facts = {
        **{key: value for key, value in loaded.description.items() if key != "model"},
        "parameters": count_parameters(loaded.model),
        "bytes": sum(files.values()),
        "model": loaded.description["model"],
        "checksums": read_json(directory, "checksums.json"),
    }
    if as_json:
        click.echo(json.dumps(facts, indent=2))
        return
    click.echo(f"{directory}: {facts['task']}, {facts['parameters']:,} parameters")
    for name, size in files.items():
        check = "ok" if name in facts["checksums"] else "  "
        click.echo(f"  {check}  {size:>12,}  {name}")
    for name, value in facts["model"].items():
        click.echo(f"  {name} = {value}")
