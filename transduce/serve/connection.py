"""HTTP connections that end: silent and slow ones, endless headers, clients that do not read."""

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from transduce.serve.settings import ServeConfig

LARGEST_HEADERS = 2**16  # bytes


def protocol_for(config: ServeConfig) -> type[HttpToolsProtocol]:
    """uvicorn's protocol with the time limits of these settings."""

    class Connection(HttpToolsProtocol):
        """Closed if headers are not complete in time, on each request of the connection."""

        _timer: asyncio.TimerHandle | None = None
        _unread: asyncio.TimerHandle | None = None
        _bytes: int = 0  # of headers that are not complete

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > config.connections:
                self._refuse(503, "too many connections: try again later")
                return
            self._start_timer()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timer()
            self.resume_writing()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self.transport.is_closing():
                return
            super().data_received(data)
            if self._timer is not None:
                self._bytes += len(data)
                if self._bytes > LARGEST_HEADERS:
                    self._refuse(431, "the headers are too large")

        def on_message_begin(self) -> None:
            self._start_timer()
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self._stop_timer()
            super().on_headers_complete()

        def pause_writing(self) -> None:
            self._unread = self.loop.call_later(config.write_seconds, self.transport.abort)
            super().pause_writing()

        def resume_writing(self) -> None:
            if self._unread is not None:
                self._unread.cancel()
                self._unread = None
            super().resume_writing()

        def send_400_response(self, msg: str) -> None:
            if not self.transport.is_closing():
                self._refuse(400, "this is not a valid HTTP request")

        def _start_timer(self) -> None:
            if self._timer is None:
                self._timer = self.loop.call_later(config.header_seconds, self.transport.abort)
                self._bytes = 0

        def _stop_timer(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _refuse(self, status: int, sentence: str) -> None:
            self._stop_timer()
            body = json.dumps({"error": sentence}).encode()
            self.transport.write(
                STATUS_LINE[status]
                + b"content-type: application/json\r\nconnection: close\r\ncontent-length: "
                + str(len(body)).encode()
                + b"\r\n\r\n"
                + body
            )
            self.transport.close()

    return Connection
