"""The fields of a request: JSON, or query string, urlencoded form and multipart form together."""

import asyncio
import json
import math
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request

from transduce.serve.refusal import RefusalError, missing

TRUE, FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off", "")


@dataclass(frozen=True)
class Fields:
    """The fields of a request by name; JSON has types, forms have strings."""

    values: dict[str, Any] = field(default_factory=dict)

    def get(self, name: str) -> Any:
        """The value; None if it is missing or null."""
        return self.values.get(name)

    def string(self, name: str) -> str | None:
        value = self.get(name)
        if value is not None and not isinstance(value, str):
            raise RefusalError(400, f"Invalid request: {name} must be a string")
        return _unicode(name, value) if value else None

    def required(self, name: str) -> str:
        value = self.string(name)
        if value is None:
            raise missing(name)
        return value

    def texts(self, name: str) -> tuple[list[str], bool]:
        """One or several texts, and whether it is a list."""
        value = self.get(name)
        if value is None or value in ("", []):
            raise missing(name)
        several = value if isinstance(value, list) else [value]
        if not all(isinstance(text, str) for text in several):
            raise RefusalError(
                400, f"Invalid request: {name} must be a string or a list of strings"
            )
        return [_unicode(name, text) for text in several], isinstance(value, list)

    def number(self, name: str, default: float, least: float, most: float) -> float:
        value = self.get(name)
        if value is None or value == "":
            return default
        try:
            if isinstance(value, bool | list | dict):
                raise ValueError
            number = float(value)
        except ValueError:
            raise RefusalError(400, f"Invalid request: {name} must be a number") from None
        if math.isnan(number) or not least <= number <= most:
            raise RefusalError(
                400, f"Invalid request: {name} must be between {least:g} and {most:g}"
            )
        return number

    def whole(self, name: str, default: int, least: int, most: int) -> int:
        number = self.number(name, default, least, most)
        if number != int(number):
            raise RefusalError(400, f"Invalid request: {name} must be a whole number")
        return int(number)

    def flag(self, name: str) -> bool:
        value = self.get(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        if isinstance(value, str) and value.lower() in TRUE + FALSE:
            return value.lower() in TRUE
        raise RefusalError(400, f"Invalid request: {name} must be true or false")

    def whole_numbers(self, name: str) -> list[int]:
        """A list of whole numbers, such as token ids; empty if it is missing."""
        value = self.get(name)
        if value is None:
            return []
        if not isinstance(value, list) or not all(
            isinstance(one, int) and not isinstance(one, bool) for one in value
        ):
            raise RefusalError(400, f"Invalid request: {name} must be a list of whole numbers")
        return value


async def read_fields(request: Request, body_limit: int, seconds: float) -> Fields:
    """Reads the body, of limited size and within limited time, and decodes its fields."""
    body = await _read(request, body_limit, seconds)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        return Fields(_from_json(body))
    pairs = _decoded(request.scope["query_string"])
    if kind == "multipart/form-data":
        pairs += _strings(await _multipart(request, body))
    elif kind in ("application/x-www-form-urlencoded", ""):
        pairs += _decoded(body)
    values: dict[str, Any] = {}
    for name, value in pairs:
        values.setdefault(name, value.replace("\r\n", "\n"))
    return Fields(values)


async def _read(request: Request, limit: int, seconds: float) -> bytes:
    length = request.headers.get("content-length", "0")
    too_large = RefusalError(413, f"request exceeds the limit of {limit:,} bytes")
    if length.isascii() and length.isdigit() and int(length[:20]) > limit:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise too_large
    except TimeoutError:
        raise RefusalError(408, "the body did not arrive in time") from None
    except ClientDisconnect:
        raise RefusalError(499, "the client went away") from None
    return bytes(body)


def _from_json(body: bytes) -> dict[str, Any]:
    try:
        values = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise RefusalError(400, "Invalid request: the body is not valid JSON") from None
    if not isinstance(values, dict):
        raise RefusalError(400, "Invalid request: the JSON body must be an object")
    return values


def _decoded(text: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(text.decode("utf-8"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise RefusalError(400, "Invalid request: the form is not valid UTF-8") from None


async def _multipart(request: Request, body: bytes) -> FormData:
    async def stream() -> Any:
        yield body

    try:
        return await MultiPartParser(request.headers, stream(), max_files=10).parse()
    except (MultiPartException, KeyError, ValueError) as error:
        sentence = getattr(error, "message", "it cannot be read")
        raise RefusalError(400, f"Invalid request: multipart form: {sentence}") from None


def _strings(form: FormData) -> list[tuple[str, str]]:
    return [
        (name, value) for name, value in form.multi_items() if not isinstance(value, UploadFile)
    ]


def _unicode(name: str, text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise RefusalError(400, f"Invalid request: {name} has an unpaired surrogate") from None
    return text
