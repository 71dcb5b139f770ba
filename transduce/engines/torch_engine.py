"""The reference engine: the network itself, in torch, on any device; it also gives attention."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch
from jaxtyping import Int
from torch import Tensor

from transduce.engines import Ids
from transduce.model import Network
from transduce.search import PAPER, Hypothesis, Search
from transduce.search.beam import beam_search


class TorchEngine:
    """Searches and scores with any network."""

    name = "torch"

    def __init__(self, model: Network) -> None:
        self.model = model.eval()

    def search(
        self,
        sources: Sequence[Ids],
        search: Search = PAPER,
        prefixes: Sequence[Ids] | None = None,
        batch_size: int = 64,
    ) -> list[list[Hypothesis]]:
        """The best hypotheses of each source; like lengths are searched together."""
        outputs: list[list[Hypothesis]] = [[] for _ in sources]

        def one(some: list[int]) -> None:
            given = [prefixes[i] for i in some] if prefixes else None
            found = self._search([sources[i] for i in some], search, given)
            for i, hypotheses in zip(some, found, strict=True):
                outputs[i] = hypotheses

        # the longest first, so that no core is left alone with one at the end
        side_by_side(one, [*batches(list(map(len, sources)), batch_size)][::-1], self._device)
        return outputs

    @torch.inference_mode()
    def _search(
        self, sources: Sequence[Ids], search: Search, prefixes: Sequence[Ids] | None
    ) -> list[list[Hypothesis]]:
        """One batch."""
        config = self.model.config
        rows = self._padded([[*source, config.eos_id] for source in sources])
        state = self.model.start(rows)
        start = torch.full((len(sources),), config.bos_id, device=self._device)
        limits = [search.limit(len(source)) for source in sources]
        if prefixes is not None:
            limits = [
                max(limit, len(given) + 1) for limit, given in zip(limits, prefixes, strict=True)
            ]
        return beam_search(self.model.step, state, start, config.eos_id, limits, search, prefixes)

    @torch.inference_mode()
    def score(
        self, sources: Sequence[Ids], targets: Sequence[Ids], batch_size: int = 64
    ) -> list[tuple[float, ...]]:
        """The log-probability of each target token, and of EOS after them."""
        config = self.model.config
        outputs: list[tuple[float, ...]] = [()] * len(sources)
        widths = [len(source) for source in sources]
        for some in batches(widths, batch_size, [len(target) for target in targets]):
            source = self._padded([[*sources[i], config.eos_id] for i in some])
            wanted = [[*targets[i], config.eos_id] for i in some]
            padded = self._padded(wanted)
            begin = torch.full_like(padded[:, :1], config.bos_id)
            logits = self.model(source, torch.cat([begin, padded[:, :-1]], dim=1))
            gold = logits.gather(2, padded[:, :, None])[:, :, 0] - logits.logsumexp(-1)
            for i, ids, log_probs in zip(some, wanted, gold.tolist(), strict=True):
                outputs[i] = tuple(log_probs[: len(ids)])
        return outputs

    def _padded(self, rows: Sequence[Ids]) -> Int[Tensor, "rows length"]:
        width = max(map(len, rows))
        pad = self.model.config.pad_id
        return torch.tensor([[*ids, *[pad] * (width - len(ids))] for ids in rows]).to(self._device)

    @property
    def _device(self) -> torch.device:
        return self.model.device


def side_by_side(
    work: Callable[[list[int]], None], parts: Sequence[list[int]], device: torch.device
) -> None:
    """Does the parts of a work: on a CPU one a core, for a core alone wastes none of its time.

    Small products do not gain from a second thread what it costs to share them.
    """
    threads = torch.get_num_threads()
    workers = min(threads, len(parts)) if device.type == "cpu" else 1
    if workers <= 1:
        for part in parts:
            work(part)
        return

    try:
        with ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            for done in [pool.submit(work, part) for part in parts]:
                done.result()
    finally:
        torch.set_num_threads(threads)


def batches(
    lengths: Sequence[int], batch_size: int, then: Sequence[int] | None = None
) -> Iterator[list[int]]:
    """Indices of so many sentences at a time, of like length, and by `then` among equals."""
    order = sorted(range(len(lengths)), key=lambda i: (lengths[i], then[i] if then else 0))
    for start in range(0, len(order), batch_size):
        yield order[start : start + batch_size]
