"""The attention weights of a sentence pair, as arrays; only computing them needs torch."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from transduce.engines import Ids
from transduce.errors import InputError
from transduce.tokenizer import TokenizerLike
from transduce.translate.lines import clean

if TYPE_CHECKING:
    from torch import Tensor

    from transduce.model import Network

SPACE = "▁"
_MARKS = re.compile(rf"{SPACE}?[^\w\s{SPACE}]+")
_BYTES = re.compile(r"(?:<0x[0-9A-F]{2}>)+")


@dataclass(frozen=True, eq=False, repr=False)
class Attention:
    """The attention weights of every head: `encoder`, `decoder` and `cross`.

    Each is an array [layer, head, query, key], all counted from 0, whose rows sum to 1; it has no
    layers if the network has no attention of that kind. The queries of `decoder` and `cross` are
    the tokens of `target`, which begins with BOS: row i is computed when the decoder has read
    `target[i]`, to predict the token after it.

    >>> attention = translator.attention("A dog runs.").by_word()  # doctest: +SKIP
    >>> pandas.DataFrame(attention.cross[-1, 0], attention.target, attention.source)
    """

    source: tuple[str, ...]  # what the encoder reads, EOS last
    target: tuple[str, ...]  # what the decoder reads, BOS first
    encoder: Float[np.ndarray, "encoder_layer head source source"]
    decoder: Float[np.ndarray, "decoder_layer head target target"]
    cross: Float[np.ndarray, "cross_layer head target source"]

    def by_word(self) -> "Attention":
        """The weights of whole words: summed over the pieces of a key, averaged over a query's.

        Punctuation before or after a word is a word of its own.
        """
        source = word_starts(self.source, special=len(self.source) - 1)
        target = word_starts(self.target, special=0)
        return Attention(
            join_words(self.source, source),
            join_words(self.target, target),
            merge_weights(self.encoder, source, source),
            merge_weights(self.decoder, target, target),
            merge_weights(self.cross, target, source),
        )

    def __repr__(self) -> str:
        sentences = f"{' '.join(self.source)!r} → {' '.join(self.target)!r}"
        heads, encoder = self.cross.shape[1], len(self.encoder)
        decoder = max(len(self.decoder), len(self.cross))
        return f"Attention({sentences}, {encoder} + {decoder} layers, {heads} heads)"


def encode_source(tokenizer: TokenizerLike, text: str, max_length: int) -> Ids:
    """The ids of a text; raises InputError if it is blank or has more than `max_length` tokens."""
    ids = tokenizer.encode(clean(text))
    if not ids:
        raise InputError("attention needs a text that is not blank")
    if len(ids) > max_length:
        raise InputError(
            f"the text has {len(ids):,} tokens and the model takes {max_length:,}: "
            "give a shorter one"
        )
    return ids


def attention_of(
    network: "Network", tokenizer: TokenizerLike, source: Ids, target: Ids
) -> Attention:
    """The attention weights of a network that reads these ids, which have no special symbols."""
    (found,) = attentions_of(network, tokenizer, [(source, target)])
    return found


def attentions_of(
    network: "Network", tokenizer: TokenizerLike, pairs: Sequence[tuple[Ids, Ids]]
) -> list[Attention]:
    """The same for a batch of sentences."""
    import torch

    config = network.config
    # a language model reads no source
    read = [[] if config.kind == "lm" else [*source, config.eos_id] for source, _ in pairs]
    written = [[config.bos_id, *target] for _, target in pairs]
    with torch.inference_mode():
        maps = network.attention_maps(
            *(
                torch.tensor(
                    [[*ids, *[config.pad_id] * (max(map(len, rows)) - len(ids))] for ids in rows],
                    dtype=torch.long,
                    device=network.device,
                )
                for rows in (read, written)
            )
        )
    heads = max(layer.shape[1] for layer in (*maps.decoder, *maps.cross))

    def of(layers: "Sequence[Tensor]", i: int, queries: int, keys: int) -> np.ndarray:
        if not layers:
            return np.zeros((0, heads, queries, keys), np.float32)
        return torch.stack([layer[i, :, :queries, :keys] for layer in layers]).cpu().numpy()

    return [
        Attention(
            tuple(tokenizer.vocabulary[k] for k in source),
            tuple(tokenizer.target_vocabulary[k] for k in target),
            of(maps.encoder, i, len(source), len(source)),
            of(maps.decoder, i, len(target), len(target)),
            of(maps.cross, i, len(target), len(source)),
        )
        for i, (source, target) in enumerate(zip(read, written, strict=True))
    ]


def word_starts(tokens: tuple[str, ...], special: int) -> list[int]:
    """Where words begin; the token at `special` is BOS or EOS and a word of its own.

    >>> word_starts(("▁a", "▁d", "og", "!", "</s>"), special=4)
    [0, 1, 3, 4]
    """
    spaces = [
        i
        for i, token in enumerate(tokens)
        if i == 0 or special in (i, i - 1) or (token.startswith(SPACE) and tokens[i - 1] != SPACE)
    ]
    starts = []
    for first, end in zip(spaces, [*spaces[1:], len(tokens)], strict=True):
        marks = [bool(_MARKS.fullmatch(token)) for token in tokens[first:end]]
        if tokens[first] == SPACE and len(marks) > 1:
            marks[0] = marks[1]
        before = next((i for i, mark in enumerate(marks) if not mark), 0)
        after = next((i for i, mark in enumerate(reversed(marks)) if not mark), 0)
        starts += sorted({first, first + before, end - after} - {end})
    return starts


def join_words(tokens: tuple[str, ...], starts: list[int]) -> tuple[str, ...]:
    """The words that begin at these tokens."""
    ends = [*starts[1:], len(tokens)]
    joined = ("".join(tokens[i:j]).replace(SPACE, "") for i, j in zip(starts, ends, strict=True))
    return tuple(_BYTES.sub(_decoded, word) for word in joined)


def text_of(tokens: tuple[str, ...]) -> str:
    """The text of pieces, without special symbols."""
    return _BYTES.sub(_decoded, "".join(tokens)).replace(SPACE, " ").strip()


def _decoded(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("<0x", "").replace(">", "")).decode("utf-8", "replace")


def merge_weights(
    weights: Float[np.ndarray, "layer head _ _"], queries: list[int], keys: list[int]
) -> Float[np.ndarray, "layer head _ _"]:
    """The weights between words that begin at these tokens: summed over keys, mean of queries."""
    if not weights.size:
        return weights[:, :, : len(queries), : len(keys)]
    summed = np.add.reduceat(np.add.reduceat(weights, keys, axis=3), queries, axis=2)
    pieces = np.diff([*queries, weights.shape[2]])
    return summed / pieces[:, None].astype(weights.dtype)
