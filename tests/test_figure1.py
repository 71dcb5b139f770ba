"""Figure 1: what is drawn is what the modules are."""

from functools import cache

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from layout import check_layout, svg_texts
from torch import nn

from transduce.config import PRESETS, ModelConfig
from transduce.errors import UserError
from transduce.figures.architecture import (
    UNITS,
    boxes,
    draw,
    draw_figure1,
    figure,
    preset_name,
    short,
)
from transduce.figures.description import Block, Description, Stack, describe
from transduce.model import Transformer, count_parameters

VARIANTS = {
    "pre": ModelConfig(norm="pre"),
    "uneven": ModelConfig(
        n_encoder_layers=6,
        n_decoder_layers=2,
        share_embeddings="none",
        positions="learned",
        attention="additive",
        neighbourhood=5,
    ),
    "two-vocabularies": ModelConfig(
        vocab_size=900,
        target_vocab_size=1_100,
        share_embeddings="target",
        output_bias=True,
        scale_embeddings=False,
        positions="sinusoidal-tensor2tensor",
    ),
    "unscaled": ModelConfig(
        attention="unscaled",
        attention_bias=False,
        activation="gelu",
        p_drop_attention=0.1,
        p_drop_relu=0.2,
    ),
    "smallest": ModelConfig(vocab_size=8, d_model=2, d_ff=1, n_heads=1, n_layers=1),
    "largest": ModelConfig(
        vocab_size=1_000_000,
        d_model=16_384,
        d_ff=65_536,
        n_heads=128,
        d_k=1_024,
        n_layers=24,
        norm="pre",
        positions="learned",
        max_positions=100_000,
    ),
}
CONFIGS = {**{name: ModelConfig.preset(name) for name in PRESETS}, **VARIANTS}


@pytest.fixture(params=CONFIGS)
def config(request) -> ModelConfig:
    return CONFIGS[request.param]


def test_the_two_embeddings_are_named_as_in_the_paper() -> None:
    description = describe(build(ModelConfig.base()))
    labels = [stack.embedding.label for stack in (description.encoder, description.decoder)]
    assert labels == [("Input Embedding",), ("Output Embedding",)]


def build(config: ModelConfig) -> Transformer:
    with torch.device("meta"):
        return Transformer(config)


@cache
def described(config: ModelConfig) -> Description:
    return describe(build(config))


def all_blocks(stack: Stack) -> list[Block]:
    return [stack.positions, *boxes(stack)]


def kinds(stack: Stack) -> list[list[str]]:
    """The kinds of block of each sub-layer of the first layer."""
    return [[block.kind for block in part] for part in stack.layers[0].sublayers]


def total(description: Description) -> int:
    """Every block as often as it is there, but the shared matrix once."""
    counted = 0
    for stack in (description.encoder, description.decoder):
        counted += sum(layer.repeats * layer.parameters for layer in stack.layers)
        once = (stack.embedding, stack.positions, *stack.top)
        counted += sum(block.parameters for block in once)
    copies = max(len(description.shared) - 1, 0)
    return counted - copies * description.decoder.embedding.parameters


def test_the_blocks_times_their_depths_and_the_embeddings_are_all_parameters(config) -> None:
    description = described(config)
    assert total(description) == description.parameters == count_parameters(build(config))


def test_the_stacks_are_as_deep_as_the_configuration_says(config) -> None:
    description = described(config)
    assert description.encoder.depth == config.encoder_depth
    assert description.decoder.depth == config.decoder_depth
    assert len(description.encoder.layers) == len(description.decoder.layers) == 1


@pytest.mark.parametrize(
    ("setting", "shared"),
    [
        ("all", ("source_embedding", "target_embedding", "output")),
        ("target", ("target_embedding", "output")),
        ("none", ()),
    ],
)
def test_what_is_shared_is_what_the_configuration_shares(setting, shared) -> None:
    assert described(ModelConfig(share_embeddings=setting)).shared == shared


def test_a_tie_broken_by_hand_is_no_longer_shown() -> None:
    model = build(ModelConfig())
    model.output.weight = nn.Parameter(model.output.weight.clone())
    description = describe(model)
    assert description.shared == ("source_embedding", "target_embedding")
    assert total(description) == description.parameters == count_parameters(model)


def test_a_tie_made_by_hand_is_shown() -> None:
    model = build(ModelConfig(share_embeddings="none"))
    model.output.weight = model.source_embedding.weight
    assert describe(model).shared == ("source_embedding", "output")


def test_equal_matrices_that_are_not_one_are_not_shared() -> None:
    model = Transformer(ModelConfig(vocab_size=8, d_model=4, n_heads=1, share_embeddings="none"))
    with torch.no_grad():
        model.output.weight.copy_(model.target_embedding.weight)
    assert describe(model).shared == ()


def test_a_replaced_module_stands_out_from_the_layers_around_it(tmp_path) -> None:
    model = build(ModelConfig())
    model.encoder[2].feed_forward = nn.Identity()
    description = describe(model)
    layers = description.encoder.layers
    assert [layer.repeats for layer in layers] == [2, 1, 3]
    assert [layer.sublayers[1][0].label[0] for layer in layers] == [
        "Feed Forward",
        "Identity",
        "Feed Forward",
    ]
    assert total(description) == count_parameters(model)
    draw(description, tmp_path / "f.svg")
    assert {"2×", "1×", "3×", "6×", "Identity"} <= set(svg_texts(tmp_path / "f.svg"))


def test_the_description_does_not_read_the_configuration() -> None:
    model = build(VARIANTS["uneven"])
    before = describe(model)
    model.config = ModelConfig.preset("tiny", norm="pre")
    assert describe(model) == before


def test_only_the_decoders_self_attention_is_masked_and_only_self_attention_restricted() -> None:
    description = described(ModelConfig(neighbourhood=5))
    seen = {
        (block.label[0], block.kind, "restricted to r = 5" in block.details)
        for stack in (description.encoder, description.decoder)
        for block in boxes(stack)
        if "attention" in block.kind
    }
    assert seen == {
        ("Multi-Head", "attention", True),
        ("Masked Multi-Head", "attention", True),
        ("Multi-Head", "cross-attention", False),
    }


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"attention": "additive"}, "Additive Attention"),
        ({"attention": "unscaled"}, "Unscaled Attention"),
        ({"d_k": 16}, "8 heads, dₖ = 16, dᵥ = 64"),
        ({"n_heads": 1}, "1 head, dₖ = dᵥ = 512"),
        ({"attention_bias": False}, "no bias"),
        ({"p_drop_attention": 0.3}, "dropout 0.3"),
        ({"d_ff": 1024, "activation": "silu"}, "512 → 1,024 → 512, SiLU"),
        ({"positions": "learned", "max_positions": 99}, "Learned"),
        ({"positions": "learned", "max_positions": 99}, "99 × 512"),
        ({"positions": "sinusoidal-concatenated"}, "concatenated"),
        ({"scale_embeddings": False}, "not scaled by √512"),
        ({"output_bias": True}, "512 × 37,000, bias"),
    ],
)
def test_a_difference_from_the_paper_is_in_a_label(changes, text) -> None:
    def texts(config: ModelConfig) -> set[str]:
        description = described(config)
        blocks = all_blocks(description.encoder) + all_blocks(description.decoder)
        return {text for block in blocks for text in (*block.label, *block.details)}

    assert text in texts(ModelConfig(**changes))
    assert text not in texts(ModelConfig())


def test_pre_norm_is_inside_the_residual_and_ends_each_stack() -> None:
    post, pre = described(ModelConfig()), described(ModelConfig(norm="pre"))
    assert kinds(post.encoder) == [["attention", "add-norm"], ["feed-forward", "add-norm"]]
    assert kinds(pre.encoder) == [["norm", "attention", "add"], ["norm", "feed-forward", "add"]]
    assert kinds(pre.decoder)[1] == ["norm", "cross-attention", "add"]
    assert [block.kind for block in post.encoder.top] == []
    assert [block.kind for block in pre.encoder.top] == ["norm"]
    assert [block.kind for block in pre.decoder.top] == ["norm", "linear", "softmax"]


@pytest.mark.parametrize("name", ["base", "big", *VARIANTS])
def test_the_svg_has_all_text_of_the_description(name, tmp_path) -> None:
    description = described(CONFIGS[name])
    draw(description, tmp_path / "f.svg", name)
    texts = svg_texts(tmp_path / "f.svg")
    for stack in (description.encoder, description.decoder):
        assert f"{stack.depth}×" in texts
        for block in all_blocks(stack):
            if block.kind == "add":  # a sign, not a word
                continue
            numbers = [short(block.parameters)] if block.parameters else []
            assert {*block.label, *block.details, *numbers} <= set(texts)
    assert {"Inputs", "Outputs", "(shifted right)", "Output", "Probabilities"} <= set(texts)
    assert {"V", "K", "Q"} <= set(texts)
    assert f"Transformer {name}" in texts
    assert f"{description.parameters:,} parameters" in texts
    assert ("no embeddings shared" in texts) == (not description.shared)


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_drawing_twice_gives_the_same_bytes(suffix, tmp_path) -> None:
    for name in ("one", "two"):
        draw_figure1(ModelConfig(), tmp_path / f"{name}{suffix}")
    one, two = ((tmp_path / f"{name}{suffix}").read_bytes() for name in ("one", "two"))
    assert one == two


@pytest.mark.parametrize(("suffix", "magic"), [(".png", b"\x89PNG\r\n\x1a\n"), (".PDF", b"%PDF-")])
def test_the_suffix_chooses_the_format(suffix, magic, tmp_path) -> None:
    draw_figure1(ModelConfig(), tmp_path / f"f{suffix}")
    assert (tmp_path / f"f{suffix}").read_bytes().startswith(magic)


def test_no_text_is_small_or_touches_another_or_a_box_or_the_edge_of_the_page(config) -> None:
    drawn = figure(described(config), preset_name(config))
    check_layout(drawn)


def test_a_preset_is_named_whatever_its_vocabulary_and_another_network_is_not() -> None:
    assert preset_name(ModelConfig(vocab_size=123)) == "base"
    assert preset_name(ModelConfig.preset("base-dk16")) == "base-dk16"
    assert preset_name(ModelConfig(norm="pre")) is None


@given(st.integers(0, 10**14))
def test_a_shortened_number_is_within_half_a_percent(count) -> None:
    number, _, unit = short(count).replace(",", "").partition(" ")
    value = float(number) * {"": 1, **UNITS}[unit]
    assert value == pytest.approx(count, rel=0.005)
    assert len(number.replace(".", "")) == 3 or not unit


def test_another_suffix_is_an_error(tmp_path) -> None:
    with pytest.raises(UserError) as error:
        draw_figure1(ModelConfig(), tmp_path / "f.jpg")
    assert str(error.value) == "cannot draw f.jpg: the name must end in .svg, .png or .pdf"


def test_a_missing_directory_is_named(tmp_path) -> None:
    with pytest.raises(UserError) as error:
        draw_figure1(ModelConfig(), tmp_path / "none" / "f.svg")
    assert str(error.value) == f"no directory {tmp_path / 'none'} for f.svg: make it first"


def test_a_figure_that_cannot_be_written_leaves_nothing_behind(tmp_path) -> None:
    (tmp_path / "f.svg").mkdir()
    with pytest.raises(OSError, match=r"f\.svg"):
        draw_figure1(ModelConfig(), tmp_path / "f.svg")
    assert [file.name for file in tmp_path.iterdir()] == ["f.svg"]
