"""The command line. Each verb is a module, which imports what it needs when it runs."""

import errno
import importlib
import io
import os
import re
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, NoReturn

import click

from transduce.errors import EXTRAS, UserError
from transduce.log import folded

# In the order of the help text.
VERBS = {
    "train": "transduce.cli.train",
    "check": "transduce.cli.check",
    "presets": "transduce.cli.presets",
    "translate": "transduce.cli.translate",
    "generate": "transduce.cli.generate",
    "score": "transduce.cli.score",
    "evaluate": "transduce.cli.evaluate",
    "average": "transduce.cli.average",
    "attend": "transduce.cli.attend",
    "explain": "transduce.cli.explain",
    "parse": "transduce.cli.parse",
    "evalb": "transduce.cli.evalb",
    "serve": "transduce.cli.serve",
    "info": "transduce.cli.info",
    "import": "transduce.cli.exchange",
    "export": "transduce.cli.exchange",
    "paper": "transduce.cli.paper",
    "bench": "transduce.cli.bench",
}

OUT_OF_MEMORY = "there is not enough memory: use a smaller model, smaller batches or a smaller beam"
# messages of torch's RuntimeError for failed allocations
TORCH_OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "out of memory")

NO_PERMISSION = ": name another place, or change its permissions"
ADVICE = {
    errno.ENOSPC: ": free some space and repeat the command",
    errno.EACCES: NO_PERMISSION,
    errno.EPERM: NO_PERMISSION,
    errno.EROFS: ": name another place",
}

LONGEST_WORD = 400  # characters; longer words of an error message are abbreviated


class Verbs(click.Group):
    """Loads verbs lazily and prints errors of the user as one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in VERBS:
            return None
        module = importlib.import_module(VERBS[name])
        command: click.Command = getattr(module, f"{name}_command")
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the verb. Errors of the system become UserErrors here and only here.

        An exception of any other kind is a bug and keeps its traceback.
        """
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except (
            OSError,
            MemoryError,
            RecursionError,
            OverflowError,
            UnicodeEncodeError,
            ModuleNotFoundError,
            RuntimeError,
        ) as error:
            sentence = refusal(error)
            if sentence is None:
                raise
            raise UserError(f"{ctx.invoked_subcommand}: {sentence}") from None
        return result

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Runs a command line; exit code 0 on success, 2 for a UserError, 130 on Ctrl-C."""
        # Waiting OpenMP threads spin only briefly: on a busy machine a training step is otherwise
        # up to fifty times slower. Read once, when torch is loaded.
        os.environ.setdefault("GOMP_SPINCOUNT", "10000")
        for stream, errors in ((sys.stdout, "replace"), (sys.stderr, "backslashreplace")):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8", errors=errors)  # independent of the locale
        try:
            if any("\0" in word for word in _words(*args, **kwargs)):
                raise UserError("an argument has a NUL character: remove it")
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
        except SystemExit as end:
            code = end.code
        except BrokenPipeError:  # the reader of our output, such as `head`, has ended
            code = 141
        _discard_unwritten()
        _exit(code if isinstance(code, int) else 0)


def refusal(error: Exception) -> str | None:
    """The message for an error of the system; None for a bug."""
    match error:
        case ModuleNotFoundError(name=str(name)) if (package := name.partition(".")[0]) in EXTRAS:
            return f"this needs {package}: pip install 'transduce[{EXTRAS[package]}]'"
        case OSError(strerror=str(reason)):
            where = _intended(error.filename)
            if error.errno == errno.EEXIST and where:
                return f"{where} is a file, not a directory: name another place"
            return (f"{where}: " if where else "") + reason + ADVICE.get(error.errno or 0, "")
        case OSError():
            return str(error)
        case MemoryError():
            return OUT_OF_MEMORY
        case RecursionError():
            return "the input is nested too deeply"
        case OverflowError():
            return f"a number is too large to compute with ({error})"
        case UnicodeEncodeError():
            return f"{error.object[error.start : error.end]!r} is an unpaired surrogate"
        case RuntimeError() if any(sign in str(error) for sign in TORCH_OUT_OF_MEMORY):
            return OUT_OF_MEMORY
    return None


def _intended(name: object) -> str:
    """The file of an OSError; for a temporary name of `atomic` that of the finished file."""
    path = os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else ""
    return re.sub(r"(^|/)\.([^/]+)\.\d+\.(?:part|old)(?=/|$)", r"\1\2", path)


def _discard_unwritten() -> None:
    """Discards output that could not be written; Python would try again at exit."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _exit(code: int) -> NoReturn:
    tokenizer = sys.modules.get("transduce.tokenizer.bpe")  # a verb that computes has loaded it
    if tokenizer and tokenizer.is_learning():
        # SentencePiece's thread calls Python, and aborts the process once the interpreter has ended
        os._exit(code)
    sys.exit(code)


def _words(args: Sequence[str] | None = None, *_: Any, **__: Any) -> Sequence[str]:
    return sys.argv[1:] if args is None else args


def _complain(sentence: str) -> None:
    words = (w if len(w) <= LONGEST_WORD else f"{w[:100]}…{w[-20:]}" for w in sentence.split())
    click.echo(folded("transduce: " + " ".join(words), sys.stderr), err=True)


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("transduce"), message="transduce %(version)s")
def main() -> None:
    """The Transformer of "Attention Is All You Need": train it, use it, inspect it."""
