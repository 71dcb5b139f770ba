"""Random sentences and the splits they belong to.

An abstract sentence is drawn and put into words in both languages. English determines German:
every English sentence has exactly one translation. The English past is the German Perfekt, except
of sein, haben, wissen, mögen and the modal verbs, whose preterite is the spoken form; "you" is du;
the progressive is the present with gerade.
"""

from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from random import Random
from typing import Literal

from transduce.corpus.pair import Pair
from transduce.grammar import to_english, to_german
from transduce.grammar.clauses import event
from transduce.grammar.combinations import COMBINATIONS
from transduce.grammar.descriptions import DESCRIPTIONS
from transduce.grammar.facts import FACTS
from transduce.grammar.noun_phrases import pick
from transduce.grammar.questions import QUESTIONS
from transduce.grammar.relative_clauses import RELATIVE_CLAUSES
from transduce.grammar.syntax import Clause, Sentence, Statement

Split = Literal["train", "valid", "test"]


def split_of(source: str) -> Split:
    """Which split a source sentence belongs to: a hash of its text, so splits never share one."""
    bucket = int.from_bytes(blake2b(source.encode(), digest_size=4).digest(), "big") % 100
    return "valid" if bucket == 0 else "test" if bucket == 1 else "train"


_CLAUSES: tuple[Sequence[Callable[[Random], Clause]], ...] = (
    *((event,),) * 18,
    *(DESCRIPTIONS,) * 5,
    *(FACTS,) * 7,
)
_SENTENCES: tuple[Sequence[Callable[[Random], Sentence]], ...] = (
    *(QUESTIONS,) * 7,
    *(COMBINATIONS,) * 9,
    *(RELATIVE_CLAUSES,) * 4,
)


def sample(rng: Random) -> Sentence:
    """One random sentence of the grammar."""
    if rng.random() < 0.6:
        return Statement(pick(rng, pick(rng, _CLAUSES))(rng))
    return pick(rng, pick(rng, _SENTENCES))(rng)


def translate(sentence: Sentence) -> Pair:
    """An abstract sentence in both languages."""
    return Pair(to_english.sentence(sentence), to_german.sentence(sentence))


def generate(split: Split, seed: int) -> Iterator[Pair]:
    """An endless stream of pairs of one split, a function of (split, seed)."""
    rng = Random(f"{split} {seed}")
    while True:
        sentence = sample(rng)
        source = to_english.sentence(sentence)
        if split_of(source) == split:
            yield Pair(source, to_german.sentence(sentence))


def sentences(split: Split, count: int, seed: int) -> list[Pair]:
    """The first distinct pairs of that stream."""
    pairs: dict[str, Pair] = {}
    stream = generate(split, seed)
    while len(pairs) < count:
        pair = next(stream)
        pairs.setdefault(pair.source, pair)
    return list(pairs.values())
