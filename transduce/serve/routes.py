"""The routes: LibreTranslate's, and those that look inside a model."""

import asyncio
import json
import struct
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from transduce.serve.frames import Frame
from transduce.serve.generation import generated_lines, generated_texts, parse_generate
from transduce.serve.languages import name_of
from transduce.serve.limits import Access
from transduce.serve.metrics import Metrics
from transduce.serve.middleware import Traffic
from transduce.serve.models import Model, Models
from transduce.serve.refusal import RefusalError
from transduce.serve.requests import Fields, read_fields
from transduce.serve.settings import ServeConfig
from transduce.serve.translation import check_size, parse_translate, translate
from transduce.translate.language import detect

T = TypeVar("T")

WIDEST_BEAM = 16  # of a lattice
MOST_HEADS = 10_000
STREAMED = {"X-Accel-Buffering": "no"}  # for a proxy in between


@dataclass(frozen=True)
class Service:
    """What the routes work with."""

    config: ServeConfig
    models: Models
    access: Access
    traffic: Traffic
    metrics: Metrics | None
    log: Callable[[str], None]

    async def fields(self, request: Request) -> Fields:
        """The fields of a request that may be served."""
        fields = await read_fields(request, self.config.body_limit, self.config.body_seconds)
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        secret = fields.get("api_key") or (bearer if scheme.lower() == "bearer" else None)
        secret = secret if isinstance(secret, str) else None
        self.access.check(secret, request.client.host if request.client else "")
        for name in ("q", "prompt"):
            if self.config.log_text and fields.get(name):
                self.log(f"{name}: {fields.get(name)!r}")
        return fields

    def deadline(self, request: Request) -> float:
        """On the loop's clock, counted from the request's arrival."""
        return float(request.state.arrival) + self.config.deadline

    async def translate(self, request: Request) -> Response:
        fields = await self.fields(request)
        asked = parse_translate(fields, self.models, self.config)
        work = translate(asked, self.models, self.deadline(request))
        return JSONResponse(await while_connected(request, work))

    async def detect(self, request: Request) -> Response:
        texts, _ = (await self.fields(request)).texts("q")
        check_size(texts, self.config)
        return JSONResponse([detect("\n".join(texts), self.models.codes).to_json()])

    async def languages(self, request: Request) -> Response:
        """GET /languages; a body, which some clients send, is ignored."""
        accepted = request.headers.get("accept-language", "")
        return JSONResponse(
            [
                {
                    "code": code,
                    "name": name_of(code, accepted),
                    "targets": self.models.targets(code),
                }
                for code in self.models.codes
            ]
        )

    async def settings(self, request: Request) -> Response:
        accepted = request.headers.get("accept-language", "")
        source, target = next(iter(self.models.by_pair), ("en", "de"))
        config = self.config
        named = [{"code": code, "name": name_of(code, accepted)} for code in (source, target)]
        return JSONResponse(
            {
                "apiKeys": config.require_key,
                "charLimit": config.char_limit,
                "filesTranslation": False,
                "frontendTimeout": 500,
                "keyRequired": config.require_key,
                "language": dict(zip(("source", "target"), named, strict=True)),
                "suggestions": False,
                "supportedFilesFormat": [],
                "batchLimit": config.batch_limit,
                "bodyLimit": config.body_limit,
                "alternativesLimit": config.alternatives_limit,
                "deadline": config.deadline,
                "loading": any(not one.engine.settled.is_set() for one in self.models.all),
                "parsing": self.models.parser is not None,
                "generation": self.models.language_model is not None,
                "tokensLimit": config.tokens_limit,
                "samplesLimit": config.samples_limit,
            }
        )

    async def health(self, _request: Request) -> Response:
        """Readiness: 503 while no model is loaded and while the server shuts down."""
        if self.traffic.draining:
            return JSONResponse({"status": "draining"}, 503)
        if not self.models.ready:
            return JSONResponse({"status": "loading"}, 503)
        return JSONResponse({"status": "ok"})

    async def show_metrics(self, _request: Request) -> Response:
        if self.metrics is None:
            raise RefusalError(404, "Not Found")
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4")

    async def suggest(self, _request: Request) -> Response:
        raise RefusalError(403, "Suggestions are disabled on this server.")

    async def translate_file(self, _request: Request) -> Response:
        raise RefusalError(403, "Files translation is disabled on this server.")

    async def score(self, request: Request) -> Response:
        fields = await self.fields(request)
        model = self.model(fields)
        texts, several = fields.texts("q")
        translations, _ = fields.texts("translation")
        if len(texts) != len(translations):
            raise RefusalError(
                400, f"q has {len(texts)} texts and translation {len(translations)}: give as many"
            )
        check_size([*texts, *translations], self.config)
        work = model.ask("score", texts=texts, translations=translations)
        results = (await self.within_deadline(request, work)).fields["results"]
        return JSONResponse(results if several else results[0])

    async def parse(self, request: Request) -> Response:
        fields = await self.fields(request)
        model = self.models.find_parser()
        texts, several = fields.texts("q")
        check_size(texts, self.config)
        work = model.ask("parse", texts=texts)
        results = (await self.within_deadline(request, work)).fields["results"]
        return JSONResponse(results if several else results[0])

    async def generate(self, request: Request) -> Response:
        """Texts of a language model: at the end, or as lines of JSON while they are written."""
        fields = await self.fields(request)
        model = self.models.language_model
        if model is None:
            raise RefusalError(404, "there is no language model: start the server with one")
        asked = parse_generate(fields, self.config)
        frames = model.stream("generate", **asked)
        if fields.flag("stream"):
            first = await self.within_deadline(request, anext(frames))  # so that it may be refused
            lines = generated_lines(first, frames, self.deadline(request))
            return StreamingResponse(lines, headers=STREAMED, media_type="application/x-ndjson")
        work = generated_texts(frames, fields.flag("scores"))
        return JSONResponse(await self.within_deadline(request, work))

    async def attention(self, request: Request) -> Response:
        """A JSON header and the weights, as openapi.py describes the block."""
        answer = await self._inspect(request, "attention")
        header = json.dumps(answer.fields, ensure_ascii=False).encode()
        block = struct.pack("<I", len(header)) + header + answer.block
        return Response(block, media_type="application/octet-stream")

    async def beam(self, request: Request) -> Response:
        return JSONResponse((await self._inspect(request, "beam")).fields)

    async def explain(self, request: Request) -> Response:
        return JSONResponse((await self._inspect(request, "explain")).fields)

    async def _inspect(self, request: Request, what: str) -> Frame:
        fields = await self.fields(request)
        asked = parse_inspect(fields, what)
        check_size([asked["text"], asked["translation"] or ""], self.config)
        work = self.model(fields).ask("inspect", **asked)
        answer = await self.within_deadline(request, work)
        del answer.fields["number"]
        return answer

    def model(self, fields: Fields) -> Model:
        """The model of the direction that a request names."""
        source, target = fields.required("source"), fields.required("target")
        return self.models.find(self.models.code(source), self.models.code(target))

    async def within_deadline(self, request: Request, work: Awaitable[T]) -> T:
        async def bounded() -> T:
            try:
                async with asyncio.timeout_at(self.deadline(request)):
                    return await work
            except TimeoutError:
                raise RefusalError(503, "the answer was not ready in time", 1) from None

        return await while_connected(request, bounded())


def parse_inspect(fields: Fields, what: str) -> dict[str, Any]:
    """The arguments of `inspection.inspect`; raises RefusalError if one is not valid."""
    asked: dict[str, Any] = {
        "what": what,
        "text": fields.required("q"),
        "translation": fields.string("translation"),
        "tokens": fields.whole_numbers("tokens"),
        "prefix": fields.whole_numbers("prefix"),
        "beam": fields.whole("beam", 4, 1, WIDEST_BEAM),
        "alpha": fields.number("alpha", 0.6, 0, 10),
        "heads_off": parse_heads(fields.get("heads_off")),
    }
    if what == "explain":
        asked["kind"] = parse_kind(fields)
        for name in ("layer", "head"):
            asked[name] = fields.whole(name, 1, 1, 10_000)
        for name in ("query", "key"):
            asked[name] = fields.whole(name, 0, 0, 10_000)
    return asked


def parse_kind(fields: Fields) -> str:
    kind = fields.string("kind") or "cross"
    if kind not in ("encoder", "decoder", "cross"):
        raise RefusalError(400, "Invalid request: kind must be encoder, decoder or cross")
    return kind


def parse_heads(value: Any) -> list[dict[str, Any]]:
    """A list of objects with kind, layer and head."""
    heads = [] if value is None else value
    if isinstance(heads, list) and all(isinstance(one, dict) for one in heads):
        each = [Fields(one) for one in heads[:MOST_HEADS]]
        return [
            {
                "kind": parse_kind(one),
                "layer": one.whole("layer", 0, 1, 10_000),
                "head": one.whole("head", 0, 1, 10_000),
            }
            for one in each
        ]
    raise RefusalError(
        400, "Invalid request: heads_off must be a list of objects with kind, layer and head"
    )


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, which is cancelled if the client goes away."""
    task = asyncio.create_task(work)
    gone = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise RefusalError(499, "the client went away")
        return task.result()
    finally:
        task.cancel()
        gone.cancel()
