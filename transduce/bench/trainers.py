"""What is compared: a network with its optimiser and loss, taking whole training steps.

As a program: one system in a process of its own. A request has the number of steps to take and
perhaps a directory for the weights after them; the answer is the seconds of the steps. The last
answer is the peak memory and the loss.
"""

import sys
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from transduce.batches import Indices, collate, plan_epoch
from transduce.bench.peers import BFLOAT16, OURS, Marian, TorchTransformer
from transduce.bench.process import Parent
from transduce.config import TrainConfig
from transduce.directory import ModelDirectory, write_model
from transduce.machine import keep_memory, peak_memory
from transduce.model import require_transformer
from transduce.schedule import learning_rate
from transduce.store import Store
from transduce.tokenizer import PAD
from transduce.train.objective import Gradient, seed_step
from transduce.train.prepare import reopen
from transduce.train.processes import Processes
from transduce.train.run import Run, read_config
from transduce.train.state import Learner

WORKER = "transduce.bench.trainers"


class Ours:
    """`transduce train`, but for its reports and checkpoints; matrix products in `precision`."""

    def __init__(self, run: Run, precision: str = "auto") -> None:
        config = read_config(run)
        self.config = config.replace(train=config.train.replace(precision=precision))
        self.store = reopen(run).train
        self.network = ModelDirectory.open(run.model).network()
        self.learner = Learner(self.network)
        alone = Processes(0, 1, torch.device("cpu"))
        self.gradient = Gradient(self.network, self.config.train, alone)

    def step(self, number: int, batch: Indices) -> None:
        """Forward, loss, backward and optimiser; the first step is number 1."""
        seed_step(self.config.train.seed, number, 0, 0)
        self.network.train()
        self.gradient.of(self.store, batch)
        self.learner.update(rate_of(number, self.config.model.d_model, self.config.train))

    def write_weights(self, directory: Path) -> None:
        write_model(directory, self.network)


class Peer:
    """The training loop that a user of another library writes, with Adam's default form."""

    def __init__(self, run: Run, network: nn.Module) -> None:
        self.config, self.store = read_config(run), reopen(run).train
        self.network = network
        self.optimiser = torch.optim.Adam(network.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9)
        torch.manual_seed(self.config.train.seed)

    def step(self, number: int, batch: Indices) -> None:
        """The same, with the same learning rate."""
        micro_batch = collate(self.store, batch)
        self.network.train()
        for group in self.optimiser.param_groups:
            group["lr"] = rate_of(number, self.config.model.d_model, self.config.train)
        self.optimiser.zero_grad()
        loss = F.cross_entropy(
            self.network(micro_batch.source, micro_batch.target_in).flatten(0, 1),
            micro_batch.target_out.flatten(),
            ignore_index=PAD,
            label_smoothing=self.config.train.label_smoothing,
        )
        loss.backward()
        self.optimiser.step()

    def write_weights(self, directory: Path) -> None:
        assert isinstance(self.network, Marian)
        self.network.network.save_pretrained(directory)


def system_of(name: str, run: Run) -> Ours | Peer:
    """A system at the weights that the run begins with."""
    if name == OURS:
        return Ours(run)
    if name == BFLOAT16:
        return Ours(run, precision="bfloat16")
    if name == "huggingface":
        return Peer(run, Marian(marian_directory(run)))
    network = TorchTransformer(read_config(run).model)
    network.copy_from(require_transformer(ModelDirectory.open(run.model).network(), name))
    return Peer(run, network)


def marian_directory(run: Run) -> Path:
    """Where the run's first weights are, in Hugging Face's form."""
    return run.directory / "huggingface"


def rate_of(number: int, d_model: int, train: TrainConfig) -> float:
    return learning_rate(number, d_model, train.warmup_steps, train.lr_factor)


def batches_of(store: Store, train: TrainConfig) -> Iterator[Indices]:
    """The batches of training, epoch after epoch: the same for every system."""
    for epoch in count():
        yield from plan_epoch(store.lengths, train.tokens_per_batch, train.seed, epoch)


@torch.inference_mode()
def loss_of(network: nn.Module, store: Store, tokens_per_batch: int) -> float:
    """−log p per token, without smoothing and without dropout."""
    network.eval()
    total, tokens = 0.0, 0
    for indices in plan_epoch(store.lengths, tokens_per_batch, seed=0, epoch=0):
        batch = collate(store, indices)
        logits = network(batch.source, batch.target_in).flatten(0, 1)
        gold = batch.target_out.flatten()
        total += float(F.cross_entropy(logits, gold, ignore_index=PAD, reduction="sum"))
        tokens += int((batch.target_out != PAD).sum())
    return total / tokens


def main(name: str, directory: str) -> None:
    parent = Parent()
    if name in (OURS, BFLOAT16):
        keep_memory()  # as `transduce train` does; the others run as they come
    run = Run(Path(directory))
    system, data, config = system_of(name, run), reopen(run), read_config(run).train
    batches, number = batches_of(data.train, config), 0
    for request in parent.requests():
        start = time.perf_counter()
        for batch in islice(batches, request["steps"]):
            number += 1
            system.step(number, batch)
        seconds = time.perf_counter() - start
        if "weights" in request:
            system.write_weights(Path(request["weights"]))
        parent.answer({"seconds": seconds})
    memory = peak_memory()  # before the loss, whose logits are those of no training step
    loss = loss_of(system.network, data.valid, config.tokens_per_batch)
    parent.answer({"peak_memory": memory, "loss": loss})


if __name__ == "__main__":
    main(*sys.argv[1:])
