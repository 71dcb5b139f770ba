"""One or several training processes: communication between them, and stop signals."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from types import FrameType

import torch
from torch import distributed
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from transduce.errors import UserError

TIMEOUT = timedelta(minutes=30)  # of an all-reduce: rank 0 may be decoding validation sentences


@dataclass(frozen=True)
class Processes:
    """This process and its group, which torchrun started."""

    rank: int
    world: int
    device: torch.device
    store: PrefixStore | None = None  # None if there is only one process
    _decisions: Iterator[int] = field(default_factory=count, repr=False)

    @property
    def first(self) -> bool:
        """Whether this is rank 0, the only process that writes."""
        return self.rank == 0

    def sum(self, values: list[float]) -> list[float]:
        """Each number summed over all processes."""
        if self.world == 1:
            return values
        total = torch.tensor(values, dtype=torch.float64, device=self.device)
        distributed.all_reduce(total)
        return total.tolist()

    def from_first(self, decide: Callable[[], str]) -> str:
        """Calls `decide` in rank 0 only; all processes return its result. Waits without a timeout.

        If it raises in rank 0, the others raise UserError.
        """
        if self.store is None:
            return decide()
        key = f"decision-{next(self._decisions)}"
        if self.first:
            outcome = "failed"
            try:
                outcome = "decided " + decide()
            finally:
                self.store.set(key, outcome)
        try:
            while not self.store.check([key]):
                time.sleep(0.1)
            outcome = self.store.get(key).decode("utf-8")
        except distributed.DistError:  # rank 0 served the store and has ended
            outcome = "failed"
        if outcome == "failed":
            raise UserError("rank 0 has stopped: its own message says why")
        distributed.barrier()  # rank 0 may serve the store: it must not end before all have read
        return outcome.removeprefix("decided ")


@contextmanager
def join() -> Iterator[Processes]:
    """Joins the process group if torchrun started one."""
    world, rank = int(os.environ.get("WORLD_SIZE", "1")), int(os.environ.get("RANK", "0"))
    local = int(os.environ.get("LOCAL_RANK", "0"))
    gpu = torch.cuda.is_available()
    if gpu:
        torch.cuda.set_device(local)
    device = torch.device("cuda", local) if gpu else torch.device("cpu")
    if world == 1:
        yield Processes(0, 1, device)
        return
    # A restarted group must not read the addresses that the previous group left in the store.
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    shared, _, _ = next(rendezvous("env://", timeout=TIMEOUT))
    store = PrefixStore(f"attempt-{attempt}", shared)
    distributed.init_process_group(
        "nccl" if gpu else "gloo", store=store, rank=rank, world_size=world, timeout=TIMEOUT
    )
    try:
        yield Processes(rank, world, device, PrefixStore("transduce", store))
    finally:
        distributed.destroy_process_group()


class StopSignal:
    """SIGTERM and Ctrl-C stop at once, or, while training, after the current step is saved."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._deferring = False

    @contextmanager
    def handled(self) -> Iterator["StopSignal"]:
        """Installs handlers: both signals raise KeyboardInterrupt unless they are deferred."""
        signals = (signal.SIGTERM, signal.SIGINT)
        before = {number: signal.signal(number, self._receive) for number in signals}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """A signal only sets `received`; a second Ctrl-C still raises KeyboardInterrupt."""
        self._deferring = True
        try:
            yield
        finally:
            self._deferring = False

    def _receive(self, number: int, _frame: FrameType | None) -> None:
        again = self.received is not None and number == signal.SIGINT
        self.received = signal.Signals(number)
        if again or not self._deferring:
            raise KeyboardInterrupt
