"""The gradient and the loss of one batch."""

import contextlib
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from transduce.batches import Batch, Indices, collate, split, target_tokens
from transduce.config import TrainConfig
from transduce.model import Network, Transformer
from transduce.store import Store
from transduce.tokenizer import AnyTokenizer
from transduce.train.processes import Processes
from transduce.train.risk import Risk, RiskObjective


class Objective(nn.Module):
    """The network and its loss as one module, for DistributedDataParallel and torch.compile."""

    def __init__(self, network: Network, smoothing: float, consistency: float = 0.0) -> None:
        super().__init__()
        self.network = network
        self.smoothing = smoothing
        self.consistency = consistency

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """The loss summed over target tokens, and the same without label smoothing and R-Drop."""
        if not self.consistency:
            loss = self.network.loss(batch, self.smoothing)
            return loss.smoothed, loss.nll
        loss = self.network.loss(batch.twice(), self.smoothing, self.consistency)
        return loss.smoothed / 2, loss.nll / 2


@dataclass(frozen=True)
class StepResult:
    """Sums over this process's share of a batch."""

    smoothed: float
    nll: float


class Gradient:
    """Computes the gradient of a batch in micro-batches, in one process or several."""

    def __init__(
        self,
        network: Network,
        config: TrainConfig,
        processes: Processes,
        parts: int = 1,
        tokenizer: AnyTokenizer | None = None,
    ) -> None:
        """`parts` is the number of micro-batches per process; the risk needs the tokenizer."""
        self.processes = processes
        self.parts = parts
        self.dtype = precision(config.precision, processes.device)
        self.risk = None
        objective: nn.Module = Objective(network, config.label_smoothing, config.consistency)
        if config.risk:
            assert isinstance(network, Transformer)
            assert tokenizer is not None
            self.risk = Risk(network, tokenizer, config.risk)
            objective = RiskObjective(network, config.label_smoothing)
        if config.compile:
            objective = torch.compile(objective, dynamic=True)  # type: ignore[assignment]
        self.parallel = (
            DistributedDataParallel(objective, gradient_as_bucket_view=True)
            if processes.world > 1
            else None
        )
        self.objective = objective

    def of(self, store: Store, batch: Indices) -> StepResult:
        """Sets every parameter's gradient to that of the mean loss per target token of the batch.

        The batch does not depend on the number of processes: each computes its micro-batches and
        divides by the number of target tokens of the whole batch.
        """
        world, rank = self.processes.world, self.processes.rank
        tokens = target_tokens(store, batch)
        parts = split(batch, self.parts * world, store.lengths)
        mine = parts[rank::world]
        smoothed = nll = 0.0
        for number, part in enumerate(mine):
            last = number == len(mine) - 1
            if len(part) == 0 and not (last and world > 1):
                continue
            # a process without sentences still joins the all-reduce, with a gradient of zero
            scale = world / tokens if len(part) else 0.0
            sums = self._backward(collate(store, part if len(part) else batch[:1]), scale, last)
            if len(part):
                smoothed, nll = smoothed + sums[0], nll + sums[1]
        return StepResult(smoothed, nll)

    def _backward(self, batch: Batch, scale: float, last: bool) -> tuple[float, float]:
        batch = batch.to(self.processes.device)
        example = self.risk.candidates(batch) if self.risk else batch
        no_sync = (
            self.parallel.no_sync() if self.parallel and not last else contextlib.nullcontext()
        )
        with no_sync:
            with autocast(self.processes.device, self.dtype):
                smoothed, nll = (self.parallel or self.objective)(example)
            (smoothed * scale).backward()
        return float(smoothed.detach()), float(nll.detach())


def precision(setting: str, device: torch.device) -> torch.dtype:
    """The dtype of matrix products."""
    if setting == "auto":
        supported = device.type == "cuda" and torch.cuda.is_bf16_supported()
        return torch.bfloat16 if supported else torch.float32
    return torch.bfloat16 if setting == "bfloat16" else torch.float32


def autocast(device: torch.device, dtype: torch.dtype) -> contextlib.AbstractContextManager[None]:
    if dtype == torch.float32:
        return contextlib.nullcontext()
    return torch.autocast(device.type, dtype=dtype)


def seed_step(seed: int, step: int, rank: int, rollbacks: int) -> None:
    """Makes the dropout of a step a function of (seed, step, rank, rollbacks)."""
    words = np.random.SeedSequence([seed, step, rank, rollbacks]).generate_state(2)
    torch.manual_seed(int(words[0]) << 32 | int(words[1]))
