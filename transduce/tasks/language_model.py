"""Language modelling: text of one side, by lines or as one stream."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from transduce.config import DataConfig
from transduce.corpus.pair import Example
from transduce.corpus.reading import File, TextFile
from transduce.corpus.text import Text
from transduce.errors import InputError
from transduce.log import Log, silent
from transduce.search import Search
from transduce.search.constraints import Constraint
from transduce.store import Store
from transduce.tasks.task import Metric
from transduce.tokenizer import AnyTokenizer, Tokenizer

if TYPE_CHECKING:
    from transduce.model import Network

PIECE = 1000  # characters of a stream that are encoded at a time; they end at the end of a line


@dataclass(frozen=True)
class LanguageModelling:
    """Text files, judged by perplexity alone."""

    name: str
    stream: bool  # the text is one stream, cut into blocks; otherwise each line is an example
    preset: str = "tiny-lm"
    kind: str = "lm"
    symbols: bool = False
    sides: tuple[str, ...] = ("text",)
    metrics: tuple[Metric, ...] = ()

    @property
    def filtered(self) -> bool:
        """A stream is kept whole."""
        return not self.stream

    def configured(self, config: DataConfig) -> "LanguageModelling":
        return self

    def text_of(self, files: Sequence[File]) -> Text:
        if len(files) == 2 and _suffixes_of_languages(files):
            raise InputError(
                f"{files[0]} and {files[1]} look like the two sides of a translation: a language "
                "model reads text of one side; give one of them, or leave out --task lm"
            )
        return Text(sources=tuple(files))

    def read(self, text: Text, log: Log = silent) -> Iterator[Example]:
        for file in text.sources:
            with TextFile(str(file)) as stream:
                if self.stream:
                    yield from ((piece,) for piece in pieces(f"{line}\n" for line in stream))
                else:
                    yield from ((line,) for line in stream)

    def check_validation(self, train: Text, valid: Text) -> None:
        """Any text will do."""

    def learn_tokenizer(
        self,
        examples: Iterable[Example],
        config: DataConfig,
        file: Path,
        tags: Sequence[str],
        log: Log,
    ) -> Tokenizer:
        """Without a space before the first word: the next piece continues the last."""
        return Tokenizer.learn(
            chain.from_iterable(examples),
            config.vocab_size,
            file,
            tags=tags,
            characters=config.vocabulary == "characters",
            leading_space=False,
            log=log,
        )

    def constraint(self, text: str) -> Constraint | None:
        return None

    def judge(
        self, network: "Network", tokenizer: AnyTokenizer, store: Store, count: int, search: Search
    ) -> dict[str, float]:
        return {}


STREAM = LanguageModelling("lm", stream=True)
LINES = LanguageModelling("lm-lines", stream=False)


def pieces(lines: Iterable[str]) -> Iterator[str]:
    """The text in pieces of whole lines; a line longer than a piece is cut.

    >>> list(pieces(["a\\n", "b\\n"]))
    ['a\\nb\\n']
    """
    waiting = ""
    for line in lines:
        waiting += line
        while len(waiting) >= PIECE:
            end = waiting.rfind("\n", 0, PIECE) + 1 or PIECE
            yield waiting[:end]
            waiting = waiting[end:]
    if waiting:
        yield waiting


def _suffixes_of_languages(files: Sequence[File]) -> bool:
    """Whether two files are named like text.en and text.de."""
    names = [str(file).removesuffix(".gz").removesuffix(".xz") for file in files]
    stems, codes = zip(*(name.rpartition(".")[::2] for name in names), strict=True)
    return len(set(stems)) == 1 and len(set(codes)) == 2 and all(len(code) == 2 for code in codes)
