"""The servers that `transduce bench serve` measures, each in processes of its own."""

import asyncio
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from transduce.bench.clients import closed_loop
from transduce.directory import ModelDirectory
from transduce.engines.router import find_converted
from transduce.errors import UserError
from transduce.exchange.argos import export_argos
from transduce.exchange.huggingface_comparison import SENTENCES
from transduce.log import silent

OURS, PLAIN, LIBRETRANSLATE = "transduce", "plain", "libretranslate"
PEERS = (PLAIN, LIBRETRANSLATE)
START = 120.0  # seconds until a server must translate
STOP = 10.0  # seconds until it must have ended


@dataclass(frozen=True)
class Server:
    """How a server is started; it prints its address."""

    name: str
    command: Sequence[str]
    environment: dict[str, str] = field(default_factory=dict)


def servers(
    model: ModelDirectory, peers: Sequence[str], libretranslate: str | None, folder: Path
) -> list[Server]:
    """Ours and the peers; raises UserError if one cannot be started with this model."""
    path, converted = str(model.path), find_converted(model)
    ours = [sys.executable, "-m", "transduce", "serve", "--port", "0", "--model", path]
    found = [Server(OURS, ours)]
    for name in peers:
        if name == PLAIN:
            if converted is None:
                raise UserError(f"CTranslate2 cannot run {path}: leave plain out of --against")
            module = [sys.executable, "-m", "transduce.bench.plain_server"]
            found.append(Server(name, [*module, path, str(converted)]))
        elif name == LIBRETRANSLATE:
            found.append(libretranslate_server(model, libretranslate, folder))
        else:
            raise UserError(f"unknown peer {name!r}; known: {', '.join(PEERS)}")
    return found


def libretranslate_server(model: ModelDirectory, command: str | None, folder: Path) -> Server:
    """LibreTranslate with its own settings, on this model as its only package."""
    program = shutil.which(command or LIBRETRANSLATE)
    if program is None:
        raise UserError(
            f"there is no command {command or LIBRETRANSLATE}: install LibreTranslate in an "
            "environment of its own and give its path with --libretranslate"
        )
    package = folder / "model.argosmodel"
    export_argos(model, package, SENTENCES, silent)
    for copy in ("first", "second"):  # it looks for packages on the Internet if it has only one
        with zipfile.ZipFile(package) as archive:
            archive.extractall(folder / copy)
        shutil.move(next((folder / copy).iterdir()), folder / "packages" / copy)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    pair = f"{model.description.source_language},{model.description.target_language}"
    return Server(
        LIBRETRANSLATE,
        [program, "--host", "127.0.0.1", "--port", str(port), "--load-only", pair],
        {"ARGOS_PACKAGES_DIR": str(folder / "packages")},
    )


@contextmanager
def serving(server: Server) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A server process and its port, until the end of the block."""
    with TemporaryDirectory(prefix="transduce-bench-") as folder:
        file = Path(folder) / "log"
        with file.open("w") as log:
            process = subprocess.Popen(
                server.command, stdout=log, stderr=log, env={**os.environ, **server.environment}
            )
        try:
            yield process, _port(server.name, process, file)
        finally:
            process.terminate()
            try:
                process.wait(STOP)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _port(name: str, process: subprocess.Popen[bytes], file: Path) -> int:
    """The port that a server listens on, once it translates."""
    end = time.monotonic() + START
    while time.monotonic() < end and process.poll() is None:
        found = re.search(r"http://127\.0\.0\.1:(\d+)", file.read_text("utf-8", "replace"))
        if found:
            answers, _ = asyncio.run(closed_loop(int(found[1]), ["Hello."], 1, 0.01))
            if answers[-1].status == 200:
                return int(found[1])
        time.sleep(0.1)
    lines = file.read_text("utf-8", "replace").strip().splitlines()
    raise UserError(f"{name} does not start: {lines[-1] if lines else 'it says nothing'}")


def memory_of(process: subprocess.Popen[bytes]) -> float:
    """Resident memory of a server and its engine processes, in MB."""
    pids, total = [process.pid], 0
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if children.exists():
        pids += map(int, children.read_text("ascii").split())
    for pid in pids:
        status = Path(f"/proc/{pid}/statm")
        if status.exists():
            total += int(status.read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return total / 2**20
