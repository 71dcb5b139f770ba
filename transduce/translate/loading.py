"""The network and the tokenizer of a model, for use in a notebook."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from transduce.directory import ModelDirectory
from transduce.errors import optional
from transduce.model_names import model_path
from transduce.tokenizer import TokenizerLike

if TYPE_CHECKING:
    from transduce.model import Network


class LoadedModel(NamedTuple):
    """A network and its tokenizer."""

    model: "Network"
    tokenizer: TokenizerLike


def load(model: Path | str | None = None, device: str = "cpu") -> LoadedModel:
    """The network of a model, in eval mode, and its tokenizer; `model` is as for `Translator.load`.

    A network reads a source's ids followed by EOS, and a target's preceded by BOS:

    >>> model, tokenizer = load("RUN/model")  # doctest: +SKIP
    >>> ids = [*tokenizer.encode("A dog runs."), model.config.eos_id]
    >>> memory = model.encode(torch.tensor([ids]))
    """
    opened = ModelDirectory.open(model_path(model))
    with optional("a network"):
        return LoadedModel(opened.network(device), opened.tokenizer)
