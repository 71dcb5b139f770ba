"""One system in a process of its own: its memory and its allocator are nobody else's.

Each line of standard input is a number of steps to take; the answer is the seconds they took. When
the input ends, the answer is the peak memory and the loss.
"""

import json
import os
import signal
import sys
import time
import warnings
from pathlib import Path

from transduce.bench.machine import peak_memory
from transduce.bench.peers import OURS
from transduce.bench.systems import batches_of, loss_of, system_of
from transduce.train.allocator import keep_memory
from transduce.train.prepare import reopen
from transduce.train.run import Run, read_config


def main(name: str, directory: str) -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # on Ctrl-C the parent ends this process
    warnings.filterwarnings("ignore", module=r"torch\.nn|transformers")
    if name == OURS:
        keep_memory()  # as `transduce train` does; the others run as they come
    run = Run(Path(directory))
    system, data, config = system_of(name, run), reopen(run), read_config(run).train
    batches, number = batches_of(data.train, config), 0
    answers.write(json.dumps("ready") + "\n")
    for line in sys.stdin:
        start = time.perf_counter()
        for _ in range(int(line)):
            number += 1
            system.step(number, next(batches))
        answers.write(json.dumps(time.perf_counter() - start) + "\n")
    memory = peak_memory()  # before the loss, whose logits are those of no training step
    loss = loss_of(system.network, data.valid, config.tokens_per_batch)
    answers.write(json.dumps({"peak_memory": memory, "loss": loss}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
