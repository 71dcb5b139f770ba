"""Dynamic batching: concurrent requests to a model share batches, within bounded time."""

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from transduce.serve.refusal import RefusalError

CHARACTERS = 4  # of a token, about
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


@dataclass(order=True)
class Waiting:
    """A text in the queue; texts are taken in the order of `turn`."""

    turn: float
    number: int
    text: str = field(compare=False)
    options: Hashable = field(compare=False)
    cost: int = field(compare=False)
    since: float = field(compare=False)
    result: asyncio.Future[Result] = field(compare=False)


class Batcher:
    """The queue of one model.

    Requests take turns by the cost of what they have received, so that a long list does not hold
    up a single sentence. A batch has texts with the same options; `batches` are computed at the
    same time, and those that start together divide what waits. A text waits for others, for at
    most `wait` seconds, if there were others lately; otherwise it is started at once.
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
        self._queue: list[Waiting] = []
        self._numbers = count()
        self._turn = 0.0  # of the newest batch
        self._queued = 0  # cost of the texts that wait
        self._computed = 0  # cost of the texts in batches
        self._running: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._seconds, self._tokens = FIRST_GUESS, 1.0  # of all batches, the newest weigh most
        self._last_end, self._last_size = 0.0, 0  # of the newest batch
        self.ready = True  # set it with `resume` and `pause`
        self.observe: Callable[[int], None] = lambda size: None  # called with each batch's size

    @property
    def delay(self) -> float:
        """The seconds that a new text would wait, as predicted from the measured speed."""
        return (self._queued + self._computed) * self._seconds / self._tokens

    @property
    def waiting(self) -> int:
        """Texts in the queue."""
        return sum(not one.result.done() for one in self._queue)

    @property
    def _crowded(self) -> bool:
        """Whether other texts may be expected soon."""
        return bool(self._running) or self._last_size > 1

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
        if self.delay > self._queue_seconds or len(self._queue) + len(texts) > self._queue_limit:
            self._clean()
            if self.delay > self._queue_seconds or (
                self._queue and len(self._queue) + len(texts) > self._queue_limit
            ):
                raise RefusalError(429, BUSY, self.delay)
        now, turn = loop.time(), self._turn
        some = []
        for text in texts:
            cost = token_cost(text)
            one = Waiting(turn, next(self._numbers), text, options, cost, now, loop.create_future())
            heapq.heappush(self._queue, one)
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
        kept = [one for one in self._queue if not one.result.done()]
        self._queued = sum(one.cost for one in kept)
        heapq.heapify(kept)
        self._queue = kept

    def _pump(self) -> None:
        """Starts as many batches as may run."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        loop = asyncio.get_running_loop()
        while self.ready and self._queue and len(self._running) < self._batches:
            early = self._queue[0].since + self._wait - loop.time()
            if self._crowded and early > 0 and self._queued < self._batch_tokens:
                self._timer = loop.call_later(early, self._pump)
                return
            free = self._batches - len(self._running)
            batch = self._take(min(self._batch_tokens, -(-self._queued // free)))
            if batch:
                task = loop.create_task(self._compute(batch))
                self._running.add(task)
                task.add_done_callback(self._end)

    def _take(self, most: int) -> list[Waiting]:
        """The next texts in turn that have the same options, up to a cost; at least one."""
        batch: list[Waiting] = []
        others, cost = [], 0
        while self._queue:
            one = heapq.heappop(self._queue)
            if one.result.done():  # cancelled
                self._queued -= one.cost
            elif batch and one.options != batch[0].options:
                others.append(one)
            elif batch and cost + one.cost > most:
                others.append(one)
                break
            else:
                batch.append(one)
                cost += one.cost
                self._turn = max(self._turn, one.turn)
        for one in others:
            heapq.heappush(self._queue, one)
        self._queued -= cost
        self._computed += cost
        return batch

    async def _compute(self, batch: list[Waiting]) -> None:
        loop = asyncio.get_running_loop()
        start, cost = loop.time(), sum(one.cost for one in batch)
        self._last_size = len(batch)
        self.observe(len(batch))
        try:
            results = await self._run([one.text for one in batch], batch[0].options)
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

    def _end(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._pump()
