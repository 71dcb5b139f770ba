"""An engine process: starts it, calls it, and replaces it when it dies."""

import asyncio
import socket
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass
from itertools import count
from typing import Any

from transduce.log import Log
from transduce.serve.frames import Frame, read_frame
from transduce.serve.refusal import RefusalError

LONGEST_PAUSE = 30.0  # seconds between two attempts to start an engine
STABLE = 10.0  # seconds: an engine that lived longer is replaced at once
LARGEST_FRAME = 2**20  # bytes that are buffered before reading pauses


@dataclass(frozen=True)
class ModelInfo:
    """What an engine process tells about its model."""

    name: str
    task: str
    source: str | None = None
    target: str | None = None
    runs: str = ""  # engine and dtype


class Engine:
    """One model in a process of its own, so that its death or its memory harms nothing else."""

    def __init__(self, model: str, options: dict[str, Any], hang_seconds: float, log: Log) -> None:
        self.model, self.options, self.hang_seconds, self.log = model, options, hang_seconds, log
        self.info: ModelInfo | None = None  # once it has been loaded
        self.failure: str | None = None  # why it cannot be loaded
        self.ready = False
        self.restarts = 0
        self.on_ready: Callable[[], None] = lambda: None
        self.on_end: Callable[[], None] = lambda: None
        self.settled = asyncio.Event()  # loaded, or failed
        self._numbers = count()
        self._pending: dict[int, asyncio.Queue[Frame | RefusalError]] = {}
        self._process: asyncio.subprocess.Process | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._keeping: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._keeping = asyncio.create_task(self._keep())

    async def stop(self) -> None:
        """Ends the process."""
        if self._keeping:
            self._keeping.cancel()
            with suppress(asyncio.CancelledError):
                await self._keeping
        await self._end()

    def kill(self) -> None:
        if self._process and self._process.returncode is None:
            self._process.kill()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    async def call(self, task: str, **fields: Any) -> Frame:
        """The answer to a request; raises RefusalError if the engine refuses it, dies or hangs."""
        async with aclosing(self.stream(task, **fields)) as frames:
            return await anext(frames)

    async def stream(self, task: str, **fields: Any) -> AsyncGenerator[Frame, None]:
        """The frames of an answer as they come; the engine stops when this is closed or cancelled.

        Raises RefusalError if the engine refuses the request, dies or hangs.
        """
        if not self.ready or self._writer is None:
            raise RefusalError(503, f"{self.model} is not loaded: try again later", 1)
        number, more = next(self._numbers), True
        arriving = self._pending[number] = asyncio.Queue()
        try:
            self._writer.write(Frame({"number": number, "task": task, **fields}).encode())
            while more:
                async with asyncio.timeout(self.hang_seconds):
                    answer = await arriving.get()
                if isinstance(answer, RefusalError):
                    raise answer
                more = answer.fields.pop("more", False)
                if "error" in answer.fields:
                    raise RefusalError(answer.fields["status"], answer.fields["error"])
                yield answer
        except TimeoutError:
            self.log(f"{self.model}: the engine hangs and is replaced")
            self.kill()
            raise RefusalError(503, "the engine took too long", 1) from None
        finally:
            del self._pending[number]
            if more and self._writer:
                self._writer.write(Frame({"cancel": number}).encode())

    async def _keep(self) -> None:
        """Keeps a process running; pauses between attempts grow if it dies at once."""
        pause, loop = 0.0, asyncio.get_running_loop()
        while True:
            started = loop.time()
            try:
                await self._run()
            except (OSError, ValueError, EOFError) as error:
                self.log(f"{self.model}: {error}")
            self.ready = False
            self.on_end()
            await self._end()
            if self.failure is not None and self.info is None:
                return
            pause = 0.0 if loop.time() - started > STABLE else min(2 * pause or 0.5, LONGEST_PAUSE)
            self.log(f"{self.model}: the engine has ended and is started again")
            self.restarts += 1
            await asyncio.sleep(pause)

    async def _run(self) -> None:
        """Starts a process, loads the model and reads its answers, until it ends."""
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "transduce.serve.worker",
                str(theirs.fileno()),
                pass_fds=[theirs.fileno()],
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C goes to the server alone, which drains
            )
        reader, self._writer = await asyncio.open_connection(sock=ours, limit=LARGEST_FRAME)
        self._writer.write(Frame({"model": self.model, **self.options}).encode())
        try:
            while True:
                frame = await read_frame(reader)
                if "number" in frame.fields:
                    if arriving := self._pending.get(frame.fields["number"]):
                        arriving.put_nowait(frame)
                elif "log" in frame.fields:
                    self.log(f"{self.model}: {frame.fields['log']}")
                elif "failure" in frame.fields:
                    self.failure = frame.fields["failure"]
                    self.settled.set()
                else:
                    self.info, self.failure = ModelInfo(**frame.fields), None
                    self.ready = True
                    self.settled.set()
                    self.on_ready()
        except (asyncio.IncompleteReadError, ConnectionError):
            if not self.settled.is_set():
                self.failure = f"{self.model}: the engine ended while it was loading"
                self.settled.set()

    async def _end(self) -> None:
        """Ends the process and answers what it had not answered."""
        for arriving in self._pending.values():
            arriving.put_nowait(
                RefusalError(503, "the engine ended during this request: send it again", 1)
            )
        if self._writer:
            self._writer.close()
            self._writer = None
        if self._process:
            self.kill()
            await self._process.wait()
