"""The same sentences, among others."""

import random


def arranged(sources, company):
    """An order of the sources, some of them several times, and a batch size."""
    order = list(range(len(sources)))
    if company == "longest first":
        order.sort(key=lambda i: -len(sources[i]))
    if company == "shuffled":
        random.Random(7).shuffle(order)
    if company == "twice":
        order += order
    return order, {"alone": 1, "sevens": 7}.get(company, 64)
