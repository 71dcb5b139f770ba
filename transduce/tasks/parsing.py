"""§6.3: the task of constituency parsing."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from transduce.config import DataConfig, Linearisation
from transduce.corpus.pair import Example, Pair
from transduce.corpus.reading import File
from transduce.corpus.text import Text
from transduce.log import Log, silent
from transduce.parsing.cleaning import Change, clean_trees, describe_changes
from transduce.parsing.linear import NEXT, linearise, source_text, tree_of
from transduce.parsing.tree import Node, Tree, words
from transduce.parsing.treebank import read_trees
from transduce.search import Search
from transduce.search.constraints import Constraint
from transduce.store import Store
from transduce.tasks.task import Metric
from transduce.tokenizer import AnyTokenizer, SymbolTokenizer

NAMES = 8  # a vocabulary has this many times as many tokens as names of words

if TYPE_CHECKING:
    from transduce.model import Network


@dataclass(frozen=True)
class Parsing:
    """Sentences and their trees, judged by EVALB."""

    linearisation: Linearisation = "top-down"
    pos_tags: bool = True
    name: str = "parsing"
    preset: str = "parsing-small"
    filtered: bool = False
    symbols: bool = True
    kind: str = ""
    stream: bool = False
    sides: tuple[str, ...] = ("source", "target")
    metrics: tuple[Metric, ...] = (
        Metric("f1", "F1", ".2f", method="EVALB, COLLINS.prm"),
        Metric("complete_match", "complete match", ".1f"),
    )

    def configured(self, config: DataConfig) -> "Parsing":
        return replace(self, linearisation=config.linearisation, pos_tags=config.pos_tags)

    def text_of(self, files: Sequence[File]) -> Text:
        """Any number of treebanks."""
        return Text(sources=tuple(files))

    def read(self, text: Text, log: Log = silent) -> Iterator[Example]:
        """The words of each tree and its symbols; what the clean-up changed is logged."""
        for file in text.sources:
            changes = Counter[Change]()
            for tree in clean_trees(read_trees(file), changes):
                symbols = linearise(_trainable(tree), self.linearisation, self.pos_tags)
                yield Pair(source_text(words(tree)), " ".join(symbols))
            if described := describe_changes(changes):
                log(f"{file}: removed or changed: {described}")

    def check_validation(self, train: Text, valid: Text) -> None:
        """Any treebank will do."""

    def learn_tokenizer(
        self,
        examples: Iterable[Example],
        config: DataConfig,
        file: Path,
        tags: Sequence[str],
        log: Log,
    ) -> SymbolTokenizer:
        """Pieces of words, the symbols of the trees, and names of frequent words and suffixes."""
        most = config.vocab_size // NAMES
        return SymbolTokenizer.learn_pairs(
            examples, config.vocab_size, file, open_kind=NEXT, most=most, tags=tags, log=log
        )

    def constraint(self, text: str) -> Constraint | None:
        """None: the parser constrains whole batches, see `transduce.parsing.grammar`."""
        return None

    def judge(
        self,
        network: "Network",
        tokenizer: AnyTokenizer,
        store: Store,
        count: int,
        search: Search,
    ) -> dict[str, float]:
        """Parses and scores as `transduce parse --trees` does."""
        from transduce.parsing.parser import PARSING, Parser
        from transduce.parsing.scores import TreeScores

        assert isinstance(tokenizer, SymbolTokenizer)
        source, target = (store.sides[side] for side in self.sides)
        sentences = [tokenizer.decode(source[i]).split(" ") for i in range(count)]
        symbols = tokenizer.target_vocabulary
        gold = [
            tree_of([symbols[j] for j in target[i].tolist()], sentence, self.linearisation)
            for i, sentence in enumerate(sentences)
        ]
        parser = Parser(tokenizer, network, self.linearisation)
        search = replace(search, extra_length=PARSING.extra_length)
        parses = parser.parse(sentences, search)
        scores = TreeScores()
        scores.add(gold, [parse.tree for parse in parses if parse])
        return {"f1": scores.f1, "complete_match": scores.complete_match}


PARSING = Parsing()


def _trainable(tree: Tree) -> Node:
    """The tree with one label where an annotator left a choice: `PRT|ADVP` becomes `PRT`."""
    assert isinstance(tree, Node)
    children = (_trainable(child) if isinstance(child, Node) else child for child in tree.children)
    return Node(tree.label.partition("|")[0] or tree.label, tuple(children))
