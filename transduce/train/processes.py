"""One process or several that train together: what they share, and when they stop."""

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

TIMEOUT = timedelta(minutes=30)  # of a reduction: the first process may be validating


@dataclass(frozen=True)
class Processes:
    """This process among those that train together; torchrun sets them up."""

    rank: int
    world: int
    device: torch.device
    store: PrefixStore | None = None  # None: there is one process
    _decisions: Iterator[int] = field(default_factory=count, repr=False)

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

    def from_first(self, decide: Callable[[], str]) -> str:
        """What `decide` returns in the first process; the others wait for it without a limit.

        Raises UserError in the others if it raises in the first.
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
        except distributed.DistError:  # the first process held the store, and is gone
            outcome = "failed"
        if outcome == "failed":
            raise UserError("the first process has stopped: its own message says why")
        distributed.barrier()  # the first process may hold the store: it stays until all have read
        return outcome.removeprefix("decided ")


@contextmanager
def join() -> Iterator[Processes]:
    """Joins the processes that torchrun started; one process alone needs no others."""
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
    """SIGTERM and Ctrl-C: they interrupt at once, or when a training step is done and saved."""

    def __init__(self) -> None:
        self.received: signal.Signals | None = None
        self._deferring = False

    @contextmanager
    def handled(self) -> Iterator["StopSignal"]:
        """Within it both signals raise KeyboardInterrupt, unless they are deferred."""
        signals = (signal.SIGTERM, signal.SIGINT)
        before = {number: signal.signal(number, self._receive) for number in signals}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Within it a signal only sets `received`; a second Ctrl-C interrupts all the same."""
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
