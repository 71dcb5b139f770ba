"""§3.2.2: one head against several of the same total size, where two look-ups are needed."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from transduce.charts import Bars, Heat
from transduce.config import ModelConfig
from transduce.log import Log
from transduce.model import count_parameters
from transduce.model.attention import MultiHeadAttention
from transduce.model.embedding import Embedding, vectors
from transduce.paper.why import Answer
from transduce.paper.why.training import one_thread

HEADS = (1, 2, 4, 8)
D_MODEL, SYMBOLS, LENGTH, ROWS = 64, 12, 12, 64


class Neighbours(nn.Module):
    """One attention layer that names the symbols before and after each position."""

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        config = ModelConfig(vocab_size=SYMBOLS, d_model=D_MODEL, n_heads=n_heads, p_drop=0.0)
        self.embedding = Embedding(config, vectors(SYMBOLS, D_MODEL))
        self.attention = MultiHeadAttention(config)
        self.output = nn.Linear(D_MODEL, 2 * SYMBOLS)

    def forward(self, ids: Int[Tensor, "rows length"]) -> Float[Tensor, "rows inner 2 symbols"]:
        q, kv = self.attention.project(self.embedding(ids))
        found = self.output(self.attention.attend(q, kv))
        return found[:, 1:-1].unflatten(-1, (2, SYMBOLS))


def answer(quick: bool, seed: int, log: Log) -> Answer:
    steps = 250 if quick else 500
    networks = {n: trained(n, steps, seed) for n in HEADS}
    found = {n: accuracy(network, seed) for n, network in networks.items()}
    size = count_parameters(networks[1].attention)
    best = max(HEADS, key=lambda n: found[n]["both"])
    one, many = found[1], found[best]
    sides = one["before"], one["after"]
    parameters = {count_parameters(network) for network in networks.values()}
    return Answer(
        (
            "Each position has to name the symbol before it and the symbol after it: two look-ups "
            "at different places, in one layer of attention.",
            "One head has one distribution of weights for both, and so a mixture of two values: "
            f"it names one symbol in {100 * max(sides):.0f} % of the positions, the other in "
            f"{100 * min(sides):.0f} %, and both in {100 * one['both']:.0f} %.",
            f"{best} heads of width {D_MODEL // best} have the same {size:,} parameters and name "
            f"both in {100 * many['both']:.0f} %: a head can look back while another looks ahead.",
        ),
        ("heads", "d_k", "parameters", "before right", "after right", "both right"),
        [
            (
                f"{n}",
                f"{D_MODEL // n}",
                f"{count_parameters(networks[n].attention):,}",
                *(f"{100 * found[n][key]:.1f} %" for key in ("before", "after", "both")),
            )
            for n in HEADS
        ],
        {
            "accuracy": {f"{n}": found[n] for n in HEADS},
            "parameters": max(parameters),
            "same_size": len(parameters) == 1,
        },
        [
            Bars(
                "both neighbours named",
                "% of the positions",
                [f"{n}" for n in HEADS],
                {"": [100 * found[n]["both"] for n in HEADS]},
                x_label="heads",
            ),
            _map(networks[1], 0, "weights of a single head"),
            _map(networks[2], 0, "two heads: the first"),
            _map(networks[2], 1, "two heads: the second"),
        ],
    )


def trained(n_heads: int, steps: int, seed: int) -> Neighbours:
    random = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    network = Neighbours(n_heads)
    optimiser = torch.optim.Adam(network.parameters(), betas=(0.9, 0.98), fused=True)
    with one_thread():
        for step in range(1, steps + 1):
            for group in optimiser.param_groups:
                group["lr"] = 0.005 * min(step / 50, math.sqrt(50 / step))
            ids, wanted = examples(random)
            loss = F.cross_entropy(network(ids).flatten(0, 2), wanted.flatten())
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return network


def examples(
    random: torch.Generator,
) -> tuple[Int[Tensor, "rows length"], Int[Tensor, "rows inner 2"]]:
    """Random symbols, and the neighbours of all but the first and the last."""
    ids = torch.randint(0, SYMBOLS, (ROWS, LENGTH), generator=random)
    return ids, torch.stack([ids[:, :-2], ids[:, 2:]], -1)


@torch.no_grad()
def accuracy(network: Neighbours, seed: int) -> dict[str, float]:
    """On other symbols than in training."""
    random = torch.Generator().manual_seed(seed + 1)
    pairs = [examples(random) for _ in range(8)]
    right = torch.cat([network(ids).argmax(-1) == wanted for ids, wanted in pairs])
    before, after = right.flatten(0, 1).double().mean(0).tolist()
    return {"before": before, "after": after, "both": float(right.all(-1).double().mean())}


@torch.no_grad()
def _map(network: Neighbours, head: int, title: str) -> Heat:
    """The mean weights of a head over many sentences."""
    ids, _ = examples(torch.Generator().manual_seed(0))
    q, kv = network.attention.project(network.embedding(ids))
    weights = network.attention.weights(q, kv).mean(0)[head]
    return Heat(title, "key position", "query position", weights.double().numpy())
