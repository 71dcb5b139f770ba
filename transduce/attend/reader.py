"""A model that reads sentences: networks of every kind give their attention weights alike."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from transduce.corpus.reading import TextFile
from transduce.directory import ModelDirectory
from transduce.engines import Ids, Request
from transduce.errors import InputError, optional
from transduce.grammar import sentences
from transduce.log import Log, silent
from transduce.model_names import model_path
from transduce.search import PAPER, Search
from transduce.tokenizer import TokenizerLike
from transduce.translate.attention import Attention, attention_of, attentions_of, encode_source
from transduce.translate.lines import ArrivingLines, clean, decode_lines
from transduce.translate.loading import LoadedModel
from transduce.translate.translator import MAX_LENGTH, Translator

if TYPE_CHECKING:
    from transduce.model import Network

BATCH = 16  # sentences
MOST_TEXTS = 1000  # of a file
MOST_TOKENS = 512  # of a sentence: weights grow with the square of it


@dataclass(frozen=True)
class Reader:
    """A network and its tokenizer; `max_length` is the most tokens of a sentence."""

    network: "Network"
    tokenizer: TokenizerLike
    max_length: int = MAX_LENGTH
    source_language: str = ""

    @classmethod
    def load(cls, model: Path | str | None = None, log: Log = silent) -> "Reader":
        """The reader of a model of any kind of network; `model` is as for `Translator.load`."""
        opened = ModelDirectory.open(model_path(model, log=log))
        if opened.description.task == "parsing":
            opened.require_task("translation")
        longest = min(opened.description.max_length or MAX_LENGTH, MOST_TOKENS)
        if opened.config.positions == "learned":
            longest = min(longest, opened.config.max_positions - 1)
        language = opened.description.source_language or ""
        with optional("attention"):
            return cls(opened.network(), opened.tokenizer, longest, language)

    @property
    def is_language_model(self) -> bool:
        return self.network.config.kind == "lm"

    def encode(self, text: str, target: str | None, search: Search = PAPER) -> tuple[Ids, Ids]:
        """The ids of a text and of its translation, the model's own if none is given.

        A language model reads the text as its target.
        """
        source = encode_source(self.tokenizer, text, self.max_length)
        if self.is_language_model:
            if target is not None:
                raise InputError("a language model has no target: leave out --target")
            return [], source
        if target is None:
            from transduce.engines.torch_engine import TorchEngine

            ((best, *_),) = TorchEngine(self.network).search([Request(source, search)])
            return source, best.tokens
        (written,) = self.tokenizer.encode_targets([clean(target)])
        return source, written

    def encode_batch(self, texts: Sequence[str]) -> list[tuple[Ids, Ids]]:
        """The ids of texts and of the model's own translations, by greedy search."""
        sources = [encode_source(self.tokenizer, text, self.max_length) for text in texts]
        if self.is_language_model:
            return [([], source) for source in sources]
        from transduce.engines.torch_engine import TorchEngine

        greedy = replace(PAPER, beam=1)
        found = TorchEngine(self.network).search([Request(ids, greedy) for ids in sources])
        return [(ids, best.tokens) for ids, (best, *_) in zip(sources, found, strict=True)]

    def attentions(self, pairs: Sequence[tuple[Ids, Ids]]) -> list[Attention]:
        """The weights of many sentences, in the order of the pairs."""
        found: dict[int, Attention] = {}
        order = sorted(range(len(pairs)), key=lambda i: len(pairs[i][0]))
        for first in range(0, len(pairs), BATCH):
            some = order[first : first + BATCH]
            batch = attentions_of(self.network, self.tokenizer, [pairs[i] for i in some])
            found.update(zip(some, batch, strict=True))
        return [found[i] for i in range(len(pairs))]

    def attention(self, text: str, target: str | None = None) -> Attention:
        """The pieces and the weights of every head."""
        return attention_of(self.network, self.tokenizer, *self.encode(text, target))


def builtin_texts(count: int = 100) -> list[str]:
    """English sentences of the built-in corpus that no model is trained on."""
    return [pair.source for pair in sentences("test", count, seed=1)]


def read_texts(file: Path) -> list[str]:
    """The lines of a text file that are not blank, at most MOST_TEXTS."""
    with TextFile(str(file)) as opened:
        lines = decode_lines(ArrivingLines(opened), silent)
        return list(islice((line for line in lines if line.strip()), MOST_TEXTS))


def attention(
    model: Translator | LoadedModel | Path | str | None, source: str, target: str | None = None
) -> Attention:
    """The words, pieces and attention weights of a sentence and a translation of it.

    `model` is what `Translator.load` or `load` takes or returns; without `target` the model
    translates the source itself. The arrays are of word pieces; `by_word()` is of words.

    >>> attention(None, "A dog runs.", "Ein Hund rennt.").by_word().cross  # doctest: +SKIP
    """
    if isinstance(model, Translator):
        return model.attention(source, target)
    reader = Reader(*model) if isinstance(model, LoadedModel) else Reader.load(model)
    return reader.attention(source, target)
