"""`config.json`, the description of a model."""

from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from transduce.config import Linearisation, ModelConfig, Section
from transduce.directory.files import read_json
from transduce.directory.weights import DType
from transduce.errors import ConfigError, ModelError

FILE = "config.json"
FORMAT_VERSION = 1

Text = Annotated[str, Field(max_length=10_000)]


class Description(Section):
    """The content of `config.json`."""

    section: ClassVar[str] = ""

    format_version: int = FORMAT_VERSION
    task: Text = "translation"
    source_language: Text | None = None
    target_language: Text | None = None
    max_length: Annotated[int, Field(ge=1, le=1_000_000)] = 256  # source tokens
    weights: Text | None = None  # how they were made
    linearisation: Linearisation | None = None  # of a parser's trees
    dtype: DType = "float32"
    sentences_per_line: Annotated[float, Field(ge=0)] | None = None  # of the training sources
    low_score: Annotated[float, Field(le=0)] | None = None  # log-probability per token, unusual
    model: ModelConfig

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude_none=True)


def read_description(directory: Path) -> dict[str, Any]:
    """The values of `config.json`; raises ModelError if this version cannot read them."""
    values = read_json(directory, FILE)
    if "format_version" not in values and isinstance(values.get("model_type"), str):
        raise ModelError(_import_first(directory, values["model_type"]))
    version = values.get("format_version")
    if version != FORMAT_VERSION:
        raise ModelError(
            f"{directory} has format version {version}, but this transduce reads version "
            f"{FORMAT_VERSION}: use the release that wrote it, or export the model again"
        )
    return values


def _import_first(directory: Path, kind: str) -> str:
    """The message for a checkpoint of Hugging Face."""
    if kind == "marian":
        return (
            f"{directory} is a Hugging Face checkpoint: import it first, with "
            f"transduce import --from huggingface {directory} OUT"
        )
    return (
        f"{directory} is a Hugging Face checkpoint of type {kind!r}: only marian models "
        "(OPUS-MT) can be imported"
    )


def description_of(values: dict[str, Any], directory: Path) -> Description:
    """The checked description; raises ModelError if the values do not describe a model."""
    if "stored" in values:  # an older name of the dtype
        values = {"dtype": values["stored"], **values}
    known = {name: value for name, value in values.items() if name in Description.model_fields}
    try:
        if not isinstance(values.get("model"), dict):
            raise ConfigError("it has no model settings")
        return Description(**{**known, "model": ModelConfig(**values["model"])})
    except ConfigError as error:
        raise ModelError(f"{directory / FILE} does not describe a model: {error}") from None
