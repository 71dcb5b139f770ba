"""Orders and batch sizes for tests of batch invariance."""

import random

ARRANGEMENTS = ["alone", "thirteen", "longest first", "shuffled", "twice"]


def arranged(sources, arrangement):
    """An order of the sentences, by index, and a batch size."""
    order = list(range(len(sources)))
    if arrangement == "longest first":
        order.sort(key=lambda i: -len(sources[i]))
    if arrangement == "shuffled":
        random.Random(5).shuffle(order)
    if arrangement == "twice":
        order += order
    return order, {"alone": 1, "thirteen": 13}.get(arrangement, 64)
