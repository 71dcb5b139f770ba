"""One system that is trained, in a process of its own.

Each request is a number of steps to take; the answer is the seconds they took. When there are no
more, the answer is the peak memory and the loss.
"""

import sys
import time
from pathlib import Path

from transduce.bench.peers import OURS
from transduce.bench.process import Parent
from transduce.bench.systems import batches_of, loss_of, system_of
from transduce.machine import keep_memory, peak_memory
from transduce.train.prepare import reopen
from transduce.train.run import Run, read_config


def main(name: str, directory: str) -> None:
    parent = Parent()
    if name == OURS:
        keep_memory()  # as `transduce train` does; the others run as they come
    run = Run(Path(directory))
    system, data, config = system_of(name, run), reopen(run), read_config(run).train
    batches, number = batches_of(data.train, config), 0
    for steps in parent.requests():
        start = time.perf_counter()
        for _ in range(steps):
            number += 1
            system.step(number, next(batches))
        parent.answer(time.perf_counter() - start)
    memory = peak_memory()  # before the loss, whose logits are those of no training step
    loss = loss_of(system.network, data.valid, config.tokens_per_batch)
    parent.answer({"peak_memory": memory, "loss": loss})


if __name__ == "__main__":
    main(*sys.argv[1:])
