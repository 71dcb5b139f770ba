"""The attention weights of a sentence pair, as arrays; only computing them needs torch."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from transduce.engines import Ids
from transduce.errors import InputError
from transduce.tokenizer import TokenizerLike
from transduce.translate.lines import clean

if TYPE_CHECKING:
    from transduce.model import Network

SPACE = "▁"
_BYTES = re.compile(r"(?:<0x[0-9A-F]{2}>)+")


@dataclass(frozen=True, eq=False, repr=False)
class Attention:
    """The attention weights of every head: `encoder`, `decoder` and `cross`.

    Each is an array [layer, head, query, key], all counted from 0, whose rows sum to 1. The
    queries of `decoder` and `cross` are the tokens of `target`, which begins with BOS: row i is
    computed when the decoder has read `target[i]`, to predict the token after it.

    >>> attention = translator.attention("A dog runs.").by_word()  # doctest: +SKIP
    >>> pandas.DataFrame(attention.cross[-1, 0], attention.target, attention.source)
    """

    source: tuple[str, ...]  # what the encoder reads, EOS last
    target: tuple[str, ...]  # what the decoder reads, BOS first
    encoder: Float[np.ndarray, "encoder_layer head source source"]
    decoder: Float[np.ndarray, "decoder_layer head target target"]
    cross: Float[np.ndarray, "decoder_layer head target source"]

    def by_word(self) -> "Attention":
        """The weights of whole words: summed over the pieces of a key, averaged over a query's."""
        source = _starts(self.source, special=len(self.source) - 1)
        target = _starts(self.target, special=0)
        return Attention(
            _words(self.source, source),
            _words(self.target, target),
            _merged(self.encoder, source, source),
            _merged(self.decoder, target, target),
            _merged(self.cross, target, source),
        )

    def __repr__(self) -> str:
        sentences = f"{' '.join(self.source)!r} → {' '.join(self.target)!r}"
        (encoder, heads), decoder = self.encoder.shape[:2], len(self.decoder)
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
    import torch

    from transduce.model import require_transformer

    model, config = require_transformer(network, "attention"), network.config
    read, written = [*source, config.eos_id], [config.bos_id, *target]
    with torch.inference_mode():
        ids = (torch.tensor([row], device=network.device) for row in (read, written))
        maps = model.attention_maps(*ids)
    encoder, decoder, cross = (
        torch.cat(layers).cpu().numpy() for layers in (maps.encoder, maps.decoder, maps.cross)
    )
    return Attention(
        tuple(tokenizer.vocabulary[i] for i in read),
        tuple(tokenizer.target_vocabulary[i] for i in written),
        encoder,
        decoder,
        cross,
    )


def _starts(tokens: tuple[str, ...], special: int) -> list[int]:
    """Where words begin; the token at `special` is BOS or EOS and a word of its own.

    >>> _starts(("▁a", "▁d", "og", "</s>"), special=3)
    [0, 1, 3]
    """
    return [
        i
        for i, token in enumerate(tokens)
        if i == 0 or special in (i, i - 1) or (token.startswith(SPACE) and tokens[i - 1] != SPACE)
    ]


def _words(tokens: tuple[str, ...], starts: list[int]) -> tuple[str, ...]:
    ends = [*starts[1:], len(tokens)]
    joined = ("".join(tokens[i:j]).replace(SPACE, "") for i, j in zip(starts, ends, strict=True))
    return tuple(_BYTES.sub(_decoded, word) for word in joined)


def _decoded(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("<0x", "").replace(">", "")).decode("utf-8", "replace")


def _merged(
    weights: Float[np.ndarray, "layer head _ _"], queries: list[int], keys: list[int]
) -> Float[np.ndarray, "layer head _ _"]:
    summed = np.add.reduceat(np.add.reduceat(weights, keys, axis=3), queries, axis=2)
    pieces = np.diff([*queries, weights.shape[2]])
    return summed / pieces[:, None].astype(weights.dtype)
