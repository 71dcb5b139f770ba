"""`transduce serve`: the HTTP server, and its API keys."""

from pathlib import Path
from typing import Any

import click

from transduce.cli.options import MODEL, PATH, log

KEYS = click.option(
    "--keys-file", type=PATH, help="The file of keys [default: ~/.config/transduce/keys.json]."
)


@click.group("serve", invoke_without_command=True, short_help="Serve models over HTTP.")
@click.option(
    "--model",
    "models",
    metavar="[SRC-TGT=]MODEL",
    multiple=True,
    help=f"{MODEL}; may be given several times [default: all bundled].",
)
@click.option("--host", help="Address to bind to [default: 127.0.0.1].")
@click.option("--port", type=click.IntRange(0, 65535), help="0 is a free one [default: 5000].")
@click.option("--require-key", is_flag=True, help="Requests need an API key (`serve keys add`).")
@KEYS
@click.option(
    "--rate-limit", metavar="N/UNIT", help="Requests of each key or address, such as 60/minute."
)
@click.option("--cors", multiple=True, metavar="ORIGIN", help="Let pages of this origin use it.")
@click.option("--char-limit", type=int, help="Characters of a request [default: 50,000].")
@click.option("--batch-limit", type=int, help="Texts of a request [default: 1,000].")
@click.option("--deadline", type=float, help="Seconds for a request [default: 9].")
@click.option("--metrics", is_flag=True, help="Serve GET /metrics for Prometheus.")
@click.option("--log-file", type=PATH, help="Append the log to this file.")
@click.option("--log-text", is_flag=True, help="Write the texts of requests to the log.")
@click.option("--config", "file", type=PATH, help="A TOML file with a section [serve].")
@click.option(
    "--set",
    "overrides",
    multiple=True,
    metavar="serve.KEY=VALUE",
    help="Any setting of the section; docs/serving.md lists all.",
)
@click.pass_context
def serve_command(
    context: click.Context, /, file: Path | None, overrides: tuple[str, ...], **flags: Any
) -> None:
    """Serve translation models over HTTP, for any client of LibreTranslate.

    Parsing and language models may be served beside them (--model parse-en is the bundled parser).
    Without --model, all bundled translators are served.

    Settings are flags, environment variables such as TRANSDUCE_SERVE_PORT, or the section [serve]
    of a TOML file; flags come first. SIGTERM or Ctrl-C lets accepted requests finish; a second
    signal ends the server at once.

    \b
    transduce serve
    curl -d q="How are you?" -d source=en -d target=de localhost:5000/translate
    """
    if context.invoked_subcommand:
        return
    from transduce.errors import optional
    from transduce.serve.settings import parse_setting, read_settings

    with optional("serve"):
        from transduce.serve.server import serve
    given = {name: value for name, value in flags.items() if value}
    if flags["port"] == 0:
        given["port"] = 0
    for name in ("models", "cors"):
        if name in given:
            given[name] = list(given[name])
    for name in ("keys_file", "log_file"):
        if name in given:
            given[name] = str(given[name])
    for item in overrides:
        given |= parse_setting(item)
    serve(read_settings(file, given), log)


@serve_command.group("keys")
def keys() -> None:
    """Add, list and revoke API keys; only their hashes are kept."""


@keys.command("add")
@click.argument("name")
@click.option("--rate-limit", default="", metavar="N/UNIT", help="Of this key, such as 600/hour.")
@KEYS
def add(name: str, rate_limit: str, keys_file: Path | None) -> None:
    """Make a key for NAME and print it, once."""
    from transduce.serve.keys import add_key, default_file

    if rate_limit:
        from transduce.serve.limits import parse_rate

        parse_rate(rate_limit)
    key, secret = add_key(keys_file or default_file(), name, rate_limit)
    log(f"key {key.id} for {name}; it is not shown again:")
    click.echo(secret)


@keys.command("list")
@KEYS
def list_keys(keys_file: Path | None) -> None:
    """Print the id, date, rate limit and name of every key."""
    from transduce.serve.keys import default_file, read_keys

    for key in read_keys(keys_file or default_file()):
        click.echo(f"{key.id}\t{key.created}\t{key.rate_limit or '-'}\t{key.name}")


@keys.command("revoke")
@click.argument("identity", metavar="ID")
@KEYS
def revoke(identity: str, keys_file: Path | None) -> None:
    """Remove a key; a running server refuses it from then on."""
    from transduce.serve.keys import default_file, revoke_key

    key = revoke_key(keys_file or default_file(), identity)
    log(f"revoked key {key.id} for {key.name}")
