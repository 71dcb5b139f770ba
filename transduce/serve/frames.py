"""Messages between the server and its engine processes: JSON, with a binary block."""

import asyncio
import json
import struct
from dataclasses import dataclass
from socket import socket
from typing import Any

LENGTHS = struct.Struct("!II")  # bytes of the JSON and of the block


@dataclass(frozen=True)
class Frame:
    fields: dict[str, Any]
    block: bytes = b""

    def encode(self) -> bytes:
        text = json.dumps(self.fields).encode("ascii")
        return LENGTHS.pack(len(text), len(self.block)) + text + self.block


async def read_frame(stream: asyncio.StreamReader) -> Frame:
    """The next frame; raises IncompleteReadError at the end of the stream."""
    text, block = LENGTHS.unpack(await stream.readexactly(LENGTHS.size))
    return Frame(json.loads(await stream.readexactly(text)), await stream.readexactly(block))


def receive_frame(connection: socket) -> Frame | None:
    """The next frame of a blocking socket; None at its end."""
    lengths = _receive(connection, LENGTHS.size)
    if lengths is None:
        return None
    text, block = LENGTHS.unpack(lengths)
    content, data = _receive(connection, text), _receive(connection, block)
    return None if content is None or data is None else Frame(json.loads(content), data)


def _receive(connection: socket, size: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < size:
        some = connection.recv(min(size - len(parts), 2**20))
        if not some:
            return None
        parts += some
    return bytes(parts)
