"""The vocabulary that the corpus gives, and how well it fits."""

from dataclasses import dataclass

import numpy as np

from transduce.config import DataConfig
from transduce.store import Store
from transduce.train.prepare import Prepared

RARE = 10  # a token that is seen less often than this is hardly learned
IDS = 2**19  # token ids counted at a time


@dataclass(frozen=True)
class Vocabulary:
    """What was learned from the training data, and how well it fits."""

    asked: int
    size: int
    rare: int  # tokens seen seldom in the training data, bytes not counted
    bytes_in_training: float  # share of the tokens that are single bytes: unknown characters
    bytes_in_validation: float
    notes: list[str]


def vocabulary_of(config: DataConfig, data: Prepared, notes: list[str]) -> Vocabulary:
    size = data.tokenizer.vocab_size
    ids = max(size, data.tokenizer.target_vocab_size)
    training, validation = _token_counts(data.train, ids), _token_counts(data.valid, ids)
    single = data.tokenizer.byte_ids
    return Vocabulary(
        asked=config.vocab_size,
        size=size,
        rare=int((training[single.stop :] < RARE).sum()),
        bytes_in_training=float(training[list(single)].sum() / training.sum()),
        bytes_in_validation=float(validation[list(single)].sum() / validation.sum()),
        notes=[note for note in notes if note.startswith("the vocabulary is learned from")],
    )


def _token_counts(store: Store, vocab_size: int) -> np.ndarray:
    """How often each token of the vocabulary is in the store, on both sides."""
    counts = np.zeros(vocab_size, np.int64)
    for side in store.sides.values():
        for start in range(0, len(side.ids), IDS):
            counts += np.bincount(side.ids[start : start + IDS], minlength=len(counts))
    return counts
