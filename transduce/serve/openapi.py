"""The OpenAPI description of the server."""

from functools import cache
from importlib.metadata import version
from typing import Any

Schema = dict[str, Any]

STRING: Schema = {"type": "string"}
TEXTS: Schema = {"oneOf": [STRING, {"type": "array", "items": STRING, "minItems": 1}]}
IDS: Schema = {"type": "array", "items": {"type": "integer"}}
BOOLEAN: Schema = {"type": "boolean", "default": False}
ERROR: Schema = {"type": "object", "properties": {"error": STRING}, "required": ["error"]}
ANY: Schema = {}

Q = ("q", TEXTS, "The text, or several")
ONE = ("q", STRING, "The text")
SOURCE = ("source", STRING, "Language code")
TARGET = ("target", STRING, "Language code")
KEY = ("api_key", {"type": ["string", "null"]}, "If the server requires one")
PAIR = (SOURCE, TARGET)
INSPECTED = (
    ONE,
    *PAIR,
    ("translation", STRING, "A translation to read instead of the model's own"),
    ("tokens", IDS, "The same as token ids"),
    ("prefix", IDS, "Token ids that the translation must begin with"),
    ("beam", {"type": "integer", "minimum": 1, "maximum": 16, "default": 4}, "Beam width"),
    ("alpha", {"type": "number", "minimum": 0, "maximum": 10, "default": 0.6}, "Length penalty"),
    (
        "heads_off",
        {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "kind": {"enum": ["encoder", "decoder", "cross"]},
                    "layer": {"type": "integer", "minimum": 1},
                    "head": {"type": "integer", "minimum": 1},
                },
                "required": ["kind", "layer", "head"],
            },
        },
        "Heads to switch off, counted from 1",
    ),
    KEY,
)
BLOCK = (
    "A binary block: the length of a JSON header in 4 bytes (little-endian), the header, then "
    "the weights as uint8, 255 for 1. The header has source and target tokens, their words, the "
    "steps with runners-up, and for encoder, decoder and cross the shape [layer, head, query, key] "
    "and the offset in the block; of embedding, the source tokens times √d_model, the shape, the "
    "offset, and the largest number, which is 255 (128 is 0)."
)

# Path → summary, fields of the body, those that are required, and the answer.
POSTS: dict[str, tuple[str, tuple[tuple[str, Schema, str], ...], list[str], str]] = {
    "/translate": (
        "Translate a text or a list of texts",
        (
            Q,
            ("source", STRING, 'Language code, or "auto" to detect it for each text'),
            TARGET,
            ("format", {"enum": ["text", "html"], "default": "text"}, "Of the texts"),
            ("alternatives", {"type": "integer", "minimum": 0, "default": 0}, "Number of others"),
            ("flags", BOOLEAN, "Also give what the checks of the translation found and did"),
            ("scores", BOOLEAN, "Also give the log-probability of each token"),
            KEY,
        ),
        ["q", "source", "target"],
        "translatedText, and what was asked for; lists if q is a list",
    ),
    "/detect": ("Detect the language of a text", (Q, KEY), ["q"], "One language with a confidence"),
    "/score": (
        "Log-probabilities of given translations",
        (Q, *PAIR, ("translation", TEXTS, "As many as q"), KEY),
        ["q", "source", "target", "translation"],
        "log_prob, per_token, perplexity, score, tokens and token_scores",
    ),
    "/attention": (
        "The attention weights of every head for a sentence pair",
        INSPECTED,
        ["q", "source", "target"],
        BLOCK,
    ),
    "/beam": (
        "Beam search as a lattice, with the branches that were pruned",
        INSPECTED,
        ["q", "source", "target"],
        "nodes: each has a parent, a token, log-probabilities, score and state",
    ),
    "/explain": (
        "Equation 1 for one query of one head",
        (
            *INSPECTED,
            ("kind", {"enum": ["encoder", "decoder", "cross"]}, "Of attention"),
            ("layer", {"type": "integer", "minimum": 1}, "Counted from 1"),
            ("head", {"type": "integer", "minimum": 1}, "Counted from 1"),
            ("query", {"type": "integer", "minimum": 0}, "Position of the query"),
            ("key", {"type": "integer", "minimum": 0}, "Position of the key"),
        ),
        ["q", "source", "target"],
        "q, k, the products, the scaled scores and the weights of the row",
    ),
    "/parse": (
        "Constituency trees, if a parsing model is served",
        (Q, KEY),
        ["q"],
        "tree in brackets, and score",
    ),
    "/generate": (
        "Continue a text, if a language model is served",
        (
            ("prompt", {**STRING, "default": ""}, "The beginning of the text"),
            ("tokens", {"type": "integer", "minimum": 1, "default": 200}, "To write at most"),
            (
                "temperature",
                {"type": "number", "minimum": 0, "maximum": 100, "default": 1},
                "Divides the logits; 0 is the likeliest token",
            ),
            ("top_k", {"type": "integer", "minimum": 1}, "Sample from the likeliest only"),
            (
                "top_p",
                {"type": "number", "exclusiveMinimum": 0, "maximum": 1, "default": 1},
                "Sample from the likeliest tokens that together have this probability",
            ),
            ("seed", {"type": "integer", "minimum": 0, "default": 1}, "Text i has seed + i"),
            ("n", {"type": "integer", "minimum": 1, "default": 1}, "Number of texts"),
            ("prefix", IDS, "Token ids that the continuation must begin with"),
            ("scores", BOOLEAN, "Also give each token with its probability and runners-up"),
            ("stream", BOOLEAN, "Answer with a line of JSON for each token, when it is written"),
            KEY,
        ),
        [],
        "results: of each text its text, seed and end (length or eos). A stream has a line for "
        "each token (sample, seed, id, token, text, probability, forced, runners_up) and one for "
        "the end of each text, or with error",
    ),
}
GETS = {
    "/languages": "The languages and what they can be translated into",
    "/frontend/settings": "Limits and features of this server",
    "/health": "200 if the server is ready, otherwise 503",
    "/metrics": "For Prometheus, if it is turned on",
}


@cache
def description() -> Schema:
    """OpenAPI 3.1."""
    paths: Schema = {path: {"get": _get(path, summary)} for path, summary in GETS.items()}
    for path, (summary, fields, required, answer) in POSTS.items():
        paths[path] = {"post": _post(path, summary, fields, required, answer)}
    about = "LibreTranslate's protocol, and routes that look inside the model."
    return {
        "openapi": "3.1.0",
        "info": {"title": "transduce", "version": version("transduce"), "description": about},
        "paths": paths,
    }


def _get(path: str, summary: str) -> Schema:
    kind = "text/plain" if path == "/metrics" else "application/json"
    responses: Schema = {"200": {"description": summary, "content": {kind: {"schema": ANY}}}}
    if path in ("/health", "/metrics"):
        responses["503" if path == "/health" else "404"] = _error("Not ready, or turned off")
    return {
        "summary": summary,
        "operationId": path.strip("/").replace("/", "-"),
        "responses": responses,
    }


def _post(
    path: str,
    summary: str,
    fields: tuple[tuple[str, Schema, str], ...],
    required: list[str],
    answer: str,
) -> Schema:
    properties = {name: {**schema, "description": text} for name, schema, text in fields}
    schema = {"type": "object", "properties": properties, "required": required}
    kinds = ["application/json", "application/x-www-form-urlencoded", "multipart/form-data"]
    if path in ("/attention", "/beam", "/explain"):
        kinds = kinds[:1]
    answered = ["application/octet-stream" if path == "/attention" else "application/json"]
    if path == "/generate":
        answered.append("application/x-ndjson")
    refusals = {
        "400": "Invalid request, or no key",
        "403": "Wrong key",
        "404": "No such model",
        "408": "The body took too long",
        "413": "Too large",
        "429": "Too many requests: try again after Retry-After",
        "501": "Not installed",
        "503": "Not ready or not in time: try again after Retry-After",
    }
    return {
        "summary": summary,
        "operationId": path.strip("/"),
        "requestBody": {
            "required": True,
            "content": {kind: {"schema": schema} for kind in kinds},
        },
        "responses": {
            "200": {"description": answer, "content": {kind: {"schema": ANY} for kind in answered}},
            **{status: _error(text) for status, text in refusals.items()},
        },
    }


def _error(text: str) -> Schema:
    return {"description": text, "content": {"application/json": {"schema": ERROR}}}
