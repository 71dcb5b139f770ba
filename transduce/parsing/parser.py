"""The parser: words in, trees out."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from transduce.config import Linearisation, ModelConfig
from transduce.directory import ModelDirectory
from transduce.engines.torch_engine import side_by_side
from transduce.errors import InputError, ModelError
from transduce.model import Network
from transduce.parsing.grammar import Symbols, TreeGrammar
from transduce.parsing.linear import HYPHEN, TAG, names, source_text, tree_of
from transduce.parsing.tree import Node
from transduce.parsing.words import split_words
from transduce.search import Search
from transduce.search.beam import beam_search
from transduce.tokenizer import SymbolTokenizer

PARSING = Search(beam=21, alpha=0.3, extra_length=300)  # §6.3
MOST_TOKENS = 2**14  # source tokens × beam of a batch


@dataclass(frozen=True)
class Parse:
    """The tree of a sentence, with its words as they were given."""

    tree: Node
    score: float  # log-probability ÷ length penalty
    log_prob: float


class Parser:
    """Parses sentences of words; every output is one tree over exactly these words."""

    def __init__(
        self, tokenizer: SymbolTokenizer, network: Network, linearisation: Linearisation
    ) -> None:
        self.tokenizer, self.network = tokenizer, network.eval()
        eos_id, vocabulary = network.config.eos_id, tokenizer.target_vocabulary
        self.symbols = Symbols.of(vocabulary, eos_id, linearisation)
        self.splits_hyphens = TAG + HYPHEN in vocabulary

    def words(self, text: str) -> list[str]:
        """The words of a sentence, split as in the treebank that the model was trained on."""
        return split_words(text, self.splits_hyphens)

    @classmethod
    def load(cls, path: Path, device: str = "cpu") -> "Parser":
        """The parser of a model directory; raises ModelError if it is not that of a parser."""
        model = ModelDirectory.open(path)
        model.require_task("parsing")
        tokenizer, linearisation = model.tokenizer, model.description.linearisation
        if linearisation is None or not isinstance(tokenizer, SymbolTokenizer):
            raise ModelError(f"{path} is damaged: it does not say how trees are linearised")
        return cls(tokenizer, model.network(device), linearisation)

    def parse(
        self, sentences: Sequence[Sequence[str]], search: Search = PARSING
    ) -> list[Parse | None]:
        """The trees of sentences, independent of the others; None for a sentence without words."""
        texts = [source_text(words) for words in sentences]
        sources = self.tokenizer.encode_batch(texts)
        found: list[Parse | None] = [None] * len(sentences)

        def some(indices: list[int]) -> None:
            parses = self._parse(
                [sentences[i] for i in indices], [sources[i] for i in indices], search
            )
            for i, parse in zip(indices, parses, strict=True):
                found[i] = parse

        lengths = {i: len(sources[i]) for i, words in enumerate(sentences) if words}
        parts = list(batches(lengths, MOST_TOKENS // search.beam))
        if parts:
            side_by_side(some, parts[::-1], self.network.device)
        return found

    @torch.inference_mode()
    def _parse(
        self, sentences: Sequence[Sequence[str]], sources: Sequence[Sequence[int]], search: Search
    ) -> list[Parse]:
        network, config = self.network, self.network.config
        longest = max(map(len, sentences))
        if longest * (1 + self.symbols.tags) + 4 >= most_positions(config):
            raise InputError(
                f"a sentence of {longest:,} words is too long for a network with "
                f"{config.max_positions:,} learned positions: split it"
            )
        width = max(map(len, sources)) + 1
        rows = [[*ids, config.eos_id, *[config.pad_id] * (width - len(ids) - 1)] for ids in sources]
        state = network.start(torch.tensor(rows, device=network.device))
        begin = torch.full((len(rows),), config.bos_id, device=network.device)
        named = [[self.tokenizer.target_id(name) for name in names(words)] for words in sentences]
        # the names of the words come on top
        both = zip(sources, named, strict=True)
        limits = [search.limit(len(ids)) + len(some) for ids, some in both]
        limits = [min(limit, most_positions(config) - 1) for limit in limits]
        grammar = TreeGrammar.start(self.symbols, named, limits, network.device)
        found = beam_search(
            network.step, state, begin, config.eos_id, limits, search, grammar=grammar
        )
        vocabulary, order = self.tokenizer.target_vocabulary, self.symbols.order
        parses = []
        for (best, *_), words in zip(found, sentences, strict=True):
            tree = tree_of((vocabulary[i] for i in best.tokens), words, order)
            parses.append(Parse(tree, best.score, best.log_prob))
        return parses


def most_positions(config: ModelConfig) -> int:
    learned = config.positions == "learned" and config.kind != "recurrent"
    return config.max_positions if learned else sys.maxsize


def batches(lengths: dict[int, int], most: int) -> Iterator[list[int]]:
    """Sentences of similar length in batches of at most `most` tokens, or one sentence."""
    batch: list[int] = []
    for i in sorted(lengths, key=lambda i: lengths[i]):
        if batch and (len(batch) + 1) * lengths[i] > most:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch
