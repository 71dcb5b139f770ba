"""A server process for tests, and requests to it."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).parents[1]
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


@dataclass(frozen=True)
class Server:
    process: subprocess.Popen
    port: int
    log_file: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        return self.log_file.read_text("utf-8")

    def send(self, method: str, path: str, body=b"", headers=None, timeout=20) -> Answer:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, names, response.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.send("GET", path, headers=headers)

    def post(self, path: str, timeout=20, **fields) -> Answer:
        return self.send("POST", path, json.dumps(fields).encode(), JSON, timeout)

    def form(self, path: str, **fields) -> Answer:
        return self.send("POST", path, urlencode(fields).encode(), FORM)

    def translate(self, q, source="en", target="de", **fields) -> Answer:
        return self.post("/translate", q=q, source=source, target=target, **fields)

    def raw(self, data: bytes, timeout: float = 10) -> bytes:
        """What the server sends to these bytes, until it closes the connection."""
        with self.connect(timeout) as connection:
            connection.sendall(data)
            return read_all(connection)

    def connect(self, timeout: float = 10) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def engines(self) -> list[int]:
        """The ids of the engine processes."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in children.read_text("ascii").split()]


def read_all(connection: socket.socket) -> bytes:
    parts = []
    try:
        while data := connection.recv(65536):
            parts.append(data)
    except ConnectionError:
        pass
    return b"".join(parts)


def wait_for(condition, seconds: float = 20.0):
    """The first true value of a condition; fails if there is none in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError("it did not happen in time")


@contextmanager
def running(folder: Path, *words: str, environment=None, ready: bool = True):
    """`transduce serve` on a free port, until the end of the block."""
    log_file = folder / "serve.log"
    with log_file.open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "transduce", "serve", "--port", "0", *words],
            env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
            stdout=log,
            stderr=log,
        )
    try:

        def port():
            assert process.poll() is None, log_file.read_text("utf-8")
            found = re.search(r"listening on http://127.0.0.1:(\d+)", log_file.read_text("utf-8"))
            return found and int(found[1])

        server = Server(process, wait_for(port, 60), log_file)
        if ready:
            wait_for(lambda: server.get("/health").status == 200, 60)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
