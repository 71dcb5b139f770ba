"""§3.4: how large a token's embedding is beside its position, with and without √d_model."""

import math

import torch

from transduce.charts import Bars
from transduce.config import ModelConfig
from transduce.directory import ModelDirectory
from transduce.log import Log
from transduce.model import Transformer, require_transformer
from transduce.model_names import model_path
from transduce.paper.why import Answer

POSITIONS = 50


def answer(quick: bool, seed: int, log: Log) -> Answer:
    torch.manual_seed(seed)
    start = Transformer(ModelConfig.base(vocab_size=2000, n_layers=1))
    trained = require_transformer(ModelDirectory.open(model_path()).network(), "why embedding")
    networks = {"untrained (base)": start, "trained (en-de)": trained}
    found = {name: measure(network) for name, network in networks.items()}
    new, old = found.values()
    logits = {
        "E, 1/√d_model": logit_spread(start, 1.0),
        "E, 1": logit_spread(start, math.sqrt(start.config.d_model)),
    }
    return Answer(
        (
            "The embeddings are also the pre-softmax matrix, and logits of standard deviation 1 "
            "need entries of standard deviation 1/√d_model: the untrained logits have "
            f"{logits['E, 1/√d_model']:.2f}, but {logits['E, 1']:.1f} with entries of standard "
            "deviation 1.",
            f"Such an embedding has norm {new['embedding']:.2f}, its position "
            f"{new['position']:.1f} = √(d_model/2): unscaled, {100 * new['unscaled share']:.1f} % "
            "of the sum's squared norm would be the token.",
            f"Times √d_model the token's norm is {new['scaled']:.1f} and its share "
            f"{100 * new['scaled share']:.0f} %; after training it is {old['scaled']:.1f} beside "
            f"{old['position']:.1f}, or {100 * old['scaled share']:.0f} %.",
        ),
        ("mean norm of", *networks),
        [
            ("d_model", *(f"{one['d_model']:.0f}" for one in found.values())),
            ("embedding E", *(f"{one['embedding']:.2f}" for one in found.values())),
            ("E × √d_model", *(f"{one['scaled']:.2f}" for one in found.values())),
            ("position PE", *(f"{one['position']:.2f}" for one in found.values())),
            *(
                (
                    f"share of the token, {name}",
                    *(f"{100 * one[key]:.1f} %" for one in found.values()),
                )
                for name, key in (("unscaled", "unscaled share"), ("× √d_model", "scaled share"))
            ),
        ],
        {**found, "logits": logits},
        [
            Bars(
                "mean norms",
                "norm",
                list(networks),
                {
                    "embedding E": [one["embedding"] for one in found.values()],
                    "E × √d_model": [one["scaled"] for one in found.values()],
                    "position PE": [one["position"] for one in found.values()],
                },
            ),
            Bars(
                "share of the token in embedding + position",
                "% of the squared norm",
                list(networks),
                {
                    "unscaled": [100 * one["unscaled share"] for one in found.values()],
                    "× √d_model": [100 * one["scaled share"] for one in found.values()],
                },
            ),
        ],
    )


@torch.no_grad()
def measure(network: Transformer) -> dict[str, float]:
    """Mean norms of a network's source embeddings and of its first positions."""
    embedding = network.source_embedding
    plain = float(embedding.weight.norm(dim=1).mean())
    position = float(embedding.encoding(0, POSITIONS).norm(dim=1).mean())
    scaled = plain * embedding.scale
    return {
        "d_model": float(network.config.d_model),
        "embedding": plain,
        "scaled": scaled,
        "position": position,
        "unscaled share": plain**2 / (plain**2 + position**2),
        "scaled share": scaled**2 / (scaled**2 + position**2),
    }


@torch.no_grad()
def logit_spread(network: Transformer, factor: float) -> float:
    """The standard deviation of logits, the matrix multiplied by a factor."""
    states = torch.randn(64, network.config.d_model)
    states = torch.nn.functional.layer_norm(states, states.shape[1:])
    return float((network.output(states) * factor).std())
