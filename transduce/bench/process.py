"""Systems in processes of their own, so that the memory and the allocator of each are its alone.

Both ends of the conversation, in lines of JSON: a `Worker` is a system as it is asked, a `Parent`
is who asks. Nothing here loads what a system would not.
"""

import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from transduce.errors import UserError


class Worker:
    """A system in another process."""

    def __init__(self, name: str, process: "subprocess.Popen[str]") -> None:
        self.name, self.process = name, process

    def ask(self, request: Any) -> Any:
        """The answer to a request."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self.answer()

    def finish(self) -> Any:
        """What the system says when nothing more is asked."""
        assert self.process.stdin
        self.process.stdin.close()
        return self.answer()

    def answer(self) -> Any:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise UserError(
                f"{self.name} stopped with code {self.process.wait()} before it had finished: "
                "its own message is above"
            )
        return json.loads(line)


@contextmanager
def worker(name: str, module: str, *arguments: str) -> Iterator[Worker]:
    """Starts a system, `module` with its name and arguments, and waits until it is ready.

    Ends it in any case.
    """
    command = [sys.executable, "-m", module, name, *arguments]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, encoding="utf-8")
    try:
        started = Worker(name, process)
        started.answer()
        yield started
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream:
                stream.close()


class Parent:
    """The process that started this one."""

    def __init__(self) -> None:
        self._answers = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
        os.dup2(2, 1)  # what a library prints is no answer
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # on Ctrl-C the parent ends this process
        warnings.filterwarnings("ignore", module=r"torch\.nn|transformers")

    def requests(self) -> Iterator[Any]:
        """Says that this process is ready; then what it is asked, until nothing more is."""
        self.answer("ready")
        for line in sys.stdin:
            yield json.loads(line)

    def answer(self, content: Any) -> None:
        self._answers.write(json.dumps(content) + "\n")


def rotated(names: Sequence[str], number: int) -> list[str]:
    """The order of the systems in this round: nobody always goes first."""
    first = number % len(names)
    return [*names[first:], *names[:first]]
