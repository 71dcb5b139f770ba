"""One token on its way through the whole network: every number from the real modules."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from transduce.explain.worked import Example
from transduce.model.attention import Mask, MultiHeadAttention, causal_mask
from transduce.model.layers import ACTIVATIONS, AddNorm, FeedForward

LIKELIEST = 5  # next tokens that are shown

Vector = Float[Tensor, " _"]
States = Float[Tensor, "1 length d_model"]


@dataclass(frozen=True)
class Product:
    """name = function(formula) = function(a · b + bias) = value; the function may be empty."""

    name: str
    formula: str
    a: Vector
    b: Vector
    bias: float | None
    value: float
    function: str = ""


@dataclass(frozen=True)
class Norm:
    """LayerNorm(x) = γ (x − μ)/√(σ² + ε) + β."""

    x: Vector
    mean: float
    variance: float
    eps: float
    normalised: Vector
    gamma: Vector
    beta: Vector
    output: Vector


@dataclass(frozen=True)
class Step:
    """A sub-layer with its residual connection and its norm."""

    title: str
    pre_norm: bool
    x: Vector
    norm: Norm  # of x before the sub-layer (pre-norm), or of x + output
    attended: tuple[tuple[str, float], ...]  # the largest weight of each head; empty without heads
    products: tuple[Product, ...]
    output: Vector  # of the sub-layer
    result: Vector


@dataclass(frozen=True)
class Half:
    """A token's way through the encoder or the decoder."""

    stack: str  # encoder or decoder
    token: str
    position: int
    embedding: Vector
    scale: float
    encoding: Vector
    x: Vector  # embedding × scale + encoding
    steps: tuple[Step, ...]
    norm: Norm | None  # of a whole pre-norm stack
    result: Vector


@dataclass(frozen=True)
class Likely:
    """A likely next token: its logit and its probability."""

    token: str
    logit: Product
    probability: float


@dataclass(frozen=True)
class Trace:
    """A source token through the encoder, and a target token through the decoder to its softmax."""

    encoder: Half
    decoder: Half
    likeliest: tuple[Likely, ...]
    largest: float  # logit
    total: float  # Σ exp(logit − largest) over the vocabulary
    vocabulary: int


@torch.no_grad()
def trace(example: Example, source: int, target: int) -> Trace:
    """Both ways, for the tokens at these positions."""
    model = example.model
    encoder, memory = _encoder(example, source)
    decoder = _decoder(example, target, memory)
    logits = model.output(decoder.result)
    probabilities, largest = logits.softmax(-1), float(logits.max())
    bias = model.output.bias
    likeliest = []
    for i in logits.topk(min(LIKELIEST, len(logits))).indices.tolist():
        token = example.vocabulary[i]
        b = None if bias is None else float(bias[i])
        formula = "x · E(·)" + ("" if b is None else " + b")
        weight = model.output.weight[i].detach()
        logit = Product("logit(·)", formula, decoder.result, weight, b, float(logits[i]))
        likeliest.append(Likely(token, logit, float(probabilities[i])))
    total = float((logits - largest).exp().sum())
    return Trace(encoder, decoder, tuple(likeliest), largest, total, len(logits))


def partners(example: Example, kind: str, token: int) -> tuple[int, int]:
    """A source and a target position: the token's own, and the one with most attention between."""
    with torch.no_grad():
        maps = example.model.attention_maps(example.source_ids, example.target_ids)
    mean = torch.stack([layer[0].mean(0) for layer in maps.cross]).mean(0)
    if kind == "encoder":
        return token, int(mean[:, token].argmax())
    return int(mean[token].argmax()), token


def _encoder(example: Example, row: int) -> tuple[Half, States]:
    model = example.model
    x = model.source_embedding(example.source_ids)
    steps: list[Step] = []
    for number, layer in enumerate(model.encoder, 1):
        title = f"Encoder layer {number} of {len(model.encoder)}"
        around, attention = layer.self_attention_norm, layer.self_attention
        step, x = _attend(
            f"{title}, self-attention", around, attention, x, None, None, example.source, row
        )
        steps.append(step)
        step, x = _feed_forward(title, layer.feed_forward_norm, layer.feed_forward, x, row)
        steps.append(step)
    return _half(example, "encoder", row, steps, x)


def _decoder(example: Example, row: int, memory: States) -> Half:
    model = example.model
    length = example.target_ids.shape[1]
    mask = causal_mask(length, length, example.target_ids.device)
    x = model.target_embedding(example.target_ids)
    steps: list[Step] = []
    for number, layer in enumerate(model.decoder, 1):
        title = f"Decoder layer {number} of {len(model.decoder)}"
        parts = (
            ("masked self-attention", "self_attention", None, mask, example.target),
            (
                "attention over the encoder's output",
                "cross_attention",
                memory,
                None,
                example.source,
            ),
        )
        for name, module, y, visible, keys in parts:
            around, attention = getattr(layer, f"{module}_norm"), getattr(layer, module)
            step, x = _attend(f"{title}, {name}", around, attention, x, y, visible, keys, row)
            steps.append(step)
        step, x = _feed_forward(title, layer.feed_forward_norm, layer.feed_forward, x, row)
        steps.append(step)
    return _half(example, "decoder", row, steps, x)[0]


def _half(
    example: Example, stack: str, row: int, steps: Sequence[Step], x: States
) -> tuple[Half, States]:
    """The way of one token, and the output of the stack for all of them."""
    model, encodes = example.model, stack == "encoder"
    embedding = model.source_embedding if encodes else model.target_embedding
    ids, tokens = (
        (example.source_ids, example.source) if encodes else (example.target_ids, example.target)
    )
    norm = None
    if model.config.norm == "pre":
        module = model.encoder_norm if encodes else model.decoder_norm
        norm = _norm(module, x[0, row])
        x = module(x)
    of_token = embedding.weight[ids[0, row]].detach()
    encoding = embedding.encoding(row, 1)[0].detach()
    start = of_token * embedding.scale + encoding
    half = Half(
        stack,
        tokens[row],
        row,
        of_token,
        embedding.scale,
        encoding,
        start,
        tuple(steps),
        norm,
        x[0, row],
    )
    return half, x


def _attend(
    title: str,
    around: AddNorm,
    attention: MultiHeadAttention,
    x: States,
    memory: Float[Tensor, "1 key d_model"] | None,
    mask: Mask | None,
    keys: Sequence[str],
    row: int,
) -> tuple[Step, States]:
    read = around.before(x)
    q, kv = attention.queries(read), attention.keys_values(read if memory is None else memory)
    weights = attention.weights(q, kv, mask)[0, :, row]
    every = (attention.weights(q, kv, mask) @ kv.values).transpose(1, 2).flatten(2)
    output = attention.output(every)
    largest = weights.max(-1)
    attended = tuple(
        (keys[j], weight)
        for j, weight in zip(largest.indices.tolist(), largest.values.tolist(), strict=True)
    )
    heads, bias = every[0, row], attention.output.bias
    of_output = None if bias is None else float(bias[0])
    products = (
        Product(
            "head₁[1]",
            "Σ weight × v[1]",
            weights[0],
            kv.values[0, 0, :, 0],
            None,
            float(heads[0]),
        ),
        Product(
            "output[1]",
            "heads · W^O[·,1]" + ("" if bias is None else " + b[1]"),
            heads,
            attention.output.weight[0].detach(),
            of_output,
            float(output[0, row, 0]),
        ),
    )
    return _step(title, around, x, output, attended, products, row)


def _feed_forward(
    title: str, around: AddNorm, network: FeedForward, x: States, row: int
) -> tuple[Step, States]:
    read = around.before(x)
    inner = network.inner(read)
    hidden = ACTIVATIONS[network.activation](inner)
    output = network.outer(hidden)
    unit = int((hidden[0, row] * network.outer.weight[0]).abs().argmax())
    products = (
        Product(
            f"h[{unit + 1}]",
            f"{'LayerNorm(x)' if around.pre else 'x'} · W₁[·,{unit + 1}] + b₁[{unit + 1}]",
            read[0, row],
            network.inner.weight[unit].detach(),
            float(network.inner.bias[unit]),
            float(hidden[0, row, unit]),
            network.activation,
        ),
        Product(
            "output[1]",
            "h · W₂[·,1] + b₂[1]",
            hidden[0, row],
            network.outer.weight[0].detach(),
            float(network.outer.bias[0]),
            float(output[0, row, 0]),
        ),
    )
    return _step(f"{title}, feed-forward", around, x, output, (), products, row)


def _step(
    title: str,
    around: AddNorm,
    x: States,
    output: States,
    attended: tuple[tuple[str, float], ...],
    products: tuple[Product, ...],
    row: int,
) -> tuple[Step, States]:
    result = around.after(x, output)
    norm = _norm(around.norm, x[0, row] if around.pre else x[0, row] + output[0, row])
    step = Step(
        title, around.pre, x[0, row], norm, attended, products, output[0, row], result[0, row]
    )
    return step, result


def _norm(module: nn.LayerNorm, x: Vector) -> Norm:
    """§3.1; the variance is divided by n, not by n − 1."""
    mean, variance = float(x.mean()), float(x.var(unbiased=False))
    normalised = F.layer_norm(x, module.normalized_shape, eps=module.eps)
    gamma, beta = module.weight.detach(), module.bias.detach()
    return Norm(x, mean, variance, module.eps, normalised, gamma, beta, module(x))


def trace_to_json(traced: Trace) -> str:
    return json.dumps(_plain(asdict(traced)), indent=1, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
