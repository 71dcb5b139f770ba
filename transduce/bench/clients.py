"""HTTP clients that measure a server: closed loops, and open loops with a given rate."""

import asyncio
import gc
import json
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle

PATIENCE = 30.0  # seconds


@dataclass(frozen=True)
class Answer:
    """One request: when it was to begin, how long it took, and what came."""

    seconds: float
    status: int  # 0: no answer


class Client:
    """A keep-alive connection that is opened again if the server closes it."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def translate(self, q: str | list[str]) -> tuple[int, bytes]:
        """The status and the body of an answer; 0 if there is none."""
        body = json.dumps({"q": q, "source": "en", "target": "de"}).encode()
        head = f"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
        try:
            async with asyncio.timeout(PATIENCE):
                if self._streams and self._streams[0].at_eof():
                    self.close()  # by the server, after a pause
                if self._streams is None:
                    self._streams = await asyncio.open_connection("127.0.0.1", self.port)
                reader, writer = self._streams
                writer.write(f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
                received = (await reader.readuntil(b"\r\n\r\n")).lower()
                length = int(received.split(b"content-length: ")[1].split(b"\r\n")[0])
                content = await reader.readexactly(length)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            self.close()
            return 0, b""
        if b"connection: close" in received:
            self.close()
        return int(received.split()[1]), content

    def close(self) -> None:
        if self._streams:
            self._streams[1].close()
        self._streams = None


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Garbage collection would stop all clients for up to 100 ms."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


async def closed_loop(
    port: int, texts: list[str], clients: int, seconds: float
) -> tuple[list[Answer], float]:
    """Clients that each send one sentence after the other; the answers, and the seconds used."""
    supply, answers = cycle(texts), list[Answer]()

    async def one() -> None:
        client = Client(port)
        while (sent := time.perf_counter()) - start < seconds:
            status, _ = await client.translate(next(supply))
            answers.append(Answer(time.perf_counter() - sent, status))
        client.close()

    with no_garbage_collection():
        start = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(clients)))
    return answers, time.perf_counter() - start


async def open_loop(
    port: int, texts: list[str], rate: float, seconds: float, seed: int = 1
) -> list[Answer]:
    """Requests that arrive at random moments, whether or not earlier ones are answered.

    A connection is used again by later requests, so that connecting is not measured.
    """
    answers: list[Answer] = []
    idle: list[Client] = []

    async def one(text: str, due: float) -> None:
        client = idle.pop() if idle else Client(port)
        status, _ = await client.translate(text)
        answers.append(Answer(time.perf_counter() - due, status))
        idle.append(client)

    tasks = set()
    with no_garbage_collection():
        start = time.perf_counter()
        for text, after in zip(cycle(texts), arrivals(rate, seconds, seed), strict=False):
            await asyncio.sleep(max(0.0, start + after - time.perf_counter()))
            task = asyncio.create_task(one(text, start + after))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)
    for client in idle:
        client.close()
    return answers


def arrivals(rate: float, seconds: float, seed: int) -> Iterator[float]:
    """Moments of a Poisson process."""
    rng, at = random.Random(seed), 0.0
    while (at := at + rng.expovariate(rate)) < seconds:
        yield at


async def in_turn(port: int, texts: list[str]) -> float:
    """The seconds of one request after the other."""
    client, start = Client(port), time.perf_counter()
    for text in texts:
        await client.translate(text)
    client.close()
    return time.perf_counter() - start


async def as_list(port: int, texts: list[str]) -> float:
    """The seconds of all texts in one request."""
    client, start = Client(port), time.perf_counter()
    await client.translate(texts)
    client.close()
    return time.perf_counter() - start
