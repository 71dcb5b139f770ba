"""`transduce presets`: the presets and the settings of training."""

import click

from transduce.cli.options import as_json


@click.command("presets", short_help="List the presets and the settings of training.")
@click.argument("name", required=False)
@click.option("--settings", "all_settings", is_flag=True, help="List every setting instead.")
@as_json
def presets_command(name: str | None, all_settings: bool, as_json: bool) -> None:
    """List the presets of `train --preset`, or print the settings of the preset NAME as TOML.

    A preset is a difference from the paper's base model. The printed settings can be saved, changed
    and used with `train --config FILE`.
    """
    import json

    from transduce.config import PRESETS, preset

    if all_settings:
        click.echo(_settings(as_json))
    elif name is not None:
        click.echo(json.dumps(preset(name), indent=2) if as_json else _toml(name))
    else:
        click.echo(json.dumps(PRESETS, indent=2) if as_json else _presets())


def _presets() -> str:
    """Two tables: networks of different sizes, and the variations of Table 3."""
    from transduce.config import LARGEST_CORPUS, PRESETS, TABLE_3, resolve
    from transduce.shapes import parameter_count, parameter_shapes
    from transduce.table import paragraph, render_table

    use = {name: f"≤ {most:,} pairs" for name, most in LARGEST_CORPUS.items()}
    use |= {"builtin": "built-in corpus", "base": "larger corpora", "fine-tuning": "--from MODEL"}
    use |= {"parsing-small": "--task parsing", "parsing": "paper's, §6.3"}
    names = [*LARGEST_CORPUS, "base", "big"]
    names += [name for name in PRESETS if name not in TABLE_3 and name not in names]
    rows = []
    for name in names:
        config = resolve(name)
        model, parameters = config.model, parameter_count(parameter_shapes(config.model))
        sizes = (model.d_model, model.n_layers, config.data.vocab_size)
        network = (*map(str, sizes), f"{parameters / 1e6:.1f} M")
        if name == "fine-tuning":  # the network is that of the model
            network = ("",) * len(network)
        rows.append((name, use.get(name, ""), *network, f"{config.train.steps:,}"))
    headings = ("preset", "chosen for", "d_model", "layers", "vocab")
    table = render_table("Presets", (*headings, "weights", "steps"), "<<>>>>>", rows)
    others = [
        (
            name,
            ", ".join(f"{key} {value}" for part in changes.values() for key, value in part.items()),
        )
        for name, changes in TABLE_3.items()
        if name not in names
    ]
    variations = render_table("Rows of Table 3, as differences from base", ("", ""), "<<", others)
    note = paragraph(
        "Without --preset, `train` chooses by the number of sentence pairs. `transduce presets "
        "NAME` prints a preset as TOML; `transduce presets --settings` lists every setting."
    )
    return f"{table}\n\n{variations}\n\n{note}"


def _settings(as_json: bool) -> str:
    import json
    from dataclasses import asdict

    from transduce.config.reference import reference
    from transduce.table import render_table

    sections = reference()
    if as_json:
        return json.dumps([asdict(s) for settings in sections.values() for s in settings], indent=2)
    tables = []
    for section, settings in sections.items():
        rows = [
            (s.name, s.default, ", ".join(filter(None, (s.meaning, s.paper))) + _choices(s.values))
            for s in settings
        ]
        tables.append(render_table(section.title, ("setting", "default", "meaning"), "<<<", rows))
    return "\n\n".join(tables)


def _choices(values: str) -> str:
    """The values to choose from, unless any number will do."""
    return "" if "number" in values else f" ({values})"


def _toml(name: str) -> str:
    import json

    from transduce.config import preset

    lines = [f"# The preset {name}: what differs from the paper's base model."]
    for section, changes in preset(name).items():
        lines += ["", f"[{section}]", *(f"{key} = {json.dumps(v)}" for key, v in changes.items())]
    return "\n".join(lines)
