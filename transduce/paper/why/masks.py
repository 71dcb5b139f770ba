"""§3.2.3: which inputs reach which outputs, found by gradients; and a mask that leaks."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transduce.batches import Batch
from transduce.charts import Bars, Heat
from transduce.config import ModelConfig
from transduce.log import Log
from transduce.loss import sequence_loss
from transduce.model import Transformer
from transduce.paper.why import Answer
from transduce.paper.why.training import one_thread, reversals
from transduce.schedule import learning_rate
from transduce.train.state import Learner

LENGTH, SYMBOLS, ROWS = 6, 10, 64
WARMUP = 100


def answer(quick: bool, seed: int, log: Log) -> Answer:
    steps = 350 if quick else 600
    leaks = {"correct": 0, "leaking": 1}
    found = {}
    for name, leak in leaks.items():
        log(f"training with a {name} mask")
        found[name] = measure(leak, steps, seed)
    right, wrong = found["correct"], found["leaking"]
    reach = {name: reached(leak, seed) for name, leak in leaks.items()}
    return Answer(
        (
            "Position i predicts token i, and its gradients show what it depends on: with the "
            f"correct mask {int((reach['correct'] > 0).sum())} of "
            f"{reach['correct'].numel()} pairs, those on and below the diagonal, and none of the "
            "future.",
            "Shifted by one, the mask shows each position the token that it has to predict, and "
            f"training looks perfect: {100 * wrong['training']:.0f} % of the tokens right, with "
            f"the correct mask {100 * right['training']:.0f} %.",
            "When it decodes there is no next token to copy, and only "
            f"{100 * wrong['decoding']:.0f} % are right, with the correct mask "
            f"{100 * right['decoding']:.0f} %: a loss that is too good is a leak.",
        ),
        ("mask", "training loss", "right in training", "right when decoding"),
        [
            (
                name,
                f"{one['loss']:.3f}",
                f"{100 * one['training']:.1f} %",
                f"{100 * one['decoding']:.1f} %",
            )
            for name, one in found.items()
        ],
        {**found, "reach": {name: matrix.tolist() for name, matrix in reach.items()}},
        [
            *(
                Heat(
                    f"{name} mask: outputs and inputs",
                    "input token",
                    "output",
                    (matrix / matrix.max()).double().numpy(),
                    [f"y{i}" for i in range(1, LENGTH + 1)] + ["</s>"],
                    ["<s>"] + [f"y{i}" for i in range(1, LENGTH + 1)],
                )
                for name, matrix in reach.items()
            ),
            Bars(
                "tokens right",
                "%",
                ["in training", "when decoding"],
                {
                    f"{name} mask": [100 * one["training"], 100 * one["decoding"]]
                    for name, one in found.items()
                },
                digits=0,
            ),
        ],
    )


def leaky_mask(length: int, leak: int) -> Bool[Tensor, "1 1 length length"]:
    """The causal mask, which also shows the next `leak` positions."""
    return torch.ones(length, length, dtype=torch.bool).tril(leak)[None, None]


def states(
    model: Transformer, source: Int[Tensor, "rows s"], x: Float[Tensor, "rows t d"], leak: int
) -> Float[Tensor, "rows t d"]:
    """The decoder's states for embedded target tokens under another mask than its own."""
    memory = model.encode(source)
    for layer in model.decoder:
        seen = layer.cross_attention.keys_values(memory.states)
        x, _ = layer(x, None, None, leaky_mask(x.shape[1], leak), seen, memory.mask)
    return x


def network(seed: int, layers: int = 1) -> Transformer:
    torch.manual_seed(seed)
    return Transformer(
        ModelConfig(
            vocab_size=3 + SYMBOLS, d_model=64, d_ff=128, n_heads=4, n_layers=layers, p_drop=0.0
        )
    )


def reached(leak: int, seed: int) -> Float[Tensor, "output input"]:
    """The norm of the gradient of each output's state with respect to each target input."""
    model = network(seed).eval()
    (batch,) = reversals(1, 1, LENGTH, SYMBOLS, torch.Generator().manual_seed(seed))
    x = model.target_embedding(batch.target_in).detach().requires_grad_()
    outputs = model.output(states(model, batch.source, x, leak))[0]
    weights = torch.randn(outputs.shape[1], generator=torch.Generator().manual_seed(seed))
    rows = [torch.autograd.grad(one @ weights, x, retain_graph=True)[0][0] for one in outputs]
    return torch.stack(rows).norm(dim=-1)


def measure(leak: int, steps: int, seed: int) -> dict[str, float]:
    """Trains to reverse digits; accuracy when given the right tokens so far, and when decoding."""
    model, random = network(seed), torch.Generator().manual_seed(seed)
    learner = Learner(model)
    with one_thread():
        for step, batch in enumerate(reversals(steps, ROWS, LENGTH, SYMBOLS, random), 1):
            loss = loss_of(model, batch, leak)
            (loss / batch.target_out.numel()).backward()
            learner.update(learning_rate(step, 64, WARMUP, 0.5))
        (test,) = reversals(1, 256, LENGTH, SYMBOLS, random)
        with torch.no_grad():
            given = model.output(
                states(model, test.source, model.target_embedding(test.target_in), leak)
            )
            loss = loss_of(model, test, leak) / test.target_out.numel()
            decoded = decode(model, test.source, leak)
    return {
        "loss": float(loss),
        "training": float((given.argmax(-1) == test.target_out).double().mean()),
        "decoding": float((decoded == test.target_out).double().mean()),
    }


def loss_of(model: Transformer, batch: Batch, leak: int) -> Float[Tensor, ""]:
    found = states(model, batch.source, model.target_embedding(batch.target_in), leak)
    return sequence_loss(found, batch.target_out, model.output.weight, None, 0.0, 0).smoothed


def decode(model: Transformer, source: Int[Tensor, "rows s"], leak: int) -> Int[Tensor, "rows t"]:
    """Greedy search: each output becomes the next input."""
    target = torch.ones(len(source), 1, dtype=torch.long)
    for _ in range(source.shape[1]):
        found = states(model, source, model.target_embedding(target), leak)
        target = torch.cat([target, model.output(found[:, -1:]).argmax(-1)], 1)
    return target[:, 1:]
