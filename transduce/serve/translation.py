"""A request for translation: texts to models, line by line, and back."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from transduce.serve.batcher import Result
from transduce.serve.languages import name_of
from transduce.serve.models import Model, Models, Options
from transduce.serve.refusal import RefusalError
from transduce.serve.requests import Fields
from transduce.serve.settings import ServeConfig
from transduce.translate.language import Detected, detect

SURE = 0.5  # probability of a detected language that is believed although it is not served
BLANK: Result = {"translation": "", "flags": []}
_LINE_END = re.compile(r"(\r\n|\n|\r)")


@dataclass(frozen=True)
class Translate:
    """A valid request to POST /translate."""

    texts: list[str]
    several: bool
    source: str | None  # None: detected for each text
    target: str
    options: Options
    flags: bool


def parse_translate(fields: Fields, models: Models, config: ServeConfig) -> Translate:
    """Raises RefusalError if the request is not valid."""
    texts, several = fields.texts("q")
    source, target = fields.required("source"), fields.required("target")
    check_size(texts, config)
    kind = fields.string("format") or "text"
    if kind not in ("text", "html"):
        raise RefusalError(400, f"{kind[:20]} format is not supported")
    alternatives = fields.whole("alternatives", 0, 0, config.alternatives_limit)
    html = kind == "html"
    options = Options(1 if html else 1 + alternatives, fields.flag("scores") and not html, html)
    code = None if source.lower() == "auto" else models.code(source)
    wanted = models.code(target)
    if code is not None and code != wanted:
        models.find(code, wanted)
    return Translate(texts, several, code, wanted, options, fields.flag("flags"))


def check_size(texts: Sequence[str], config: ServeConfig) -> None:
    characters = sum(map(len, texts))
    if characters > config.char_limit:
        raise RefusalError(400, f"request ({characters}) exceeds text limit ({config.char_limit})")
    if len(texts) > config.batch_limit:
        raise RefusalError(
            400, f"request ({len(texts)}) exceeds batch limit ({config.batch_limit})"
        )


async def translate(request: Translate, models: Models, deadline: float) -> dict[str, Any]:
    """The answer to a request, with LibreTranslate's fields."""
    detected = [
        None if request.source else detect_for(request, text, models) for text in request.texts
    ]
    sources = [one.language if one else request.source for one in detected]
    pieces = [
        [] if source == request.target else pieces_of(text, request.options.html)
        for text, source in zip(request.texts, sources, strict=True)
    ]
    by_model: dict[Model, list[str]] = {}
    for source, some in zip(sources, pieces, strict=True):
        model = models.by_pair.get((source or "", request.target))
        if model and any(some):
            by_model.setdefault(model, []).extend(filter(None, some))
    found = await asyncio.gather(
        *(model.batcher.submit(some, request.options, deadline) for model, some in by_model.items())
    )
    answers = dict(zip(by_model, map(iter, found), strict=True))
    results = []
    for text, source, some in zip(request.texts, sources, pieces, strict=True):
        model = models.by_pair.get((source or "", request.target))
        if model is None or not some:
            results.append({"translation": text})
        else:
            lines = [next(answers[model]) if line else BLANK for line in some]
            results.append(join_lines(text, lines, request.options.html))
    columns: dict[str, list[Any]] = {"translatedText": [r["translation"] for r in results]}
    if request.source is None:
        columns["detectedLanguage"] = [one.to_json() for one in detected if one]
    if request.options.n_best > 1:
        columns["alternatives"] = [r.get("alternatives", []) for r in results]
    if request.options.html:
        columns["alternatives"] = [[] for _ in results]
    if request.flags:
        columns["flags"] = [r.get("flags", []) for r in results]
    if request.options.scores:
        columns["scores"] = [_scores(r) for r in results]
    return columns if request.several else {name: values[0] for name, values in columns.items()}


def detect_for(request: Translate, text: str, models: Models) -> Detected:
    """The language of a text; one that is not served is believed only if it is sure.

    Raises RefusalError for a single text in a language that is not served; in a list such a text
    is returned as it is.
    """
    served = [*models.sources(request.target), request.target]
    found = detect(text, served, SURE)
    if found.language not in served and not request.several:
        name = name_of(found.language)
        raise RefusalError(
            400,
            f"{name} ({found.language}) is not available as a source language for "
            f"{name_of(request.target)} ({request.target})",
        )
    return found


def pieces_of(text: str, html: bool) -> list[str]:
    """What is translated of a text: its lines without margins, or the whole of a page."""
    if html:
        return [text] if text.strip() else [""]
    return [line.strip() for line in _LINE_END.split(text)[::2]]


def join_lines(text: str, results: Sequence[Result], html: bool) -> Result:
    """The translation of a text, with line ends and margins as they are."""
    if html and text.strip():
        return results[0]
    return results[0] if len(results) == 1 and text == text.strip() else _joined(text, results)


def _joined(text: str, results: Sequence[Result]) -> Result:
    """The lines of a text; its n-th alternative has the n-th of each line, or its best."""
    parts = _LINE_END.split(text)
    assert len(parts[::2]) == len(results)

    def whole(rank: int | None) -> str:
        made = list(parts)
        for i, result in enumerate(results):
            line, best = parts[2 * i], result["translation"]
            others = result.get("alternatives", [])
            chosen = best if rank is None or rank >= len(others) else others[rank]
            lead = line[: len(line) - len(line.lstrip())]
            tail = line[len(line.rstrip()) :] if line.strip() else ""
            made[2 * i] = lead + chosen + tail
        return "".join(made)

    count = max((len(result.get("alternatives", [])) for result in results), default=0)
    joined: Result = {"translation": whole(None)}
    joined["alternatives"] = [whole(rank) for rank in range(count)]
    joined["flags"] = list(dict.fromkeys(flag for r in results for flag in r.get("flags", [])))
    for name in ("tokens", "token_scores", "units"):
        joined[name] = [item for r in results for item in r.get(name, [])]
    joined["score"] = sum(r.get("score", 0.0) for r in results)
    return joined


def _scores(result: Result) -> dict[str, Any]:
    return {
        "score": result.get("score", 0.0),
        "tokens": result.get("tokens", []),
        "tokenScores": result.get("token_scores", []),
        "units": result.get("units", []),  # tokens of each sentence; it has a score of EOS besides
    }
