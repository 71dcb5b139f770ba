"""One process or many: who am I, what do we all know, and when do we stop."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from types import FrameType

import torch
from torch import Tensor, distributed
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

PATIENCE = timedelta(minutes=30)  # with the others: the first may be validating


@dataclass(frozen=True)
class Processes:
    """This process among those that train together; torchrun sets them up."""

    rank: int
    world: int
    device: torch.device

    @property
    def first(self) -> bool:
        """Whether this is the one process that writes."""
        return self.rank == 0

    def sum(self, values: list[float]) -> list[float]:
        """The sum over all processes of each number."""
        if self.world == 1:
            return values
        total = torch.tensor(values, dtype=torch.float64, device=self.device)
        distributed.all_reduce(total)
        return total.tolist()

    def wait(self) -> None:
        """Until every process is here."""
        if self.world > 1:
            distributed.barrier()

    def copy_from_first(self, tensors: list[Tensor]) -> None:
        """Makes these tensors what they are in the first process."""
        if self.world > 1:
            for tensor in tensors:
                distributed.broadcast(tensor, 0)


@contextmanager
def join() -> Iterator[Processes]:
    """Joins the processes that torchrun started, or stands alone."""
    world, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    local = int(os.environ.get("LOCAL_RANK", "0"))
    gpu = torch.cuda.is_available()
    if gpu:
        torch.cuda.set_device(local)
    device = torch.device("cuda", local) if gpu else torch.device("cpu")
    if world == 1:
        yield Processes(0, 1, device)
        return
    # A restarted group must not read the addresses that the group before it left in the store.
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    shared, _, _ = next(rendezvous("env://", timeout=PATIENCE))
    distributed.init_process_group(
        "nccl" if gpu else "gloo",
        store=PrefixStore(f"attempt-{attempt}", shared),
        rank=rank,
        world_size=world,
        timeout=PATIENCE,
    )
    try:
        yield Processes(rank, world, device)
    finally:
        distributed.destroy_process_group()


class StopSignal:
    """SIGTERM and Ctrl-C, noted when they come and heeded when a step is done."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None

    @contextmanager
    def listening(self) -> Iterator["StopSignal"]:
        """A second Ctrl-C does not wait."""
        signals = (signal.SIGTERM, signal.SIGINT)
        before = {number: signal.signal(number, self._note) for number in signals}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        if self.received is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.received = signal.Signals(number)
