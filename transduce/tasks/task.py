"""The protocol of a task."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from transduce.config import DataConfig
from transduce.corpus.pair import Example
from transduce.corpus.reading import File
from transduce.corpus.text import Text
from transduce.log import Log, silent
from transduce.search import Search
from transduce.search.constraints import Constraint
from transduce.store import Store
from transduce.tokenizer import AnyTokenizer, Tokenizer

if TYPE_CHECKING:
    from transduce.model import Network

LOW_SCORE = "low_score"


@dataclass(frozen=True)
class Metric:
    """A metric of decoded output; higher is better."""

    name: str  # in metrics.jsonl
    label: str
    format: str = ".1f"
    method: str = ""  # how exactly it is computed, for the card

    def text(self, value: float) -> str:
        return f"{self.label} {value:{self.format}}"


@runtime_checkable
class Task(Protocol):
    """What the trainer needs to know about a task besides its network.

    An example has one text per side. The decoder predicts the last side; if there are two, the
    encoder reads the first.
    """

    @property
    def name(self) -> str: ...

    @property
    def preset(self) -> str:
        """The default preset."""
        ...

    @property
    def kind(self) -> str:
        """The kind of network that it needs; "": any with an encoder."""
        ...

    @property
    def filtered(self) -> bool:
        """Whether the filters of the corpus apply, besides the one for length."""
        ...

    @property
    def symbols(self) -> bool:
        """Whether targets are sequences of symbols, not text."""
        ...

    @property
    def stream(self) -> bool:
        """Whether the examples are one stream of tokens, to be cut into blocks."""
        ...

    @property
    def sides(self) -> tuple[str, ...]:
        """One or two names."""
        ...

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What `judge` computes."""
        ...

    def configured(self, config: DataConfig) -> "Task":
        """The task with its settings."""
        ...

    def text_of(self, files: Sequence[File]) -> Text:
        """The corpus of the files on the command line; raises InputError if they do not fit."""
        ...

    def read(self, text: Text, log: Log = silent) -> Iterator[Example]:
        """The examples of a corpus; `log` is called if characters had to be changed."""
        ...

    def check_validation(self, train: Text, valid: Text) -> None:
        """Raises InputError if the validation data is not of the same kind as the training data."""
        ...

    def learn_tokenizer(
        self,
        examples: Iterable[Example],
        config: DataConfig,
        file: Path,
        tags: Sequence[str],
        log: Log,
    ) -> Tokenizer:
        """Learns the vocabulary from training examples and writes it to a file.

        `tags` are tokens that may precede a source.
        """
        ...

    def constraint(self, text: str) -> Constraint | None:
        """What the output for this source must satisfy while it is decoded; None: nothing."""
        ...

    def judge(
        self,
        network: "Network",
        tokenizer: AnyTokenizer,
        store: Store,
        count: int,
        search: Search,
    ) -> dict[str, float]:
        """Decodes the first `count` examples of a store; returns metric values by name.

        LOW_SCORE may be among them: the score below which an output is unusual.
        """
        ...
