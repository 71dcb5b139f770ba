"""Figure 2: the shapes that are drawn are those of the module."""

import pytest
import torch
from layout import check_layout, svg_texts

from transduce.config import ModelConfig
from transduce.figures.multi_head import describe_attention, draw_figure2, figure
from transduce.model import count_parameters
from transduce.model.attention import MultiHeadAttention

CONFIGS = {
    "base": ModelConfig(),
    "big": ModelConfig.preset("big"),
    "unscaled": ModelConfig(attention="unscaled", attention_bias=False, p_drop_attention=0.1),
    "additive": ModelConfig(attention="additive", neighbourhood=5, n_heads=4, d_k=24, d_v=40),
    "one head": ModelConfig(n_heads=1),
    "smallest": ModelConfig(d_model=2, n_heads=2),
    "largest": ModelConfig(d_model=16_384, n_heads=128, d_k=1_024, attention="additive"),
}


@pytest.fixture(params=CONFIGS)
def config(request) -> ModelConfig:
    return CONFIGS[request.param]


def module_of(config: ModelConfig) -> MultiHeadAttention:
    with torch.device("meta"):
        return MultiHeadAttention(config, config.neighbourhood)


def test_the_boxes_have_all_parameters_of_the_block(config) -> None:
    module = module_of(config)
    drawn = describe_attention(module)
    boxes = [*drawn.projections, *(block for block, _ in drawn.ends)]
    of_scores = module.w.numel() if config.attention == "additive" else 0
    total = sum(block.parameters for block in boxes) + of_scores
    assert total == drawn.parameters == count_parameters(module)


def test_the_shapes_are_those_of_a_pass_through_the_module(config) -> None:
    module = module_of(config)
    drawn = describe_attention(module)
    with torch.device("meta"):
        q = module.queries(torch.empty(1, 3, config.d_model))
        kv = module.keys_values(torch.empty(1, 5, config.d_model))
        weights = module.weights(q, kv)
        output = module.output((weights @ kv.values).transpose(1, 2).flatten(2))
    assert q.shape == (1, drawn.heads, 3, drawn.d_k)
    assert kv.keys.shape == (1, drawn.heads, 5, drawn.d_k)
    assert kv.values.shape == (1, drawn.heads, 5, drawn.d_v)

    def shown(shape: str) -> list[int]:
        return [
            {"n": 3, "m": 5}.get(size) or int(size.replace(",", "")) for size in shape.split(" × ")
        ]

    assert shown(drawn.scores[-1][1]) == list(weights.shape[2:])
    assert shown(drawn.values[1]) == list((weights @ kv.values).shape[2:])
    assert shown(drawn.ends[-1][1]) == list(output.shape[1:])


@pytest.mark.parametrize(
    ("changes", "labels"),
    [
        ({}, ["MatMul", "Scale", "Mask (opt.)", "SoftMax"]),
        ({"attention": "unscaled"}, ["MatMul", "Mask (opt.)", "SoftMax"]),
        ({"attention": "additive"}, ["Add, tanh", "MatMul", "Mask (opt.)", "SoftMax"]),
    ],
)
def test_only_scaled_attention_has_a_scale(changes, labels) -> None:
    drawn = describe_attention(module_of(ModelConfig(**changes)))
    assert [block.label[0] for block, _ in drawn.scores] == labels


def test_restricted_attention_says_how_far_it_sees() -> None:
    drawn = describe_attention(module_of(ModelConfig(neighbourhood=7)))
    details = {block.label[0]: block.details for block, _ in drawn.scores}
    assert "more than 3 away" in details["Mask (opt.)"]


def test_the_texts_can_be_read(config) -> None:
    check_layout(figure(describe_attention(module_of(config)), "Attention in the Transformer"))


def test_the_file_has_the_shapes_of_the_preset(tmp_path) -> None:
    draw_figure2(CONFIGS["big"], tmp_path / "f.svg")
    texts = svg_texts(tmp_path / "f.svg")
    assert "Attention in the Transformer big" in texts
    assert {"1/√64 = 0.125", "1,024 → 16 × 64", "16×", "n × 1,024", "Q", "K", "V"} <= set(texts)
