"""Small trainings, for experiments of seconds."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import torch

from transduce.batches import Batch
from transduce.model import Network
from transduce.train.state import Learner


@contextmanager
def one_thread() -> Iterator[None]:
    """The experiments are too small for more."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def train(
    model: Network,
    batches: Iterable[Batch],
    rate: Callable[[int], float],
    smoothing: float = 0.0,
) -> list[float]:
    """Trains on each batch once, with Adam as in §5.3; the loss of each step, per token."""
    learner, losses = Learner(model.train()), []
    with one_thread():
        for step, batch in enumerate(batches, 1):
            loss = model.loss(batch, smoothing)
            (loss.smoothed / loss.tokens).backward()
            learner.update(rate(step))
            losses.append(float(loss.nll.detach()) / loss.tokens)
    model.eval()
    return losses


def reversals(
    count: int, rows: int, length: int, symbols: int, random: torch.Generator
) -> Iterator[Batch]:
    """Batches of random symbols, whose target is the source reversed; ids 0 to 2 as by default."""
    for _ in range(count):
        ids = torch.randint(3, 3 + symbols, (rows, length), generator=random)
        bos, eos = torch.ones(rows, 1, dtype=torch.long), torch.full((rows, 1), 2)
        target = ids.flip(1)
        yield Batch(
            torch.cat([ids, eos], 1), torch.cat([bos, target], 1), torch.cat([target, eos], 1)
        )
