"""Dynamic batching: concurrent requests to a model share batches, within bounded time."""

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from transduce.serve.refusal import RefusalError

CHARACTERS = 4  # of a token, about
LENGTHS = 24  # tokens from one length class to the next
FIRST_GUESS = 0.001  # seconds for a token, before anything has been measured
KEPT = 0.8  # of the weight of earlier batches in the measured speed, at each new batch
BUSY = "the server is busy: try again later"
LATE = "the server is busy: the translation was not finished in time"

Result = dict[str, Any]
# From texts and options: a result for each text.
Run = Callable[[Sequence[str], Any], Awaitable[Sequence[Result]]]


def token_cost(text: str) -> int:
    """About as many tokens as a text has, with what every text costs."""
    return 2 + len(text) // CHARACTERS


def length_class(text: str) -> int:
    """Texts of one class are padded to about the same length, so that a batch wastes little."""
    return len(text) // (CHARACTERS * LENGTHS)


@dataclass(order=True)
class Waiting:
    """A text in the queue; texts are taken in the order of `turn`."""

    turn: float
    number: int
    text: str = field(compare=False)
    cost: int = field(compare=False)
    since: float = field(compare=False)
    result: asyncio.Future[Result] = field(compare=False)


class Batcher:
    """The queue of one model.

    Requests take turns by the cost of what they have received, so that a long list does not hold
    up a single sentence. A batch has texts with the same options and about the same length;
    `batches` are computed at the same time, and each has at most its share of the texts that wait
    or are computed: otherwise one batch would be large and slow, and the others small and
    inefficient. A text waits until there are enough for a share, for at most `wait` seconds.
    """

    def __init__(
        self,
        run: Run,
        *,
        batches: int,
        batch_tokens: int,
        wait: float,
        queue_limit: int,
        queue_seconds: float,
    ) -> None:
        self._run, self._batches, self._batch_tokens, self._wait = run, batches, batch_tokens, wait
        self._queue_limit, self._queue_seconds = queue_limit, queue_seconds
        # heaps of texts that may share a batch; none is empty
        self._queues: dict[tuple[Hashable, int], list[Waiting]] = {}
        self._numbers = count()
        self._turn = 0.0  # of the newest batch
        self._queued = 0  # cost of the texts that wait
        self._computed = 0  # cost of the texts in batches
        self._running: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._seconds, self._tokens = FIRST_GUESS, 1.0  # of all batches, the newest weigh most
        self._last_end = 0.0  # of the newest batch
        self._running_texts = 0
        self._lately = 0  # texts that waited or were computed when the newest batch ended
        self.ready = True  # set it with `resume` and `pause`
        self.observe: Callable[[int], None] = lambda size: None  # called with each batch's size

    @property
    def delay(self) -> float:
        """The seconds that a new text would wait, as predicted from the measured speed."""
        return (self._queued + self._computed) * self._seconds / self._tokens

    @property
    def waiting(self) -> int:
        """Texts in the queue that somebody waits for."""
        return sum(not one.result.done() for queue in self._queues.values() for one in queue)

    @property
    def _length(self) -> int:
        """Texts in the queue."""
        return sum(map(len, self._queues.values()))

    @property
    def _share(self) -> int:
        """The number of texts for a batch, if clients send the next text after each answer."""
        return -(-max(self._length + self._running_texts, self._lately) // self._batches)

    def resume(self) -> None:
        self.ready = True
        self._pump()

    def pause(self) -> None:
        self.ready = False

    async def submit(
        self, texts: Sequence[str], options: Hashable, deadline: float
    ) -> list[Result]:
        """The results of texts; raises RefusalError at once if the queue is full.

        If the caller is cancelled or the deadline (of the loop's clock) passes, texts that are not
        in a batch yet are not computed.
        """
        loop = asyncio.get_running_loop()
        if self.delay > self._queue_seconds or self._length + len(texts) > self._queue_limit:
            self._clean()
            if self.delay > self._queue_seconds or (
                self._queues and self._length + len(texts) > self._queue_limit
            ):
                raise RefusalError(429, BUSY, self.delay)
        now, turn = loop.time(), self._turn
        some = []
        for text in texts:
            cost = token_cost(text)
            one = Waiting(turn, next(self._numbers), text, cost, now, loop.create_future())
            queue = self._queues.setdefault((options, length_class(text)), [])
            heapq.heappush(queue, one)
            some.append(one)
            self._queued += cost
            turn += cost
        self._pump()
        try:
            async with asyncio.timeout_at(deadline):
                return await asyncio.gather(*(one.result for one in some))
        except TimeoutError:
            raise RefusalError(503, LATE, self.delay) from None
        finally:
            for one in some:
                one.result.cancel()

    def _clean(self) -> None:
        """Removes the texts that nobody waits for."""
        for kind, queue in list(self._queues.items()):
            kept = [one for one in queue if not one.result.done()]
            if len(kept) < len(queue):
                heapq.heapify(kept)
                self._queues[kind] = kept
            if not kept:
                del self._queues[kind]
        self._queued = sum(one.cost for queue in self._queues.values() for one in queue)

    def _pump(self) -> None:
        """Starts as many batches as may run."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        loop = asyncio.get_running_loop()
        while self.ready and self._queues and len(self._running) < self._batches:
            kind = min(self._queues, key=lambda kind: self._queues[kind][0])
            early = self._queues[kind][0].since + self._wait - loop.time()
            enough = self._queued >= self._batch_tokens or self._length >= self._share
            if early > 0 and not enough:
                self._timer = loop.call_later(early, self._pump)
                return
            batch = self._take(kind)
            if batch:
                task = loop.create_task(self._compute(batch, kind[0]))
                self._running.add(task)
                task.add_done_callback(self._end)

    def _take(self, kind: tuple[Hashable, int]) -> list[Waiting]:
        """The next texts of a kind in turn, at most a share, at least one if any is awaited."""
        queue, batch, cost, most = self._queues[kind], list[Waiting](), 0, self._share
        while queue and (
            not batch or (len(batch) < most and cost + queue[0].cost <= self._batch_tokens)
        ):
            one = heapq.heappop(queue)
            self._queued -= one.cost
            if not one.result.done():  # otherwise it is cancelled
                batch.append(one)
                cost += one.cost
                self._turn = max(self._turn, one.turn)
        if not queue:
            del self._queues[kind]
        self._computed += cost
        self._running_texts += len(batch)
        return batch

    async def _compute(self, batch: list[Waiting], options: Hashable) -> None:
        loop = asyncio.get_running_loop()
        start, cost = loop.time(), sum(one.cost for one in batch)
        self.observe(len(batch))
        try:
            results = await self._run([one.text for one in batch], options)
        except Exception as error:
            for one in batch:
                if not one.result.done():
                    one.result.set_exception(error)
        else:
            for one, result in zip(batch, results, strict=True):
                if not one.result.done():
                    one.result.set_result(result)
            now = loop.time()
            # sums, so that a large batch weighs more than single texts, which are slower by token
            self._seconds = KEPT * self._seconds + now - max(start, self._last_end)
            self._tokens = KEPT * self._tokens + cost
            self._last_end = now
        finally:
            self._computed -= cost
            self._lately = self._length + self._running_texts
            self._running_texts -= len(batch)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._pump()
