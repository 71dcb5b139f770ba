"""Every head of a model: its measures, its role, and what the loss is without it."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from transduce.attend.measures import Measures, measure
from transduce.attend.reader import Reader
from transduce.attend.view import Kind
from transduce.engines import Ids
from transduce.errors import InputError, ModelError
from transduce.log import Log, plural, silent

if TYPE_CHECKING:
    from transduce.model import Network

# a share this much larger than with equal weights gives a head its role
CLEAR = 0.1
BROAD = 0.75  # of the entropy of equal weights: the head attends to almost everything
ROLES = {
    "previous": "previous",
    "same": "same",
    "next": "next",
    "special": "end",
    "punctuation": "punctuation",
    "far": "distant",
}
START, CONTENT, WIDE = "start", "content", "broad"
# the paper's figures → the measure that finds heads like theirs
EXAMPLES = {"long_distance": "far", "anaphora": "anaphora", "structure": "clause"}
LOSS_SENTENCES = 32  # that the loss without a head is computed on


@dataclass(frozen=True)
class HeadFacts:
    """What a head does; shares are of its weight, see `Measures`."""

    kind: Kind
    layer: int
    head: int
    role: str
    entropy: float
    distance: float
    previous: float
    same: float
    next: float
    special: float  # EOS; BOS in decoder self-attention
    punctuation: float
    far: float
    anaphora: float | None
    clause: float | None
    loss: float | None = None  # nats per token that the loss grows when the head is switched off


@dataclass(frozen=True)
class Example:
    """A head like one of the paper's figures; `equal` is the share with equal weights."""

    head: HeadFacts
    share: float
    equal: float


@dataclass(frozen=True, eq=False)
class HeadReport:
    """All heads of a model, measured on some sentences."""

    sentences: int
    heads: list[HeadFacts]
    measures: dict[Kind, Measures]

    def ranked(self, name: str, layer: int | None = None) -> list[Example]:
        """Encoder heads, of one layer or of all, those most like a figure of the paper first."""
        encoder, quantity = self.measures.get("encoder"), EXAMPLES[name]
        if encoder is None or quantity not in encoder.values:
            return []
        shares, equal = encoder.values[quantity], encoder.uniform[quantity]
        found = [
            Example(head, float(shares[head.layer - 1, head.head - 1]), equal)
            for head in self.heads
            if head.kind == "encoder" and layer in (None, head.layer)
        ]
        return sorted(found, key=lambda example: -example.share)

    def examples(self, name: str) -> list[Example]:
        """Those whose share of the weight exceeds that of equal weights."""
        return [example for example in self.ranked(name) if example.share > example.equal]


def measure_heads(
    reader: Reader, texts: Sequence[str], losses: bool = True, log: Log = silent
) -> HeadReport:
    """Measures every head on texts and the model's own translations of them."""
    texts = [text for text in texts if text.strip()]
    if not texts:
        raise InputError("there are no sentences to measure heads on")
    pairs = reader.encode_batch(texts)
    measured = measure(reader.attentions(pairs), reader.source_language)
    heads = [fact for one in measured for fact in _facts(one)]
    if losses:
        heads = _with_losses(reader.network, heads, pairs[:LOSS_SENTENCES], log)
    return HeadReport(len(texts), heads, {one.kind: one for one in measured})


def _facts(measures: Measures) -> list[HeadFacts]:
    layers, heads = measures.values["entropy"].shape
    names = [field.name for field in fields(HeadFacts) if field.name in measures.values]
    found = []
    for layer, head in product(range(layers), range(heads)):
        values: dict[str, Any] = {n: float(measures.values[n][layer, head]) for n in names}
        values = {"anaphora": None, "clause": None} | values
        role = role_of(measures, layer, head)
        found.append(HeadFacts(measures.kind, layer + 1, head + 1, role, **values))
    return found


def role_of(measures: Measures, layer: int, head: int) -> str:
    """The share that most exceeds that of equal weights, if it does so clearly."""
    excess = {name: float(measures.excess(name)[layer, head]) for name in ROLES}
    best = max(excess, key=lambda name: excess[name])
    if excess[best] >= CLEAR:
        return START if (measures.kind, best) == ("decoder", "special") else ROLES[best]
    broad = measures.values["entropy"][layer, head] >= BROAD * measures.uniform["entropy"]
    return WIDE if broad else CONTENT


def _with_losses(
    network: "Network",
    heads: Sequence[HeadFacts],
    pairs: Sequence[tuple[Ids, Ids]],
    log: Log,
) -> list[HeadFacts]:
    """The heads with the loss when each is switched off; as given if they cannot be."""
    from transduce.model.heads import Head, attention_of, without_heads

    try:
        attention_of(network, Head(heads[0].kind, heads[0].layer, heads[0].head))
    except ModelError:
        return list(heads)
    before = mean_loss(network, pairs)
    found = []
    for number, head in enumerate(heads):
        changed = without_heads(network, [Head(head.kind, head.layer, head.head)])
        found.append(replace(head, loss=mean_loss(changed, pairs) - before))
        if (number + 1) % 16 == 0:
            log(f"{number + 1} of {plural(len(heads), 'head')} switched off in turn")
    return found


def mean_loss(network: "Network", pairs: Sequence[tuple[Ids, Ids]]) -> float:
    """−log p of the targets, in nats per token."""
    from transduce.engines.torch_engine import TorchEngine

    scored = TorchEngine(network).score([s for s, _ in pairs], [t for _, t in pairs])
    log_probs = [value for row in scored for value in row]
    return -float(np.mean(log_probs))
