"""One system that translates, in a process of its own.

Each request is a list of texts; the answer is the seconds it took and the translations. When there
are no more, the answer is the peak memory and how the system ran.
"""

import sys
import time
from pathlib import Path

from transduce.bench.process import Parent
from transduce.bench.translators import Job, translator_of
from transduce.machine import peak_memory


def main(name: str, model: str, forms: str, beam: str, batch_size: str) -> None:
    parent = Parent()
    system = translator_of(name, Job(Path(model), Path(forms), int(beam), int(batch_size)))
    for texts in parent.requests():
        start = time.perf_counter()
        translations = system.translate(texts)
        parent.answer({"seconds": time.perf_counter() - start, "translations": translations})
    parent.answer({"peak_memory": peak_memory(), "runs": system.runs})


if __name__ == "__main__":
    main(*sys.argv[1:])
