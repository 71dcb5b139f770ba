"""Sentences of the built-in corpus for small trainings."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from transduce.batches import Batch
from transduce.corpus.pair import Pair
from transduce.grammar import sentences
from transduce.tokenizer import Tokenizer

POOL = 16  # batches whose sentences are sorted by length together

Encoded = tuple[list[int], list[int]]  # source, target


@dataclass(frozen=True)
class Corpus:
    """Encoded sentence pairs for training and for tests, and their tokenizer."""

    tokenizer: Tokenizer
    train: list[Encoded]
    test: list[Encoded]
    references: list[str]  # of the test


def builtin(train: int, test: int, vocab_size: int, seed: int, longest: int = 1000) -> Corpus:
    """Sentences of at most `longest` tokens, of this many drawn; the tokenizer learns from all."""
    drawn, tests = sentences("train", train, seed), sentences("test", test, seed)
    with tempfile.TemporaryDirectory() as folder:
        texts = (text for pair in drawn for text in (pair.source, pair.target))
        tokenizer = Tokenizer.learn(texts, vocab_size, Path(folder) / "tokens.model")

    def encoded(some: Sequence[Pair]) -> list[tuple[Encoded, str]]:
        sides = ([pair.source for pair in some], [pair.target for pair in some])
        pairs = zip(*map(tokenizer.encode_batch, sides), strict=True)
        both = zip(pairs, sides[1], strict=True)
        return [(pair, text) for pair, text in both if max(map(len, pair)) <= longest]

    known, new = encoded(drawn), encoded(tests)
    return Corpus(
        tokenizer, [pair for pair, _ in known], [pair for pair, _ in new], [text for _, text in new]
    )


def batches(pairs: Sequence[Encoded], rows: int, count: int, seed: int) -> Iterator[Batch]:
    """Batches of similar lengths, in random order, epoch after epoch."""
    random = torch.Generator().manual_seed(seed)
    made = 0
    while True:
        order = torch.randperm(len(pairs), generator=random).tolist()
        for start in range(0, len(order), POOL * rows):
            pool = sorted(order[start : start + POOL * rows], key=lambda i: len(pairs[i][1]))
            parts = [pool[i : i + rows] for i in range(0, len(pool), rows)]
            for i in torch.randperm(len(parts), generator=random).tolist():
                if made == count:
                    return
                made += 1
                yield batch([pairs[k] for k in parts[i]])


def batch(pairs: Sequence[Encoded]) -> Batch:
    """Padding has id 0, BOS 1 and EOS 2."""
    return Batch(
        _padded([[*source, 2] for source, _ in pairs]),
        _padded([[1, *target] for _, target in pairs]),
        _padded([[*target, 2] for _, target in pairs]),
    )


def _padded(rows: Sequence[list[int]]) -> Tensor:
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
