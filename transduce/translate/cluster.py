"""Translation on a Ray cluster: one process per core, each with a translator of its own."""

import os
import socket
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from transduce.errors import InputError, UserError, optional
from transduce.log import Log, silent
from transduce.model_names import model_path
from transduce.translate.join import Translation
from transduce.translate.options import DEFAULTS, TranslateOptions
from transduce.translate.translator import Translator

LOCAL = "local"  # the address for a cluster on this machine, which ends with the process
MEMORY = 2**27  # bytes of the object store of such a cluster; texts are small
CONNECT = 5  # seconds to reach a cluster
TRIES = 3  # a part whose process dies this often is an error
PARTS = 4  # of a call per process, so that all are busy until the end
LARGEST = 256  # texts of a part


@dataclass(frozen=True)
class ModelChoice:
    """The arguments that every process opens its translator with."""

    model: str | tuple[str, ...] | None = None
    to: str | None = None
    engine: str = "auto"
    device: str = "auto"
    compute: str = "auto"
    reverse: str | None = None

    def open(self) -> Translator:
        if isinstance(self.model, tuple):
            return Translator.ensemble(self.model, device=self.device, reverse=self.reverse)
        return Translator.load(
            model_path(self.model, self.to),
            engine=self.engine,
            device=self.device,
            compute=self.compute,
            reverse=self.reverse,
        )


@dataclass(frozen=True)
class EngineName:
    """What the processes compute with."""

    name: str
    compute: str


class Worker:
    """A process of the cluster."""

    def __init__(self, choice: ModelChoice) -> None:
        os.environ["TRANSDUCE_CORES"] = "1"
        self._translator = choice.open()

    def describe(self) -> tuple[str, EngineName, int]:
        """The fingerprint of the model, the engine and the process id."""
        engine = self._translator.engine
        name = EngineName(engine.name, engine.compute)
        return self._translator.fingerprint, name, os.getpid()

    def results(self, texts: Sequence[str], options: TranslateOptions) -> list[Translation]:
        return self._translator.results(texts, options)


@dataclass
class RayTranslator:
    """Translates like a `Translator`, in many processes; results are in the order of the texts.

    If a process dies, what it was translating is translated again by a new one.
    """

    choice: ModelChoice
    log: Log = silent
    fingerprint: str = ""
    engine: EngineName = EngineName("", "")
    workers: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        import ray

        self._actor = ray.remote(num_cpus=1)(Worker)
        count = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self.workers = [self._start() for _ in range(count)]
        try:
            self.fingerprint, self.engine, _ = ray.get(self.workers[0].describe.remote())
        except ray.exceptions.RayActorError as error:
            raise InputError(
                f"a process of the Ray cluster cannot open the model: {_reason(error)}"
            ) from None

    def results(
        self, texts: Sequence[str], options: TranslateOptions = DEFAULTS
    ) -> list[Translation]:
        """The translation of each text."""
        import ray

        size = min(max(len(texts) // (PARTS * len(self.workers)), 1), LARGEST)
        parts = [texts[i : i + size] for i in range(0, len(texts), size)]
        found: dict[int, list[Translation]] = {}
        waiting, tries = deque(range(len(parts))), [0] * len(parts)
        free = deque(range(len(self.workers)))
        running: dict[Any, tuple[int, int]] = {}  # a part and a worker
        while waiting or running:
            while waiting and free:
                part, worker = waiting.popleft(), free.popleft()
                call = self.workers[worker].results.remote(parts[part], options)
                running[call] = (part, worker)
            (done, *_), _ = ray.wait(list(running), num_returns=1)
            part, worker = running.pop(done)
            try:
                with _errors_of_workers():
                    found[part] = ray.get(done)
            except ray.exceptions.RayActorError as error:
                tries[part] += 1
                if tries[part] == TRIES:
                    raise InputError(
                        f"a process of the Ray cluster died {TRIES} times: {_reason(error)}"
                    ) from None
                self.log("a process of the Ray cluster died: a new one translates its lines")
                self.workers[worker] = self._start()
                waiting.appendleft(part)
            free.append(worker)
        return [result for part in range(len(parts)) for result in found[part]]

    def _start(self) -> Any:
        return self._actor.remote(self.choice)


@contextmanager
def ray_translator(address: str, choice: ModelChoice, log: Log = silent) -> Iterator[RayTranslator]:
    """A translator on the Ray cluster at an address: "local", "auto" or HOST:PORT."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anyone
    with optional("--ray"):
        import ray
    for name in ("model", "reverse"):
        given = getattr(choice, name)
        if isinstance(given, str) and Path(given).exists():
            choice = replace(choice, **{name: str(Path(given).absolute())})
    local = {"include_dashboard": False, "object_store_memory": MEMORY} if address == LOCAL else {}
    _require_listener(address)
    try:
        ray.init(address, log_to_driver=False, configure_logging=False, **local)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise InputError(f"there is no Ray cluster at {address}: {error}") from None
    try:
        yield RayTranslator(choice, log)
    finally:
        ray.shutdown()


def _require_listener(address: str) -> None:
    """Raises InputError if nothing listens at HOST:PORT, where Ray would wait for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdecimal():
        return
    try:
        with socket.create_connection((host, int(port)), CONNECT):
            pass
    except (OSError, OverflowError) as error:
        raise InputError(f"there is no Ray cluster at {address}: {error}") from None


@contextmanager
def _errors_of_workers() -> Iterator[None]:
    """Raises the UserError that a process raised as it was."""
    import ray

    try:
        yield
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, UserError):
            raise error.cause from None
        raise


def _reason(error: Exception) -> str:
    """The last line of Ray's message."""
    return str(error).strip().split("\n")[-1]
