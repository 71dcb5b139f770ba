"""A request to a language model, and its answer: whole, or line by line."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

from transduce.serve.frames import Frame
from transduce.serve.refusal import RefusalError
from transduce.serve.requests import Fields
from transduce.serve.settings import ServeConfig
from transduce.serve.translation import check_size

LARGEST_SEED = 2**32
TINY = 1e-9  # the smallest top_p; with 0 no token would be left

Frames = AsyncGenerator[Frame, None]


def parse_generate(fields: Fields, config: ServeConfig) -> dict[str, Any]:
    """The arguments of the task; raises RefusalError if one is not valid."""
    prompt = fields.string("prompt") or ""
    check_size([prompt], config)
    tokens = fields.whole("tokens", min(200, config.tokens_limit), 1, config.tokens_limit)
    prefix = fields.whole_numbers("prefix")
    if len(prefix) > tokens:
        raise RefusalError(
            400, f"prefix has {len(prefix)} ids but tokens is {tokens}: ask for more"
        )
    return {
        "prompt": prompt,
        "tokens": tokens,
        "sampling": {
            "temperature": fields.number("temperature", 1.0, 0, 100),
            "top_k": fields.whole("top_k", 0, 1, 10**9) or None,
            "top_p": fields.number("top_p", 1.0, TINY, 1),
        },
        "seed": fields.whole("seed", 1, 0, LARGEST_SEED),
        "n": fields.whole("n", 1, 1, config.samples_limit),
        "prefix": prefix,
    }


async def generated_texts(frames: Frames, scores: bool) -> dict[str, Any]:
    """The answer when all texts are written."""
    results, tokens = [], list[dict[str, Any]]()
    async with aclosing(frames):
        async for frame in frames:
            fields = about_text(frame)
            if "end" not in fields:
                tokens.append({k: v for k, v in fields.items() if k not in ("sample", "seed")})
                continue
            del fields["sample"]
            results.append({**fields, "tokens": tokens} if scores else fields)
            tokens = []
    return {"results": results}


async def generated_lines(first: Frame, frames: Frames, deadline: float) -> AsyncIterator[str]:
    """A line of JSON for each token and the end of each text; the last says if time ran out."""
    async with aclosing(frames):
        frame: Frame | None = first
        try:
            while frame is not None:
                yield to_line(about_text(frame))
                async with asyncio.timeout_at(deadline):
                    frame = await anext(frames, None)
        except TimeoutError:
            yield to_line({"end": "deadline"})
        except RefusalError as error:
            yield to_line({"error": error.sentence})


def about_text(frame: Frame) -> dict[str, Any]:
    return {name: value for name, value in frame.fields.items() if name != "number"}


def to_line(fields: dict[str, Any]) -> str:
    return json.dumps(fields, ensure_ascii=False) + "\n"
