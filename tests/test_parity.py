"""The same outputs and gradients as torch.nn.Transformer."""

import pytest
import torch
from torch import Tensor, nn

from transduce.config import ModelConfig
from transduce.model import Transformer
from transduce.model.attention import MultiHeadAttention

D_MODEL, D_FF, HEADS, VOCAB = 24, 40, 4, 31


def copy_attention(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    ours.qkv.weight.data.copy_(theirs.in_proj_weight)
    ours.qkv.bias.data.copy_(theirs.in_proj_bias)
    ours.output.weight.data.copy_(theirs.out_proj.weight)
    ours.output.bias.data.copy_(theirs.out_proj.bias)


def pairs_of_parameters(ours: Transformer, theirs: nn.Transformer) -> list[tuple[Tensor, Tensor]]:
    """Pairs of our parameters and torch's."""
    pairs = []

    def match(a: nn.Module, b: nn.Module) -> None:
        pairs.extend([(a.weight, b.weight), (a.bias, b.bias)])

    def match_attention(a: MultiHeadAttention, b: nn.MultiheadAttention) -> None:
        pairs.extend([(a.qkv.weight, b.in_proj_weight), (a.qkv.bias, b.in_proj_bias)])
        match(a.output, b.out_proj)

    for a, b in zip(ours.encoder, theirs.encoder.layers, strict=True):
        match_attention(a.self_attention, b.self_attn)
        match(a.self_attention_norm.norm, b.norm1)
        match(a.feed_forward.inner, b.linear1)
        match(a.feed_forward.outer, b.linear2)
        match(a.feed_forward_norm.norm, b.norm2)
    for a, b in zip(ours.decoder, theirs.decoder.layers, strict=True):
        match_attention(a.self_attention, b.self_attn)
        match(a.self_attention_norm.norm, b.norm1)
        match_attention(a.cross_attention, b.multihead_attn)
        match(a.cross_attention_norm.norm, b.norm2)
        match(a.feed_forward.inner, b.linear1)
        match(a.feed_forward.outer, b.linear2)
        match(a.feed_forward_norm.norm, b.norm3)
    if ours.config.norm == "pre":
        match(ours.encoder_norm, theirs.encoder.norm)
        match(ours.decoder_norm, theirs.decoder.norm)
    return pairs


def twins(norm: str, dtype: torch.dtype) -> tuple[Transformer, nn.Transformer]:
    theirs = nn.Transformer(
        D_MODEL, HEADS, 3, 2, D_FF, 0.0, batch_first=True, norm_first=norm == "pre", dtype=dtype
    )
    if norm == "post":  # torch adds a norm after each stack, which the paper does not have
        theirs.encoder.norm = theirs.decoder.norm = None
    config = ModelConfig(
        vocab_size=VOCAB,
        d_model=D_MODEL,
        d_ff=D_FF,
        n_heads=HEADS,
        n_encoder_layers=3,
        n_decoder_layers=2,
        p_drop=0.0,
        norm=norm,
        norm_eps=1e-5,
    )
    ours = Transformer(config).to(dtype)
    for a, b in pairs_of_parameters(ours, theirs):
        nn.init.normal_(b, std=0.3)
        a.data.copy_(b)
    return ours, theirs


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize(("dtype", "atol"), [(torch.float64, 1e-9), (torch.float32, 1e-5)])
def test_outputs_and_gradients_equal_torch_nn_transformer(norm, dtype, atol) -> None:
    ours, theirs = twins(norm, dtype)
    source, target = torch.randint(3, VOCAB, (4, 9)), torch.randint(3, VOCAB, (4, 7))
    source[1, 5:] = source[2, 1:] = 0
    target[1, 6:] = target[3, 2:] = 0
    real = target != 0

    states, _ = ours.decode_states(target, ours.encode(source))
    expected = theirs(
        ours.source_embedding(source).detach(),
        ours.target_embedding(target).detach(),
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(7, dtype=dtype) != 0,
        src_key_padding_mask=source == 0,
        tgt_key_padding_mask=~real,
        memory_key_padding_mask=source == 0,
    )
    torch.testing.assert_close(states[real], expected[real], rtol=0, atol=atol)

    direction = torch.randn_like(expected[real])
    (states[real] * direction).sum().backward()
    (expected[real] * direction).sum().backward()
    compared = pairs_of_parameters(ours, theirs)
    assert len(compared) == len(list(theirs.parameters()))
    for a, b in compared:
        # a gradient is a sum over many positions: its error is measured against its size
        size = max(1.0, float(b.grad.abs().max()))
        torch.testing.assert_close(a.grad / size, b.grad / size, rtol=0, atol=atol)
