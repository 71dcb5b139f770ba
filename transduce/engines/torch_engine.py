"""The reference engine: torch, any network, any device."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.engines import Ids, Request, alignment_layer, by_search
from transduce.model import Network
from transduce.search import Hypothesis
from transduce.search.beam import Candidates, beam_search, best
from transduce.search.constraints import Constraint, no_repeat, prefix
from transduce.search.sampling import sampled

LARGEST_ATTENTION = 64 * 512**2  # scores of a head in one batch, but for a single long sentence
_one_at_a_time = Lock()  # torch's number of threads is global to the process


class TorchEngine:
    """Searches and scores with a torch network."""

    name, compute = "torch", "float32"

    def __init__(self, model: Network) -> None:
        self.model = model.eval()

    def __repr__(self) -> str:
        return f"{type(self.model).__name__}({self.model.extra_repr()}), torch on {self.device}"

    @property
    def torch_engine(self) -> "TorchEngine":
        """Itself, like `Router.torch_engine`."""
        return self

    def unsupported(self, request: Request) -> str | None:
        """None: torch supports every request."""
        return None

    def search(self, requests: Sequence[Request], batch_size: int = 64) -> list[list[Hypothesis]]:
        """The n-best hypotheses of each request; similar lengths share a batch."""
        outputs: list[list[Hypothesis]] = [[] for _ in requests]

        def one(some: list[int]) -> None:
            for i, found in zip(some, self.search_batch([requests[i] for i in some]), strict=True):
                outputs[i] = found

        for group in by_search(requests).values():
            lengths = [len(requests[i].source) for i in group]
            parts = [[group[k] for k in part] for part in batches(lengths, batch_size)]
            # the longest first, to balance the load of the cores
            side_by_side(one, parts[::-1], self._device)
        return outputs

    @torch.inference_mode()
    def search_batch(
        self, requests: Sequence[Request], observe: Callable[[Candidates], None] | None = None
    ) -> list[list[Hypothesis]]:
        """Searches one batch of requests with the same search settings."""
        config, search = self.model.config, requests[0].search
        state = self.model.start(self._padded([[*r.source, config.eos_id] for r in requests]))
        start = torch.full((len(requests),), config.bos_id, device=self._device)
        limits = [max(search.limit(len(r.source)), len(r.prefix) + 1) for r in requests]
        if config.positions == "learned":
            limits = [min(limit, config.max_positions - 1) for limit in limits]
        constraints = [constraints_of(request) for request in requests]
        return beam_search(
            self.model.step,
            state,
            start,
            config.eos_id,
            limits,
            search,
            constraints if any(constraints) else None,
            sampled(search.sampling, [r.seed for r in requests]) if search.sampling else best,
            observe=observe,
        )

    @torch.inference_mode()
    def score(
        self, sources: Sequence[Ids], targets: Sequence[Ids], batch_size: int = 64
    ) -> list[tuple[float, ...]]:
        """The log-probability of each target token, and of EOS after them."""
        config = self.model.config
        outputs: list[tuple[float, ...]] = [()] * len(sources)
        lengths = [max(len(s), len(t)) for s, t in zip(sources, targets, strict=True)]
        for some in batches(lengths, batch_size):
            source = self._padded([[*sources[i], config.eos_id] for i in some])
            wanted = [[*targets[i], config.eos_id] for i in some]
            padded = self._padded(wanted)
            begin = torch.full_like(padded[:, :1], config.bos_id)
            logits = self.model(source, torch.cat([begin, padded[:, :-1]], dim=1))
            gold = logits.gather(2, padded[:, :, None])[:, :, 0] - logits.logsumexp(-1)
            for i, ids, log_probs in zip(some, wanted, gold.tolist(), strict=True):
                outputs[i] = tuple(log_probs[: len(ids)])
        return outputs

    @torch.inference_mode()
    def alignment_weights(
        self, sources: Sequence[Ids], targets: Sequence[Ids], batch_size: int = 64
    ) -> list[Float[np.ndarray, "target source"]]:
        """How much each target token attends to each source token, one pair at a time."""
        config, found = self.model.config, []
        for source, target in zip(sources, targets, strict=True):
            ended = self._padded([[*source, config.eos_id]])
            cross = self.model.attention_maps(ended, self._padded([[config.bos_id, *target]])).cross
            weights = cross[alignment_layer(len(cross))][0].mean(0)
            found.append(weights[: len(target), : len(source)].cpu().numpy())
        return found

    def _padded(self, rows: Sequence[Ids]) -> Int[Tensor, "rows length"]:
        width = max(map(len, rows))
        pad = self.model.config.pad_id
        return torch.tensor([[*ids, *[pad] * (width - len(ids))] for ids in rows]).to(self._device)

    @property
    def device(self) -> str:
        return self._device.type

    @property
    def _device(self) -> torch.device:
        return self.model.device


def constraints_of(request: Request) -> list[Constraint]:
    """All constraints of a request."""
    found = [prefix(request.prefix)] if request.prefix else []
    if request.search.no_repeat:
        found.append(no_repeat(request.search.no_repeat))
    return [*found, request.constraint] if request.constraint else found


def side_by_side(
    work: Callable[[list[int]], None], parts: Sequence[list[int]], device: torch.device
) -> None:
    """Runs `work` on all parts; on a CPU in parallel, one single-threaded part per core.

    Small products gain less from a second thread than synchronisation costs. torch's number of
    threads is global: concurrent calls wait for each other, and it is restored afterwards.
    """
    if device.type != "cpu" or len(parts) == 1:
        for part in parts:
            work(part)
        return
    with _one_at_a_time:
        threads = torch.get_num_threads()
        workers = max(1, min(threads, len(parts)))
        try:
            with ThreadPoolExecutor(workers, initializer=_use_one_thread) as pool:
                for done in [pool.submit(work, part) for part in parts]:
                    done.result()
        finally:
            torch.set_num_threads(threads)


def _use_one_thread() -> None:
    torch.set_num_threads(1)


def batches(lengths: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """Indices in batches of similar length; fewer sentences where they are long."""
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and (
            len(batch) == batch_size or (len(batch) + 1) * lengths[i] ** 2 > LARGEST_ATTENTION
        ):
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch
