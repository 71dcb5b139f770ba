"""Each system in its own process, so that its memory and allocator are not shared.

Requests and answers are lines of JSON: the benchmark holds a `Worker`, the system's process a
`Parent`. Nothing here imports what a system would not.
"""

import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from transduce.errors import UserError
from transduce.log import Log


class Worker:
    """A system in another process."""

    def __init__(self, name: str, process: "subprocess.Popen[str]") -> None:
        self.name, self.process = name, process

    def ask(self, request: Any) -> Any:
        """The answer to a request."""
        assert self.process.stdin
        with suppress(BrokenPipeError):  # a process that has stopped gives no answer either
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        return self.answer()

    def finish(self) -> Any:
        """The last answer, after all requests."""
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
    """Starts `module` with a system's name and arguments, waits until it is ready, and ends it."""
    command = [sys.executable, "-m", module, name, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, encoding="utf-8") as process:
        try:
            started = Worker(name, process)
            started.answer()
            yield started
        finally:
            process.kill()
            with suppress(BrokenPipeError):
                process.stdin.close()  # type: ignore[union-attr]


@dataclass(frozen=True)
class Answers:
    """The answers of one system to the requests of every round, and its last one."""

    rounds: list[list[Any]]
    last: Any

    @property
    def seconds(self) -> list[float]:
        """Of the first request of each round."""
        return [answers[0]["seconds"] for answers in self.rounds]


def take_turns(
    names: Sequence[str],
    module: str,
    arguments: Sequence[str],
    warm_up: Any,
    rounds: Sequence[Sequence[Any]],
    label: str,
    log: Log,
) -> dict[str, Answers]:
    """Sends every system the same requests; in each round another system is the first.

    So the machine's noise affects them all.
    """
    answers: dict[str, list[list[Any]]] = {name: [] for name in names}
    with ExitStack() as closing:
        workers = {name: closing.enter_context(worker(name, module, *arguments)) for name in names}
        for system in workers.values():
            system.ask(warm_up)
        for number, requests in enumerate(rounds):
            first = number % len(names)
            for name in [*names[first:], *names[:first]]:
                answers[name].append([workers[name].ask(request) for request in requests])
            seconds = ", ".join(f"{name} {answers[name][-1][0]['seconds']:.2f}" for name in names)
            log(f"{label}, round {number + 1} of {len(rounds)}, seconds: {seconds}")
        return {name: Answers(answers[name], workers[name].finish()) for name in names}


class Parent:
    """The process that started this one."""

    def __init__(self) -> None:
        self._answers = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
        os.dup2(2, 1)  # what a library prints is no answer
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # on Ctrl-C the parent ends this process
        warnings.filterwarnings("ignore", module=r"torch\.nn|transformers")

    def requests(self) -> Iterator[Any]:
        """Answers that this process is ready, and yields every request."""
        self.answer("ready")
        for line in sys.stdin:
            yield json.loads(line)

    def answer(self, content: Any) -> None:
        self._answers.write(json.dumps(content) + "\n")
