"""The structure of a network, read from its modules: what Figure 1 shows."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from torch import nn

from transduce.model import Transformer, count_parameters
from transduce.model.attention import MultiHeadAttention
from transduce.model.embedding import Embedding, OutputProjection
from transduce.model.layers import AddNorm, DecoderLayer, FeedForward

Kind = Literal[
    "embedding",
    "positions",
    "attention",
    "cross-attention",
    "feed-forward",
    "add-norm",
    "norm",
    "add",
    "linear",
    "softmax",
    "matmul",
    "scale",
    "mask",
    "concat",
    "other",
]

ACTIVATION_NAMES = {"relu": "ReLU", "gelu": "GELU", "silu": "SiLU"}


@dataclass(frozen=True)
class Block:
    """One box: what it is called, the sizes that matter and its number of parameters."""

    kind: Kind
    label: tuple[str, ...]
    details: tuple[str, ...] = ()
    parameters: int = 0


# from bottom to top; a residual connection leads around them to the addition
Sublayer = tuple[Block, ...]


@dataclass(frozen=True)
class Layer:
    """A layer, and how many like it follow each other."""

    sublayers: tuple[Sublayer, ...]
    repeats: int

    @property
    def parameters(self) -> int:
        """Of one copy."""
        return sum(block.parameters for sublayer in self.sublayers for block in sublayer)


@dataclass(frozen=True)
class Stack:
    """A half of the network: embedding, positions, layers from bottom to top, what ends it."""

    embedding: Block
    positions: Block
    layers: tuple[Layer, ...]
    top: tuple[Block, ...]

    @property
    def depth(self) -> int:
        return sum(layer.repeats for layer in self.layers)


@dataclass(frozen=True)
class Description:
    """A network as Figure 1 shows it."""

    encoder: Stack
    decoder: Stack
    shared: tuple[str, ...]  # which of source_embedding, target_embedding, output are one matrix
    d_model: int
    p_drop: tuple[float, ...]  # every rate in use on embeddings and sub-layer outputs
    parameters: int  # a shared matrix counted once


def describe(model: Transformer) -> Description:
    """The network as its modules are, whatever the configuration says they should be."""
    return Description(
        encoder=_stack(model, "encoder", "source_embedding", "Input"),
        decoder=_stack(model, "decoder", "target_embedding", "Output"),
        shared=_shared(model),
        d_model=model.target_embedding.weight.shape[1],
        p_drop=tuple(
            sorted({m.dropout.p for m in model.modules() if isinstance(m, AddNorm | Embedding)})
        ),
        parameters=count_parameters(model),
    )


def _stack(model: Transformer, name: str, embedding_name: str, reads: str) -> Stack:
    children = dict(model.named_children())
    embedding = children[embedding_name]
    assert isinstance(embedding, Embedding)
    layers = [tuple(_sublayers(layer)) for layer in children[name].children()]
    top = [_norm(children[f"{name}_norm"])] if f"{name}_norm" in children else []
    if name == "decoder":
        top += [_output(children["output"]), Block("softmax", ("Softmax",))]
    return Stack(
        embedding=_vectors(embedding, reads),
        positions=_positions(embedding),
        layers=tuple(Layer(alike, len(list(run))) for alike, run in groupby(layers)),
        top=tuple(top),
    )


def _vectors(embedding: Embedding, reads: str) -> Block:
    rows, width = embedding.weight.shape
    unscaled = [f"not scaled by √{width:,}"] if embedding.scale == 1 else []
    details = (f"{rows:,} × {width:,}", *unscaled)
    return Block("embedding", (f"{reads} Embedding",), details, embedding.weight.numel())


def _positions(embedding: Embedding) -> Block:
    if embedding.layout == "learned":
        rows, width = embedding.positions.shape
        size = f"{rows:,} × {width:,}"
        return Block("positions", ("Learned", "Positions"), (size,), embedding.positions.numel())
    layout = embedding.layout.removeprefix("sinusoidal").removeprefix("-")
    return Block("positions", ("Positional", "Encoding"), (layout,) if layout else ())


def _sublayers(layer: nn.Module) -> Iterator[Sublayer]:
    """Each child of a layer, together with the residual connection that comes after it, if any."""
    children = list(layer.named_children())
    following = [module for _, module in children[1:]] + [None]
    for (name, module), after in zip(children, following, strict=True):
        if isinstance(module, AddNorm):
            continue
        block = _block(name, module, masked=isinstance(layer, DecoderLayer))
        if not isinstance(after, AddNorm):
            yield (block,)
        elif after.pre:
            yield _norm(after.norm), block, Block("add", ("Add",))
        else:
            norm = _norm(after.norm)
            label = (f"Add & {norm.label[0]}",)
            yield block, Block("add-norm", label, parameters=norm.parameters)


def _block(name: str, module: nn.Module, masked: bool) -> Block:
    parameters = count_parameters(module)
    if isinstance(module, MultiHeadAttention):
        crosses = name == "cross_attention"
        label = "Masked Multi-Head" if masked and not crosses else "Multi-Head"
        sort = "" if module.kind == "scaled" else f"{module.kind.capitalize()} "
        kind: Kind = "cross-attention" if crosses else "attention"
        return Block(kind, (label, f"{sort}Attention"), tuple(_attention(module)), parameters)
    if isinstance(module, FeedForward):
        sizes = (module.inner.in_features, module.inner.out_features, module.outer.out_features)
        activation = ACTIVATION_NAMES.get(module.activation, module.activation)
        details = [f"{' → '.join(f'{size:,}' for size in sizes)}, {activation}"]
        details += [f"dropout {module.dropout.p:g}"] if module.dropout.p else []
        return Block("feed-forward", ("Feed Forward",), tuple(details), parameters)
    return Block("other", (type(module).__name__,), parameters=parameters)


def _attention(module: MultiHeadAttention) -> Iterator[str]:
    heads = f"{module.n_heads} head{'s' if module.n_heads > 1 else ''}"
    if module.d_k == module.d_v:
        yield f"{heads}, dₖ = dᵥ = {module.d_k:,}"
    else:
        yield f"{heads}, dₖ = {module.d_k:,}, dᵥ = {module.d_v:,}"
    if module.neighbourhood is not None:
        yield f"restricted to r = {module.neighbourhood}"
    if module.qkv.bias is None:
        yield "no bias"
    if module.dropout.p:
        yield f"dropout {module.dropout.p:g}"


def _norm(module: nn.Module) -> Block:
    name = "Norm" if isinstance(module, nn.LayerNorm) else type(module).__name__
    return Block("norm", (name,), parameters=count_parameters(module))


def _output(module: nn.Module) -> Block:
    assert isinstance(module, OutputProjection)
    rows, width = module.weight.shape
    size = f"{width:,} × {rows:,}{'' if module.bias is None else ', bias'}"
    return Block("linear", ("Linear",), (size,), count_parameters(module))


def _shared(model: Transformer) -> tuple[str, ...]:
    """Of the three users of token embeddings, those that hold one and the same matrix."""
    users = {
        "source_embedding": model.source_embedding.weight,
        "target_embedding": model.target_embedding.weight,
        "output": model.output.weight,
    }
    return tuple(
        name
        for name, weight in users.items()
        if any(weight is other for user, other in users.items() if user != name)
    )
