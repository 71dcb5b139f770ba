"""Around every request: counting, refusing while draining, headers, the log and the metrics."""

import asyncio
from collections.abc import Callable

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from transduce.log import Log
from transduce.serve.metrics import Metrics

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: "
    "blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}


class Traffic:
    """The requests that are being served, and whether new ones are accepted."""

    def __init__(self) -> None:
        self.active = 0
        self.draining = False
        self.idle = asyncio.Event()
        self.idle.set()

    def begin(self) -> None:
        self.active += 1
        self.idle.clear()

    def end(self) -> None:
        self.active -= 1
        if not self.active:
            self.idle.set()


class Surroundings:
    """Pure ASGI, so that a route learns when its client goes away."""

    def __init__(
        self,
        app: ASGIApp,
        traffic: Traffic,
        metrics: Metrics | None,
        log: Log,
        routes: Callable[[str], str],
    ) -> None:
        """`routes` gives the name of a path's route for the metrics."""
        self.app, self.traffic, self.metrics, self.log = app, traffic, metrics, log
        self.routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        loop = asyncio.get_running_loop()
        arrival = loop.time()
        scope["state"]["arrival"] = arrival
        status = 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if self.traffic.draining:
                    headers["Connection"] = "close"
                if "cache-control" not in headers:
                    headers["Cache-Control"] = "no-store"
            await send(message)

        app = self.app
        if self.traffic.draining and scope["path"] != "/health":
            app = JSONResponse({"error": "the server is shutting down"}, 503, {"Retry-After": "5"})
        self.traffic.begin()
        try:
            await app(scope, receive, sending)
        except Exception as error:
            self.log(f"{scope['method']} {self.routes(scope['path'])}: {type(error).__name__}")
            if not status:
                await JSONResponse({"error": "an internal error"}, 500)(scope, receive, sending)
        finally:
            self.traffic.end()
            seconds = loop.time() - arrival
            route = self.routes(scope["path"])
            method = scope["method"] if scope["method"] in ("GET", "POST", "HEAD") else "OTHER"
            self.log(f"{method} {route} {status or 499} {1000 * seconds:.0f} ms")
            if self.metrics:
                self.metrics.requests.labels(route, str(status or 499)).inc()
                self.metrics.seconds.labels(route).observe(seconds)
