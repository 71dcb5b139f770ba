"""§3.1, §3.3: the layers of the two stacks."""

from collections.abc import Callable

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from transduce.config import ModelConfig
from transduce.model.attention import KeysValues, Mask, MultiHeadAttention
from transduce.model.dropout import Dropout
from transduce.model.linear import Linear

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "silu": F.silu,
}


class FeedForward(nn.Module):
    """§3.3, equation 2: max(0, xW₁ + b₁)W₂ + b₂."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.inner = Linear(config.d_model, config.d_ff)
        self.outer = Linear(config.d_ff, config.d_model)
        self.activation = config.activation
        self.dropout = Dropout(config.p_drop_relu)

    def forward(
        self, x: Float[Tensor, "batch length d_model"]
    ) -> Float[Tensor, "batch length d_model"]:
        return self.outer(self.dropout(ACTIVATIONS[self.activation](self.inner(x))))

    def extra_repr(self) -> str:
        return f"activation={self.activation}"


class AddNorm(nn.Module):
    """§3.1, §5.4: LayerNorm(x + Dropout(sublayer(x))), in two parts around the sub-layer.

    With `norm = "pre"`, which departs from the paper: x + Dropout(sublayer(LayerNorm(x))).
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.pre = config.norm == "pre"
        self.norm = nn.LayerNorm(config.d_model, eps=config.norm_eps)
        self.dropout = Dropout(config.p_drop)

    def before(self, x: Tensor) -> Tensor:
        """The input of the sub-layer."""
        return self.norm(x) if self.pre else x

    def after(self, x: Tensor, sublayer: Tensor) -> Tensor:
        """The output of the residual connection around the sub-layer."""
        total = self.dropout.add(x, sublayer)
        return total if self.pre else self.norm(total)


class EncoderLayer(nn.Module):
    """§3.1: self-attention, then the feed-forward network; also the layer of a language model."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config, config.neighbourhood)
        self.self_attention_norm = AddNorm(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_norm = AddNorm(config)

    def forward(
        self, x: Float[Tensor, "batch source d_model"], mask: Mask | None
    ) -> Float[Tensor, "batch source d_model"]:
        return self.extend(x, None, None, mask)[0]

    def extend(
        self,
        x: Float[Tensor, "batch length d_model"],
        past: KeysValues | None,
        rows: Tensor | None,
        mask: Mask | None,
    ) -> tuple[Float[Tensor, "batch length d_model"], KeysValues]:
        """The layer's output, and the keys and values of every position so far.

        `rows` are the rows of `past` that x continues; None if they are the same rows.
        """
        q, kv = self.self_attention.project(self.self_attention_norm.before(x))
        kv = past.followed_by(kv, rows) if past else kv
        x = self.self_attention_norm.after(x, self.self_attention.attend(q, kv, mask))
        inner = self.feed_forward(self.feed_forward_norm.before(x))
        return self.feed_forward_norm.after(x, inner), kv

    def attention(
        self, x: Float[Tensor, "batch source d_model"], mask: Mask | None
    ) -> Float[Tensor, "batch heads source source"]:
        """The attention weights of this layer for the input x."""
        q, kv = self.self_attention.project(self.self_attention_norm.before(x))
        return self.self_attention.weights(q, kv, mask)


class DecoderLayer(nn.Module):
    """§3.1: masked self-attention, attention over the encoder's output, feed-forward network."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(config, config.neighbourhood)
        self.self_attention_norm = AddNorm(config)
        self.cross_attention = MultiHeadAttention(config)
        self.cross_attention_norm = AddNorm(config)
        self.feed_forward = FeedForward(config)
        self.feed_forward_norm = AddNorm(config)

    def forward(
        self,
        x: Float[Tensor, "batch target d_model"],
        past: KeysValues | None,
        rows: Tensor | None,
        mask: Mask | None,
        memory: KeysValues,
        memory_mask: Mask | None,
    ) -> tuple[Float[Tensor, "batch target d_model"], KeysValues]:
        """The layer's output, and the keys and values of every target position so far.

        `rows` are the rows of `past` that x continues; None if they are the same rows.
        """
        q, kv = self.self_attention.project(self.self_attention_norm.before(x))
        kv = past.followed_by(kv, rows) if past else kv
        x = self.self_attention_norm.after(x, self.self_attention.attend(q, kv, mask))
        # the rows of one sentence attend to its memory as if they were positions of one row
        shared = self.cross_attention_norm.before(x).reshape(memory.keys.shape[0], -1, x.shape[-1])
        q = self.cross_attention.queries(shared)
        seen = self.cross_attention.attend(q, memory, memory_mask).reshape(x.shape)
        x = self.cross_attention_norm.after(x, seen)
        inner = self.feed_forward(self.feed_forward_norm.before(x))
        return self.feed_forward_norm.after(x, inner), kv

    def attention(
        self,
        x: Float[Tensor, "batch target d_model"],
        mask: Mask | None,
        memory: KeysValues,
        memory_mask: Mask | None,
    ) -> tuple[
        Float[Tensor, "batch heads target target"], Float[Tensor, "batch heads target source"]
    ]:
        """The weights of self-attention and of attention over the encoder's output, for input x."""
        q, kv = self.self_attention.project(self.self_attention_norm.before(x))
        within = self.self_attention.weights(q, kv, mask)
        x = self.self_attention_norm.after(x, self.self_attention.attend(q, kv, mask))
        q = self.cross_attention.queries(self.cross_attention_norm.before(x))
        return within, self.cross_attention.weights(q, memory, memory_mask)
