"""The command line. Each verb is a file here, and imports what it needs when it runs."""

import importlib
import io
import os
import sys
from importlib.metadata import version
from typing import Any, NoReturn

import click

from transduce.errors import UserError

# In the order in which a reader meets them.
VERBS = {
    "train": "transduce.cli.train",
    "check": "transduce.cli.check",
    "translate": "transduce.cli.translate",
    "score": "transduce.cli.score",
    "evaluate": "transduce.cli.evaluate",
    "average": "transduce.cli.average",
    "explain": "transduce.cli.explain",
    "info": "transduce.cli.info",
    "import": "transduce.cli.exchange",
    "export": "transduce.cli.exchange",
    "paper": "transduce.cli.paper",
    "bench": "transduce.cli.bench",
}


class Verbs(click.Group):
    """Loads a verb when it is asked for, and turns every mistake of a user into one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        module = importlib.import_module(VERBS[name])
        command: click.Command = getattr(module, f"{name}_command")
        return command

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Runs a command line: 0 on success, 2 and one line for a mistake, 130 on Ctrl-C."""
        # Threads that wait for each other soon sleep instead of spinning: on a machine with other
        # work a step otherwise takes up to fifty times as long. Read once, when torch is loaded.
        os.environ.setdefault("GOMP_SPINCOUNT", "10000")
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8")  # whatever the locale says
        try:
            code = super().main(*args, **{**kwargs, "standalone_mode": False})
        except click.exceptions.NoArgsIsHelpError as help_wanted:
            click.echo(help_wanted.format_message())
            code = 0
        except click.ClickException as error:
            _complain(error.format_message())
            code = 2
        except UserError as error:
            _complain(str(error))
            code = 2
        except (KeyboardInterrupt, click.Abort):
            code = 130
        except BrokenPipeError:  # the reader of our output, such as `head`, has had enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 141
        sys.exit(code if isinstance(code, int) else 0)


def _complain(sentence: str) -> None:
    click.echo("transduce: " + " ".join(sentence.split()), err=True)


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("transduce"), message="transduce %(version)s")
def main() -> None:
    """The Transformer of "Attention Is All You Need": train it, use it, look inside it."""
