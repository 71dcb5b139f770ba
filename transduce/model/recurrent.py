"""The recurrent network: Bahdanau et al. 2015, with the input feeding of Luong et al. 2015."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from transduce.config import ModelConfig
from transduce.model.attention import (
    AttendedSource,
    KeysValues,
    additive_scores,
    softmax_over_visible,
)
from transduce.model.dropout import Dropout
from transduce.model.embedding import OutputProjection, check_ids, embedding_matrices
from transduce.model.network import AttentionMaps, Network

INITIAL = 0.1  # every weight is drawn uniformly between ± this

LSTMState = tuple[Float[Tensor, "layers rows d"], Float[Tensor, "layers rows d"]]  # h and c


@dataclass(frozen=True)
class RecurrentState:
    """The state of decoding: the source, the decoder's LSTM state and its last output."""

    source: AttendedSource
    lstm: LSTMState
    fed: Float[Tensor, "rows d_model"]

    def select(self, rows: Tensor, sentences: Tensor | None) -> "RecurrentState":
        h, c = self.lstm
        return RecurrentState(
            self.source if sentences is None else self.source.select(sentences),
            (h.index_select(1, rows), c.index_select(1, rows)),
            self.fed.index_select(0, rows),
        )


class RecurrentNetwork(Network):
    """A bidirectional LSTM encoder and an LSTM decoder with additive attention."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        d, d_recurrent = config.d_model, config.d_recurrent
        source, target, output = embedding_matrices(config)
        self.source_embedding = nn.ParameterDict({"weight": source})
        self.target_embedding = nn.ParameterDict({"weight": target})
        self.encoder = nn.LSTM(
            d, d_recurrent // 2, config.encoder_depth, batch_first=True, bidirectional=True,
            dropout=config.p_drop if config.encoder_depth > 1 else 0.0,
        )  # fmt: skip
        self.bridge = nn.Linear(d_recurrent, config.decoder_depth * d_recurrent)
        self.decoder = nn.LSTM(
            2 * d, d_recurrent, config.decoder_depth, batch_first=True,
            dropout=config.p_drop if config.decoder_depth > 1 else 0.0,
        )  # fmt: skip
        self.query = nn.Linear(d_recurrent, d)
        self.key = nn.Linear(d_recurrent, d, bias=False)
        self.w = nn.Parameter(torch.empty(1, d))
        self.combine = nn.Linear(2 * d_recurrent, d)
        self.output = OutputProjection(config, output)
        self.dropout = Dropout(config.p_drop)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -INITIAL, INITIAL)

    def states(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> Float[Tensor, "batch target d_model"]:
        return self.decode(target, self.start(source))[0]

    def start(self, source: Int[Tensor, "batch source"]) -> RecurrentState:
        """The source read in both directions; s₀ = tanh(W [h→; h←]) of the two last states."""
        visible = source != self.config.pad_id
        lengths = visible.sum(1).clamp(min=1).cpu()  # an empty source is read as one padding token
        packed = pack_padded_sequence(
            self._embed(self.source_embedding["weight"], source),
            lengths,
            batch_first=True,
            enforce_sorted=False,
        )
        outputs, (last, _) = self.encoder(packed)
        values, _ = pad_packed_sequence(outputs, batch_first=True, total_length=source.shape[1])
        values = self.dropout(values)
        both = torch.cat([last[-2], last[-1]], dim=-1)
        h = torch.tanh(self.bridge(both)).unflatten(1, (self.config.decoder_depth, -1))
        h = h.transpose(0, 1).contiguous()
        seen = KeysValues(self.key(values)[:, None], values[:, None])
        fed = values.new_zeros(len(source), self.config.d_model)
        return RecurrentState(
            AttendedSource(seen, visible[:, None, None]), (h, torch.zeros_like(h)), fed
        )

    def decode(
        self, target: Int[Tensor, "rows target"], state: RecurrentState
    ) -> tuple[
        Float[Tensor, "rows target d_model"], Float[Tensor, "rows target source"], RecurrentState
    ]:
        """The outputs after each of these tokens, their attention weights, and the new state."""
        lstm, fed = state.lstm, state.fed
        states, weights = [], []
        for x in self._embed(self.target_embedding["weight"], target).unbind(1):
            h, lstm = self.decoder(torch.cat([x, fed], dim=-1)[:, None], lstm)
            fed, attended = self._attend(h[:, 0], state.source)
            states.append(fed)
            weights.append(attended)
        new = RecurrentState(state.source, lstm, fed)
        return torch.stack(states, dim=1), torch.stack(weights, dim=1), new

    def _attend(
        self, h: Float[Tensor, "rows d_recurrent"], source: AttendedSource
    ) -> tuple[Float[Tensor, "rows d_model"], Float[Tensor, "rows source"]]:
        """tanh(W [h; c]) with the context c = Σ αⱼ hⱼ, α = softmax(w · tanh(W_q h + W_k hⱼ)).

        The rows of one sentence are queries of its source.
        """
        q = self.query(h).unflatten(0, (len(source.mask), 1, -1))
        scores = additive_scores(q, source.seen.keys, self.w)
        weights = softmax_over_visible(scores, source.mask)
        context = (weights @ source.seen.values).reshape(h.shape)
        combined = torch.tanh(self.combine(torch.cat([h, context], dim=-1)))
        return self.dropout(combined), weights.reshape(len(h), -1)

    def step(
        self, newest: Int[Tensor, " rows"], state: RecurrentState
    ) -> tuple[Float[Tensor, "rows vocabulary"], RecurrentState]:
        states, _, state = self.decode(newest[:, None], state)
        return self.output(states[:, 0]), state

    def attention_maps(
        self, source: Int[Tensor, "batch source"], target: Int[Tensor, "batch target"]
    ) -> AttentionMaps:
        """Its one attention, over the source, as a single head."""
        return AttentionMaps(cross=(self.decode(target, self.start(source))[1][:, None],))

    def operations(
        self, source: Integer[np.ndarray, " pairs"], target: Integer[np.ndarray, " pairs"]
    ) -> int:
        config, s, t = self.config, source.astype(np.int64), target.astype(np.int64)
        d, whole = config.d_model, config.d_recurrent
        half, later = whole // 2, config.encoder_depth - 1
        encoder = 2 * 4 * half * ((d + half) + later * (whole + half)) + whole * d
        decoder = 4 * whole * ((2 * d + whole) + (config.decoder_depth - 1) * 2 * whole)
        attention = whole * d + 2 * whole * d  # the query; [h; c] to the output
        products = (
            s * encoder
            + t * (decoder + attention + d * config.decoder_vocab_size)
            + s * t * (d + whole)
            + config.decoder_depth * whole**2
        )
        return 3 * 2 * int(products.sum())

    def _embed(
        self, weight: Tensor, ids: Int[Tensor, "batch length"]
    ) -> Float[Tensor, "batch length d_model"]:
        check_ids(ids, len(weight))
        return self.dropout(F.embedding(ids, weight))
