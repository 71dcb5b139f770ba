"""§3: the Transformer."""

from dataclasses import dataclass
from typing import cast

import numpy as np
from jaxtyping import Float, Int, Integer
from torch import Tensor, nn

from transduce.config import ModelConfig
from transduce.errors import InputError
from transduce.model.attention import KeysValues, Mask, causal_mask
from transduce.model.embedding import Embedding, OutputProjection, embedding_matrices
from transduce.model.layers import DecoderLayer, EncoderLayer
from transduce.model.network import AttentionMaps, Network, count_parameters
from transduce.model.operations import training_operations


@dataclass(frozen=True)
class Memory:
    """The encoder's output, which the decoder attends to."""

    states: Float[Tensor, "batch source d_model"]
    mask: Mask

    def select(self, sentences: Tensor) -> "Memory":
        return Memory(self.states.index_select(0, sentences), self.mask.index_select(0, sentences))


@dataclass(frozen=True)
class Cache:
    """The keys and values of the target so far, for incremental decoding; immutable."""

    past: tuple[KeysValues, ...]  # self-attention of each layer
    memory: tuple[KeysValues, ...]  # attention over the encoder's output, of each layer
    rows: Int[Tensor, " rows"] | None = None  # rows of `past` to continue, in this order; None: all

    @property
    def length(self) -> int:
        return self.past[0].length

    def select(self, rows: Tensor, sentences: Tensor | None) -> "Cache":
        """The cache of these rows of the target, in this order, for reordering a beam.

        All rows of a sentence share its memory. `sentences` is None if every sentence stays.
        """
        memory = self.memory
        if sentences is not None:
            memory = tuple(kv.select(sentences) for kv in memory)
        # `past` is copied only once, when the next token is appended
        return Cache(self.past, memory, rows if self.rows is None else self.rows[rows])


@dataclass(frozen=True)
class Decoding:
    """The state of decoding: the encoded source, and the cache after the first step."""

    memory: Memory
    cache: Cache | None = None

    def select(
        self, rows: Int[Tensor, " kept"], sentences: Int[Tensor, " some"] | None
    ) -> "Decoding":
        cache = self.cache.select(rows, sentences) if self.cache else None
        return Decoding(self.memory if sentences is None else self.memory.select(sentences), cache)


class Transformer(Network):
    """§3: maps a source and the target so far to the logits of each next target token."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        source, target, output = embedding_matrices(config)
        self.source_embedding = Embedding(config, source)
        self.target_embedding = Embedding(config, target)
        encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_depth))
        self.encoder = cast(list[EncoderLayer], encoder)
        decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_depth))
        self.decoder = cast(list[DecoderLayer], decoder)
        self.output = OutputProjection(config, output)
        if config.norm == "pre":  # post-norm ends each layer normalised; pre-norm does not
            self.encoder_norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)
            self.decoder_norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)

    def states(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target d_model"]:
        return self.decode_states(target, self.encode(source))[0]

    def extra_repr(self) -> str:
        config = self.config
        layers = f"{config.encoder_depth} + {config.decoder_depth} layers"
        return (
            f"{count_parameters(self):,} parameters, {layers}, d_model={config.d_model}, "
            f"d_ff={config.d_ff}, n_heads={config.n_heads}, vocab_size={config.vocab_size:,}"
        )

    def start(self, source: Int[Tensor, "batch source"]) -> Decoding:
        return Decoding(self.encode(source))

    def step(
        self, newest: Int[Tensor, " rows"], state: Decoding
    ) -> tuple[Float[Tensor, "rows vocabulary"], Decoding]:
        logits, cache = self.decode(newest[:, None], state.memory, state.cache)
        return logits[:, -1], Decoding(state.memory, cache)

    def operations(
        self, source: Integer[np.ndarray, " pairs"], target: Integer[np.ndarray, " pairs"]
    ) -> int:
        return training_operations(self.config, source, target)

    def encode(self, source: Int[Tensor, "batch source"]) -> Memory:
        mask = self._source_mask(source)
        x = self.source_embedding(source)
        for layer in self.encoder:
            x = layer(x, mask)
        return Memory(self.encoder_norm(x) if self.config.norm == "pre" else x, mask)

    def decode(
        self, target: Int[Tensor, "batch target"], memory: Memory, cache: Cache | None = None
    ) -> tuple[Float[Tensor, "batch target vocabulary"], Cache]:
        """The logits after each of these target tokens, which follow the ones in the cache.

        The target may have a multiple of the memory's rows: then adjacent rows share a sentence.
        """
        states, cache = self.decode_states(target, memory, cache)
        return self.output(states), cache

    def decode_states(
        self, target: Int[Tensor, "batch target"], memory: Memory, cache: Cache | None = None
    ) -> tuple[Float[Tensor, "batch target d_model"], Cache]:
        """The input of the pre-softmax layer: `decode` without the output projection."""
        check_rows(len(target), len(memory.states))
        length = target.shape[1]
        start = cache.length if cache else 0
        past = cache.past if cache else (None,) * len(self.decoder)
        rows = cache.rows if cache else None
        seen = cache.memory if cache else self._keys_values(memory)
        # A single new token attends to all earlier ones. Padding comes after the tokens, so the
        # causal mask hides it.
        mask = causal_mask(length, start + length, target.device) if length > 1 else None
        x = self.target_embedding(target, start)
        present = []
        for layer, before, source in zip(self.decoder, past, seen, strict=True):
            x, kv = layer(x, before, rows, mask, source, memory.mask)
            present.append(kv)
        x = self.decoder_norm(x) if self.config.norm == "pre" else x
        return x, Cache(tuple(present), seen)

    def attention_maps(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> AttentionMaps:
        """The attention weights of every head, computed explicitly next to each layer's output."""
        encoder, decoder, cross = [], [], []
        mask = self._source_mask(source)
        x = self.source_embedding(source)
        for layer in self.encoder:
            encoder.append(layer.attention(x, mask))
            x = layer(x, mask)
        memory = self.encode(source)
        mask = causal_mask(target.shape[1], target.shape[1], target.device)
        x = self.target_embedding(target)
        for block, seen in zip(self.decoder, self._keys_values(memory), strict=True):
            within, across = block.attention(x, mask, seen, memory.mask)
            decoder.append(within)
            cross.append(across)
            x, _ = block(x, None, None, mask, seen, memory.mask)
        return AttentionMaps(tuple(encoder), tuple(decoder), tuple(cross))

    def _keys_values(self, memory: Memory) -> tuple[KeysValues, ...]:
        return tuple(layer.cross_attention.keys_values(memory.states) for layer in self.decoder)

    def _source_mask(self, source: Int[Tensor, "batch source"]) -> Mask:
        return (source != self.config.pad_id)[:, None, None, :]


def check_rows(rows: int, sentences: int) -> None:
    """Raises InputError if target rows cannot be shared out to the sentences of a memory."""
    if rows % max(sentences, 1):
        raise InputError(
            f"the target has {rows:,} rows and the memory {sentences:,} sentences: it must have "
            "as many, or a multiple"
        )
