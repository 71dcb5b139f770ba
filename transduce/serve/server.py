"""Runs the server: binds the port, loads models, drains on a signal."""

import asyncio
import gc
import os
import signal
import socket
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import uvicorn
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from transduce.errors import InputError, ModelError
from transduce.log import Log
from transduce.serve.app import build_app
from transduce.serve.connection import protocol_for
from transduce.serve.keys import KeyFile, default_file
from transduce.serve.limits import Access
from transduce.serve.metrics import Metrics
from transduce.serve.middleware import Traffic
from transduce.serve.models import Models
from transduce.serve.routes import Service
from transduce.serve.settings import ServeConfig
from transduce.translate.language import detect

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

T = TypeVar("T")
BACKLOG = 2048
COLLECT_AFTER = 20_000, 20, 100  # new objects, and collections of the younger generations


class _Server(uvicorn.Server):
    """uvicorn without its own signal handlers."""

    @contextmanager
    def capture_signals(self) -> "Iterator[None]":
        yield


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; raises InputError if the port cannot be had."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # connections inherit it; asyncio does not set it if the protocol of the socket is 0
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            f"cannot listen on {host} port {port} ({reason}): choose another with --host or --port"
        ) from None
    return listening


def serve(config: ServeConfig, log: Log) -> None:
    """Serves until a signal; returns when accepted requests are finished."""
    listening = bind(config.host, config.port)
    _raise_descriptors(config.connections)
    write = log_to(config.log_file, log)
    _collect_seldom()
    failure = _run(_serve(config, listening, write))
    if failure:
        raise ModelError(failure)


async def _serve(config: ServeConfig, listening: socket.socket, log: Log) -> str | None:
    models, traffic = Models(config, log), Traffic()
    metrics = Metrics(models) if config.metrics else None
    file = Path(config.keys_file) if config.keys_file else default_file()
    access = Access(KeyFile(file) if config.require_key else None, config.rate_limit)
    app: Any = build_app(Service(config, models, access, traffic, metrics, log))
    if config.trusted_proxies:
        app = ProxyHeadersMiddleware(app, config.trusted_proxies)
    server = _Server(
        uvicorn.Config(
            app,
            http=protocol_for(config),
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=int(config.idle_seconds) or 1,
            timeout_graceful_shutdown=5,
            backlog=BACKLOG,
        )
    )
    loop = asyncio.get_running_loop()
    drains: list[asyncio.Task[None]] = []

    def stop() -> None:
        if drains:
            models.kill()
            os._exit(130)
        drains.append(asyncio.create_task(_drain(server, traffic, config.drain_seconds, log)))

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    failed: list[bool] = []

    def nothing_to_serve() -> None:
        failed.append(True)
        server.should_exit = True

    loading = models.start(nothing_to_serve)
    warming = loop.run_in_executor(None, detect, "Hello")  # reads its file
    host, port = listening.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    log(f"listening on http://{shown}:{port}; Ctrl-C ends")
    if not config.require_key and not _is_local(host):
        log("anyone who can reach this address may translate: --require-key asks for API keys")
    await server.serve([listening])
    for task in loading:
        task.cancel()
    with suppress(Exception):
        await warming
    await models.stop()
    if failed:
        return "no model can be served: " + "; ".join(
            str(model.engine.failure) for model in models.all
        )
    log("ended")
    return None


async def _drain(server: uvicorn.Server, traffic: Traffic, seconds: float, log: Log) -> None:
    """New requests are refused from now on; the server ends when the others are answered."""
    traffic.draining = True
    log(f"shutting down: {traffic.active} requests to finish")
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await traffic.idle.wait()
    server.should_exit = True


def log_to(file: str, log: Log) -> Log:
    """Writes lines to a file, or with `log`; a full disk or a closed pipe harms nothing."""
    path = Path(file) if file else None

    def write(message: str) -> None:
        with suppress(OSError, ValueError):
            if path is None:
                log(message)
                return
            with path.open("a", encoding="utf-8", errors="backslashreplace") as stream:
                stream.write(message + "\n")

    return write


def _run(work: "Coroutine[Any, Any, T]") -> T:
    """asyncio.run, on uvloop where it is installed."""
    factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    with suppress(ImportError):
        import uvloop

        factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(work)


def _collect_seldom() -> None:
    """Garbage collection stops all requests, for longer the more of them wait."""
    gc.collect()
    gc.freeze()  # what has been loaded is not garbage
    gc.set_threshold(*COLLECT_AFTER)


def _is_local(host: str) -> bool:
    return host == "::1" or host.startswith("127.")


def _raise_descriptors(connections: int) -> None:
    """Allows as many open files as connections need, as far as the system lets us."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + 256
    if soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
