"""Options that several verbs share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Command = Callable[..., Any]


def settings(command: Command) -> Command:
    """--preset, --config and --set: which network, as a difference from the paper."""
    options = [
        click.option("--preset", default="base", show_default=True, help="Start from this preset."),
        click.option(
            "--config", type=click.Path(path_type=Path), help="A TOML file of settings that differ."
        ),
        click.option(
            "--set", "overrides", multiple=True, metavar="SECTION.KEY=VALUE", help="One setting."
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
existing_directory = click.Path(path_type=Path)
