"""One system that is trained, in a process of its own, and shows its weights from time to time.

Each request is a number of steps to take and a directory for the weights after them; the answer is
the seconds that the steps took, without what the weights took to write.
"""

import sys
import time
from itertools import islice
from pathlib import Path

from transduce.bench.peers import OURS, Marian
from transduce.bench.process import Parent
from transduce.bench.systems import Ours, Peer, batches_of, system_of
from transduce.directory import write_model
from transduce.machine import keep_memory
from transduce.train.prepare import reopen
from transduce.train.run import Run, read_config


def main(name: str, directory: str) -> None:
    parent = Parent()
    if name == OURS:
        keep_memory()  # as `transduce train` does; the others run as they come
    run = Run(Path(directory))
    system = system_of(name, run)
    batches, number = batches_of(reopen(run).train, read_config(run).train), 0
    for request in parent.requests():
        start = time.perf_counter()
        for batch in islice(batches, request["steps"]):
            number += 1
            system.step(number, batch)
        seconds = time.perf_counter() - start
        write_weights(system, Path(request["weights"]))
        parent.answer(seconds)


def write_weights(system: Ours | Peer, directory: Path) -> None:
    """Ours as a model directory, Marian's as Hugging Face writes it."""
    if isinstance(system, Ours):
        write_model(directory, system.network)
        return
    assert isinstance(system.network, Marian)
    system.network.network.save_pretrained(directory)


if __name__ == "__main__":
    main(*sys.argv[1:])
