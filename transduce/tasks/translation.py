"""The task of translation."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from transduce.config import DataConfig
from transduce.corpus.filters import check_not_swapped
from transduce.corpus.pair import Example, Pair
from transduce.corpus.reading import File, read_pairs
from transduce.corpus.text import Text
from transduce.errors import InputError
from transduce.log import Log, silent
from transduce.search import Search, length_penalty
from transduce.search.constraints import Constraint
from transduce.store import Store
from transduce.tasks.task import LOW_SCORE, Metric
from transduce.tokenizer import AnyTokenizer, Tokenizer
from transduce.translate.guards import sureness

if TYPE_CHECKING:
    from transduce.model import Network
    from transduce.translate.join import Translation as Translated


@dataclass(frozen=True)
class Translation:
    """Sentence pairs, judged by BLEU."""

    name: str = "translation"
    preset: str = "base"
    filtered: bool = True
    symbols: bool = False
    kind: str = ""
    stream: bool = False
    sides: tuple[str, ...] = ("source", "target")
    metrics: tuple[Metric, ...] = (
        Metric("bleu", "BLEU", ".2f", method="sacreBLEU, 13a, cased"),
        Metric("exact_match", "exact match", ".1%"),
    )

    def configured(self, config: DataConfig) -> "Translation":
        """Itself: it has no settings."""
        return self

    def text_of(self, files: Sequence[File]) -> Text:
        """One file with both sides, or source files followed by as many target files."""
        if len(files) == 1:
            return Text(sources=tuple(files))
        if len(files) % 2:
            raise InputError(
                f"{len(files)} files: give one file with both sides, or as many source files as "
                "target files, all source files first"
            )
        half = len(files) // 2
        return Text(sources=tuple(files[:half]), targets=tuple(files[half:]))

    def read(self, text: Text, log: Log = silent) -> Iterator[Pair]:
        return read_pairs(text.sources, text.targets, log=log)

    def check_validation(self, train: Text, valid: Text) -> None:
        """Raises InputError if source and target are swapped."""
        check_not_swapped(self.read(train), self.read(valid))

    def learn_tokenizer(
        self,
        examples: Iterable[Example],
        config: DataConfig,
        file: Path,
        tags: Sequence[str],
        log: Log,
    ) -> Tokenizer:
        texts = chain.from_iterable(examples)
        return Tokenizer.learn(
            texts,
            config.vocab_size,
            file,
            tags=tags,
            characters=config.vocabulary == "characters",
            log=log,
        )

    def constraint(self, text: str) -> Constraint | None:
        """None: a translation may be anything."""
        return None

    def judge(
        self,
        network: "Network",
        tokenizer: AnyTokenizer,
        store: Store,
        count: int,
        search: Search,
    ) -> dict[str, float]:
        """Translates and computes BLEU as `transduce evaluate` does."""
        from transduce.engines.torch_engine import TorchEngine
        from transduce.translate.options import TranslateOptions
        from transduce.translate.traits import score_threshold
        from transduce.translate.translator import Translator

        source, target = (store.sides[side] for side in self.sides)
        texts = [tokenizer.decode_source(source[i]) for i in range(count)]
        longest = int(source.lengths.max()) - 1
        translator = Translator(tokenizer, TorchEngine(network), longest)
        options = TranslateOptions(
            search, constraint=self.constraint, by_sentence=False, insert=False
        )
        results = translator.results(texts, options)
        found = [result.translation for result in results]
        wanted = [tokenizer.decode(target[i]) for i in range(count)]
        exact = sum(a == b for a, b in zip(found, wanted, strict=True)) / count
        values = {"bleu": corpus_bleu(found, wanted), "exact_match": exact}
        low = score_threshold([_sureness(result, search) for result in results])
        return values if low is None else {**values, LOW_SCORE: low}


TRANSLATION = Translation()


def _sureness(result: "Translated", search: Search) -> float:
    length = len(result.tokens) + 1
    return sureness(result.score * length_penalty(length, search), length)


def corpus_bleu(found: Sequence[str], wanted: Sequence[str]) -> float:
    """sacreBLEU's BLEU, with its defaults."""
    from sacrebleu.metrics.bleu import BLEU

    return float(BLEU().corpus_score(list(found), [list(wanted)]).score)
