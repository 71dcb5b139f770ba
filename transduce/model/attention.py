"""§3.2: attention. A mask is True at the keys that a query may attend to."""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional as F

from transduce.config import ModelConfig
from transduce.model.dropout import Dropout
from transduce.model.linear import Linear

Mask = Bool[Tensor, "_ 1 _ _"]  # [batch or 1, 1, query or 1, key]


@dataclass(frozen=True)
class KeysValues:
    """The projected keys and values of every head."""

    keys: Float[Tensor, "batch heads key d_k"]
    values: Float[Tensor, "batch heads key d_v"]

    @property
    def length(self) -> int:
        return self.keys.shape[2]

    def followed_by(self, other: "KeysValues", rows: Tensor | None = None) -> "KeysValues":
        """The given rows of the batch (all if None), with the positions of `other` appended."""
        return KeysValues(
            joined(self.keys, other.keys, rows), joined(self.values, other.values, rows)
        )

    def select(self, rows: Tensor) -> "KeysValues":
        """The entries of these rows of the batch, in this order."""
        return KeysValues(self.keys.index_select(0, rows), self.values.index_select(0, rows))


@dataclass(frozen=True)
class AttendedSource:
    """The keys and values of a source; the mask is True at its tokens, False at padding."""

    seen: KeysValues
    mask: Mask

    def select(self, sentences: Tensor) -> "AttendedSource":
        return AttendedSource(self.seen.select(sentences), self.mask.index_select(0, sentences))


def joined(
    before: Float[Tensor, "batch heads key d"],
    after: Float[Tensor, "rows heads new d"],
    rows: Tensor | None,
) -> Float[Tensor, "rows heads keys d"]:
    """The given rows with more positions appended, in one copy."""
    if rows is None or before.requires_grad:  # writing with out= has no gradient
        chosen = before if rows is None else before.index_select(0, rows)
        return torch.cat([chosen, after], dim=2)
    heads, length, d = before.shape[1:]
    # contiguous for each head of a row: products with strided keys take up to three times as long
    both = before.new_empty(len(rows), heads, length + after.shape[2], d)
    torch.index_select(before, 0, rows, out=both[:, :, :length])
    both[:, :, length:] = after
    return both


def dot_product_scores(
    q: Float[Tensor, "batch heads query d_k"],
    k: Float[Tensor, "batch heads key d_k"],
    scale: float,
) -> Float[Tensor, "batch heads query key"]:
    """QKᵀ · scale; the paper's scale is 1/√d_k."""
    return (q @ k.transpose(-1, -2)) * scale


def additive_scores(
    q: Float[Tensor, "batch heads query d_k"],
    k: Float[Tensor, "batch heads key d_k"],
    w: Float[Tensor, "heads d_k"],
) -> Float[Tensor, "batch heads query key"]:
    """§3.2.1: a feed-forward network with a single hidden layer, w · tanh(q + k)."""
    hidden = torch.tanh(q[:, :, :, None, :] + k[:, :, None, :, :])
    return torch.einsum("bhqkd,hd->bhqk", hidden, w)


def softmax_over_visible(
    scores: Float[Tensor, "batch heads query key"], mask: Bool[Tensor, "#batch 1 #query key"] | None
) -> Float[Tensor, "batch heads query key"]:
    """softmax over the keys that are not masked; all weights are 0 if all keys are masked."""
    if mask is None:
        return scores.softmax(dim=-1)
    weights = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(dim=-1)
    any_visible = mask.any(dim=-1, keepdim=True)
    if any_visible.device.type == "cpu" and bool(any_visible.all()):
        return weights
    return weights * any_visible


def attention_weights(
    q: Float[Tensor, "batch heads query d_k"],
    k: Float[Tensor, "batch heads key d_k"],
    mask: Bool[Tensor, "#batch 1 #query key"] | None = None,
) -> Float[Tensor, "batch heads query key"]:
    """softmax(QKᵀ/√d_k), equation 1."""
    return softmax_over_visible(dot_product_scores(q, k, 1 / math.sqrt(q.shape[-1])), mask)


def fused_is_faster(q: Tensor, k: Tensor) -> bool:
    """Whether torch's fused kernel is faster than the explicit form for these shapes.

    Measured by `transduce bench model`: the fused kernel is faster everywhere except on CPUs
    without AVX-512 for short sequences. The answer depends only on the machine and the shapes,
    never on timing, so that runs are reproducible bit for bit.
    """
    if q.device.type != "cpu" or torch.backends.cpu.get_cpu_capability() == "AVX512":
        return True
    return q.shape[2] * k.shape[2] > 128 * 128


def fused_attention(
    q: Float[Tensor, "batch heads query d_k"], to: KeysValues, mask: Mask | None, scale: float
) -> Float[Tensor, "batch heads query d_v"]:
    """Equation 1 by torch's fused kernel; on CPUs bfloat16 is computed in float32.

    On CPUs the kernel's gradient in bfloat16 takes ten times as long as in float32.
    """
    k, v = to.keys, to.values
    if q.device.type != "cpu" or q.dtype != torch.bfloat16:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
    with torch.autocast("cpu", enabled=False):
        heads = F.scaled_dot_product_attention(
            q.float(), k.float(), v.float(), attn_mask=mask, scale=scale
        )
    return heads.to(q.dtype)


def local_mask(query: int, key: int, neighbourhood: int, device: torch.device) -> Mask:
    """§4, restricted self-attention to the `neighbourhood` positions around each query."""
    position = torch.arange(key - query, key, device=device)[:, None]
    distance = (position - torch.arange(key, device=device)[None, :]).abs()
    return (distance <= neighbourhood // 2)[None, None]


def window_attention(
    q: Float[Tensor, "batch heads length d_k"],
    to: KeysValues,
    mask: Mask | None,
    neighbourhood: int,
    scale: float,
) -> Float[Tensor, "batch heads length d_v"]:
    """Restricted self-attention in O(r · n · d), Table 1: scores only within the window."""
    half, length = neighbourhood // 2, to.length
    window = 2 * half + 1
    keys = F.pad(to.keys, (0, 0, half, half)).unfold(2, window, 1)
    values = F.pad(to.values, (0, 0, half, half)).unfold(2, window, 1)
    offset = torch.arange(-half, half + 1, device=q.device)
    index = torch.arange(length, device=q.device)[:, None] + offset
    inside = ((index >= 0) & (index < length))[None, None]
    if mask is not None:
        rows = mask.expand(-1, -1, length, -1)
        near = index.clamp(0, length - 1).expand(*rows.shape[:2], -1, -1)
        inside = inside & rows.gather(-1, near)
    scores = torch.einsum("bhnd,bhndw->bhnw", q, keys) * scale
    return torch.einsum("bhnw,bhndw->bhnd", softmax_over_visible(scores, inside), values)


def causal_mask(query: int, key: int, device: torch.device) -> Mask:
    """§3.2.3: the last `query` of `key` positions attend to themselves and earlier positions."""
    position = torch.arange(key - query, key, device=device)[:, None]
    return (position >= torch.arange(key, device=device)[None, :])[None, None]


class MultiHeadAttention(nn.Module):
    """§3.2.2: Concat(head₁ … head_h) Wᴼ with headᵢ = Attention(QWᵢ^Q, KWᵢ^K, VWᵢ^V)."""

    def __init__(self, config: ModelConfig, neighbourhood: int | None = None) -> None:
        super().__init__()
        self.neighbourhood = neighbourhood
        self.n_heads, self.d_k, self.d_v = config.n_heads, config.key_width, config.value_width
        self.kind = config.attention
        keys, values = self.n_heads * self.d_k, self.n_heads * self.d_v
        # W^Q, W^K and W^V of all heads side by side, so that self-attention projects in one product
        self.qkv = Linear(config.d_model, keys, keys, values, bias=config.attention_bias)
        self.output = Linear(values, config.d_model, bias=config.attention_bias)
        self.dropout = Dropout(config.p_drop_attention)
        if self.kind == "additive":
            self.w = nn.Parameter(torch.empty(self.n_heads, self.d_k))
            nn.init.xavier_uniform_(self.w)

    def project(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> tuple[Float[Tensor, "batch heads length d_k"], KeysValues]:
        """The queries, and the keys and values, of self-attention."""
        q, k, v = self.qkv(x).split(self.qkv.widths, dim=-1)
        return self._heads(q), KeysValues(self._heads(k), self._heads(v))

    def queries(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch heads length d_k"]:
        return self._heads(self.qkv.part(x, 0, 1))

    def keys_values(self, memory: Float[Tensor, "batch length d_model"]) -> KeysValues:
        k, v = self.qkv.part(memory, 1, 3).split(self.qkv.widths[1:], dim=-1)
        return KeysValues(self._heads(k), self._heads(v))

    def scores(
        self, q: Float[Tensor, "batch heads query d_k"], k: Float[Tensor, "batch heads key d_k"]
    ) -> Float[Tensor, "batch heads query key"]:
        """The scores before the softmax, by `config.attention`."""
        if self.kind == "additive":
            return additive_scores(q, k, self.w)
        return dot_product_scores(q, k, self.scale)

    @property
    def scale(self) -> float:
        return 1 / math.sqrt(self.d_k) if self.kind == "scaled" else 1.0

    def weights(
        self, q: Float[Tensor, "batch heads query d_k"], to: KeysValues, mask: Mask | None = None
    ) -> Float[Tensor, "batch heads query key"]:
        """The attention weights of every head, in the explicit form."""
        return softmax_over_visible(self.scores(q, to.keys), self._local(q, to, mask))

    def attend(
        self, q: Float[Tensor, "batch heads query d_k"], to: KeysValues, mask: Mask | None = None
    ) -> Float[Tensor, "batch query d_model"]:
        """Attention(Q, K, V) of every head, concatenated and projected by Wᴼ."""
        drops = self.training and self.dropout.p > 0
        window = self._window(q, to)
        if window is not None and not drops and self.kind != "additive":
            heads = window_attention(q, to, mask, window, self.scale)
        elif self.kind != "additive" and not drops and fused_is_faster(q, to.keys):
            heads = fused_attention(q, to, self._local(q, to, mask), self.scale)
        else:
            heads = self.dropout(self.weights(q, to, mask)) @ to.values
        batch, _, query, _ = heads.shape
        return self.output(heads.transpose(1, 2).reshape(batch, query, -1))

    def _window(self, q: Tensor, to: KeysValues) -> int | None:
        """The neighbourhood, if windowed attention is faster than masking; otherwise None."""
        all_positions = q.shape[2] == to.length
        return (
            self.neighbourhood
            if all_positions and to.length > 2 * (self.neighbourhood or 0)
            else None
        )

    def _local(self, q: Tensor, to: KeysValues, mask: Mask | None) -> Mask | None:
        if self.neighbourhood is None:
            return mask
        near = local_mask(q.shape[2], to.length, self.neighbourhood, q.device)
        return near if mask is None else mask & near

    def _heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
