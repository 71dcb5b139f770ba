"""The same network in other libraries, with our weights, trained as a careful user would."""

import importlib.util
import warnings
from collections.abc import Collection, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from transduce.config import ModelConfig
from transduce.errors import UserError
from transduce.model import Transformer
from transduce.model.attention import MultiHeadAttention
from transduce.model.layers import DecoderLayer, EncoderLayer
from transduce.positions import sinusoids
from transduce.tokenizer import PAD

OURS = "transduce"
PEERS = {"torch": "torch.nn.Transformer", "huggingface": "Hugging Face Marian"}
BFLOAT16 = "bfloat16"  # ours, with matrix products in bfloat16; only trained
NAMES = {OURS: OURS, BFLOAT16: "transduce, bfloat16", **PEERS}


def check_exists(peers: Sequence[str], known: Collection[str]) -> None:
    """Raises UserError if a peer is unknown or not installed."""
    for peer in peers:
        if peer not in known:
            raise UserError(f"unknown peer {peer!r}; known: {', '.join(known)}")
    if "huggingface" in peers and importlib.util.find_spec("transformers") is None:
        others = ",".join(peer for peer in known if peer != "huggingface")
        raise UserError(
            "the peer huggingface needs transformers: pip install 'transduce[huggingface]', "
            f"or leave it out with --against {others}"
        )


def silence_transformers() -> None:
    """Turns off its progress bars and warnings."""
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


class TorchTransformer(nn.Module):
    """What a user builds from torch.nn.Transformer to have the paper's network.

    That is without the norms that it adds after each stack, and with dropout where §5.4 has it:
    not on the attention weights and not inside the feed-forward network.
    """

    positions: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.vocab_size, config.d_model)
        # torch's own N(0, 1) saturates the softmax, and denormal gradients are slow
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "enable_nested_tensor is True")
            self.stacks = nn.Transformer(
                config.d_model,
                config.n_heads,
                config.encoder_depth,
                config.decoder_depth,
                config.d_ff,
                config.p_drop,
                layer_norm_eps=config.norm_eps,
                batch_first=True,
            )
        self.stacks.encoder.use_nested_tensor = False  # it is for inference, and warns
        self.stacks.encoder.norm = self.stacks.decoder.norm = None
        self.layers = [*self.stacks.encoder.layers, *self.stacks.decoder.layers]
        for layer in self.layers:
            layer.dropout.p = layer.self_attn.dropout = 0.0
            if isinstance(layer, nn.TransformerDecoderLayer):
                layer.multihead_attn.dropout = 0.0
        self.dropout = nn.Dropout(config.p_drop)
        self.pad_id, self.scale = config.pad_id, config.d_model**0.5
        positions = torch.from_numpy(sinusoids(0, 1024, config.d_model))
        self.register_buffer("positions", positions.float())

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        length = target.shape[1]
        hidden = self.stacks(
            self._embed(source),
            self._embed(target),
            tgt_mask=torch.ones(length, length, dtype=torch.bool).triu(1),
            src_key_padding_mask=source == self.pad_id,
            memory_key_padding_mask=source == self.pad_id,
            tgt_is_causal=True,
        )
        return F.linear(hidden, self.embedding.weight)

    def _embed(self, ids: Tensor) -> Tensor:
        return self.dropout(self.embedding(ids) * self.scale + self.positions[: ids.shape[1]])

    @torch.no_grad()
    def copy_from(self, ours: Transformer) -> None:
        """Copies the weights of a network of the same shape."""
        self.embedding.weight.copy_(ours.output.weight)
        layers: list[EncoderLayer | DecoderLayer] = [*ours.encoder, *ours.decoder]
        for layer, theirs in zip(layers, self.layers, strict=True):
            _copy_attention(layer.self_attention, theirs.self_attn)
            _copy(layer.self_attention_norm.norm, theirs.norm1)
            _copy(layer.feed_forward.inner, theirs.linear1)
            _copy(layer.feed_forward.outer, theirs.linear2)
            if isinstance(layer, DecoderLayer):
                _copy_attention(layer.cross_attention, theirs.multihead_attn)
                _copy(layer.cross_attention_norm.norm, theirs.norm2)
            last = theirs.norm3 if isinstance(layer, DecoderLayer) else theirs.norm2
            _copy(layer.feed_forward_norm.norm, last)


def _copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    theirs.in_proj_weight.copy_(ours.qkv.weight)
    theirs.in_proj_bias.copy_(ours.qkv.bias)
    _copy(ours.output, theirs.out_proj)


def _copy(ours: nn.Linear | nn.LayerNorm, theirs: nn.Linear | nn.LayerNorm) -> None:
    theirs.weight.copy_(ours.weight)
    theirs.bias.copy_(ours.bias)


class Marian(nn.Module):
    """Hugging Face's MarianMTModel, from a directory that `transduce export` could have written."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        from transformers import MarianMTModel

        silence_transformers()
        self.network = MarianMTModel.from_pretrained(directory, local_files_only=True)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        logits: Tensor = self.network(
            input_ids=source,
            attention_mask=(source != PAD).long(),
            decoder_input_ids=target,
            use_cache=False,
        ).logits
        return logits
