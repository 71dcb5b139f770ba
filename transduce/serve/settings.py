"""Settings of the server: flags, environment variables and the TOML section [serve]."""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from transduce.config import Section, read_toml
from transduce.errors import ConfigError, nearest

PREFIX = "TRANSDUCE_SERVE_"  # of environment variables

Seconds = Annotated[float, Field(gt=0, le=3600)]
Count = Annotated[int, Field(ge=1, le=10**9)]


class ServeConfig(Section):
    """The server."""

    section: ClassVar[str] = "serve"

    host: str = Field("127.0.0.1", description="Address to bind to; the default is this machine")
    port: Annotated[int, Field(ge=0, le=65535)] = Field(5000, description="Port; 0: a free one")
    models: list[str] = Field([], description="[SRC-TGT=]MODEL of each; none: the bundled ones")
    engine: str = Field("auto", description="As for translate")
    device: str = Field("auto", description="As for translate")
    compute: str = Field("auto", description="As for translate")

    char_limit: Count = Field(50_000, description="Characters of a request")
    batch_limit: Count = Field(1000, description="Texts of a request")
    body_limit: Count = Field(2**21, description="Bytes of a request")
    alternatives_limit: Annotated[int, Field(ge=0, le=100)] = Field(
        10, description="Alternatives of a request"
    )
    tokens_limit: Count = Field(1000, description="Tokens of a text that a language model writes")
    samples_limit: Count = Field(10, description="Texts that a language model writes for a request")
    deadline: Seconds = Field(9.0, description="Seconds from a request's arrival to its answer")

    queue_limit: Count = Field(5000, description="Texts that wait for a model")
    queue_seconds: Seconds = Field(1.5, description="A request is refused if it would wait longer")
    batch_tokens: Count = Field(512, description="Tokens of a batch, estimated from characters")
    batch_ms: Annotated[float, Field(ge=0, le=1000)] = Field(
        5.0, description="A text waits so long for others, if others are expected"
    )
    batches: Annotated[int, Field(ge=0, le=64)] = Field(
        0, description="Batches of a model that are computed at the same time; 0: one for each core"
    )

    require_key: bool = Field(False, description="Requests need an API key")
    keys_file: str = Field("", description="The hashed API keys")
    rate_limit: str = Field("", description="Of each key and address, such as 60/minute")
    cors: list[str] = Field([], description="Origins whose pages may send requests; * is any")
    trusted_proxies: list[str] = Field(
        [], description="Addresses of proxies whose X-Forwarded-For is believed"
    )
    metrics: bool = Field(False, description="Serve GET /metrics for Prometheus")
    log_text: bool = Field(False, description="Write the texts of requests to the log")
    log_file: str = Field("", description="Append the log to this file instead of stderr")

    connections: Count = Field(1000, description="Open connections")
    header_seconds: Seconds = Field(10.0, description="From a connection to complete headers")
    body_seconds: Seconds = Field(10.0, description="From headers to the end of the body")
    idle_seconds: Seconds = Field(15.0, description="Until an idle connection is closed")
    write_seconds: Seconds = Field(30.0, description="Until a client must have read an answer")
    hang_seconds: Seconds = Field(120.0, description="Until an engine that hangs is replaced")
    drain_seconds: Seconds = Field(30.0, description="For requests to finish after SIGTERM")


def read_settings(
    file: Path | None, given: Mapping[str, Any], environment: Mapping[str, str] = os.environ
) -> ServeConfig:
    """`given` flags override environment variables, which override the section of a file."""
    section: dict[str, Any] = read_toml(file).get("serve", {}) if file else {}
    values = {**section, **_from_environment(environment), **given}
    for name in values:
        if name not in ServeConfig.model_fields:
            known = nearest(name, ServeConfig.model_fields)
            raise ConfigError(f"unknown setting serve.{name}{known}")
    config = ServeConfig(**values)
    if config.rate_limit:
        from transduce.serve.limits import parse_rate

        parse_rate(config.rate_limit)
    return config


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """The settings whose variables are set: TOML values, bare words, or lists with commas."""
    found = {}
    for name, field in ServeConfig.model_fields.items():
        text = environment.get(PREFIX + name.upper())
        if text:
            found[name] = text.split(",") if field.annotation == list[str] else _value(text)
    return found


def parse_setting(item: str) -> dict[str, Any]:
    """`serve.key=value` with a TOML value; a bare word is a string."""
    name, equals, text = item.partition("=")
    section, _, key = name.strip().partition(".")
    if not equals or section != "serve" or not key:
        raise ConfigError(f"cannot read the setting {item!r}: write serve.key=value")
    return {key: _value(text)}


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        return text
