"""The queue before a model: sharing, fairness, bounds, deadlines and cancellation."""

import asyncio

import pytest

from transduce.serve.batcher import Batcher, token_cost
from transduce.serve.refusal import RefusalError

SOON = 5.0  # seconds: a deadline that is not reached


class Engine:
    """Answers with capitals; counts batches, and can be made to wait or to fail."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.batches: list[list[str]] = []
        self.seconds = seconds
        self.gate = asyncio.Event()
        self.gate.set()
        self.error: Exception | None = None

    async def run(self, texts, options):
        self.batches.append(list(texts))
        await self.gate.wait()
        await asyncio.sleep(self.seconds)
        if self.error:
            raise self.error
        return [{"translation": text.upper(), "options": options} for text in texts]


def batcher(engine: Engine, **settings) -> Batcher:
    values = {
        "batches": 1,
        "batch_tokens": 100,
        "wait": 0.0,
        "queue_limit": 1000,
        "queue_seconds": 100.0,
    }
    return Batcher(engine.run, **{**values, **settings})


def soon() -> float:
    return asyncio.get_running_loop().time() + SOON


def test_requests_that_wait_share_a_batch_and_each_gets_its_own_results() -> None:
    async def main() -> None:
        engine = Engine()
        queue = batcher(engine)
        engine.gate.clear()
        tasks = [asyncio.create_task(queue.submit([f"t{i}"], "o", soon())) for i in range(9)]
        await asyncio.sleep(0.01)
        engine.gate.set()
        for i, results in enumerate(await asyncio.gather(*tasks)):
            assert [one["translation"] for one in results] == [f"T{i}"]
        assert list(map(len, engine.batches)) == [1, 8]

    asyncio.run(main())


def test_a_batch_has_one_kind_of_options_and_no_more_than_its_cost() -> None:
    async def main() -> None:
        engine = Engine()
        queue = batcher(engine, batch_tokens=4 * token_cost("x"))
        engine.gate.clear()
        tasks = [asyncio.create_task(queue.submit(["x"], i % 2, soon())) for i in range(12)]
        await asyncio.sleep(0.01)
        engine.gate.set()
        results = await asyncio.gather(*tasks)
        assert [one["options"] for (one,) in results] == [i % 2 for i in range(12)]
        assert max(map(len, engine.batches)) == 4

    asyncio.run(main())


def test_a_long_list_does_not_hold_up_a_single_text() -> None:
    async def main() -> None:
        engine = Engine(seconds=0.002)
        queue = batcher(engine, batch_tokens=4 * token_cost("x"))
        long = asyncio.create_task(queue.submit(["x"] * 400, "o", soon()))
        await asyncio.sleep(0.01)
        await queue.submit(["single"], "o", soon())
        assert not long.done()
        assert sum(map(len, engine.batches)) < 100
        assert len(await long) == 400

    asyncio.run(main())


def test_a_full_queue_refuses_at_once_and_says_when_to_come_back() -> None:
    async def main() -> None:
        engine = Engine()
        queue = batcher(engine, queue_limit=5)
        engine.gate.clear()
        first = asyncio.create_task(queue.submit(["a"], "o", soon()))
        others = [asyncio.create_task(queue.submit(["a"], "o", soon())) for _ in range(9)]
        await asyncio.sleep(0.01)
        refused = [task.exception() for task in others if task.done()]
        assert len(refused) == 4
        assert all(isinstance(e, RefusalError) and e.status == 429 for e in refused)
        assert int(refused[0].headers["Retry-After"]) >= 1
        engine.gate.set()
        await asyncio.gather(first, *others, return_exceptions=True)

    asyncio.run(main())


def test_a_request_that_would_wait_too_long_is_refused() -> None:
    async def main() -> None:
        engine = Engine(seconds=0.05)
        queue = batcher(engine, queue_seconds=0.2, batch_tokens=token_cost("x"))
        await asyncio.gather(*(queue.submit(["x"], "o", soon()) for _ in range(4)))
        tasks = [asyncio.create_task(queue.submit(["x"], "o", soon())) for _ in range(100)]
        done = await asyncio.gather(*tasks, return_exceptions=True)
        served = [one for one in done if not isinstance(one, Exception)]
        assert 1 <= len(served) < 50
        assert await queue.submit(["x"], "o", soon())  # it recovers

    asyncio.run(main())


def test_the_predicted_delay_is_that_of_large_batches_after_single_texts() -> None:
    async def main() -> None:
        engine, loop = Engine(seconds=0.01), asyncio.get_running_loop()
        queue = batcher(engine)
        for _ in range(20):
            await queue.submit(["x"], "o", soon())
        engine.seconds = 0.1
        start = loop.time()
        await queue.submit(["x"] * 50, "o", soon())
        large = loop.time() - start
        queue.pause()
        waiting = asyncio.create_task(queue.submit(["x"] * 50, "o", soon()))
        await asyncio.sleep(0)
        assert 0.3 * large < queue.delay < 2.5 * large
        queue.resume()
        await waiting

    asyncio.run(main())


def test_a_request_past_its_deadline_is_answered_and_not_computed() -> None:
    async def main() -> None:
        engine = Engine()
        queue = batcher(engine)
        engine.gate.clear()
        first = asyncio.create_task(queue.submit(["a"], "o", soon()))
        await asyncio.sleep(0)
        with pytest.raises(RefusalError, match="not finished in time") as refused:
            await queue.submit(["late"], "o", asyncio.get_running_loop().time() + 0.02)
        assert refused.value.status == 503
        engine.gate.set()
        await first
        await queue.submit(["b"], "o", soon())
        assert engine.batches == [["a"], ["b"]]

    asyncio.run(main())


def test_a_client_that_goes_away_frees_its_place() -> None:
    async def main() -> None:
        engine = Engine()
        queue = batcher(engine, queue_limit=2)
        engine.gate.clear()
        first = asyncio.create_task(queue.submit(["a"], "o", soon()))
        await asyncio.sleep(0)
        gone = asyncio.create_task(queue.submit(["b", "c"], "o", soon()))
        await asyncio.sleep(0)
        assert queue.waiting == 2
        gone.cancel()
        await asyncio.sleep(0)
        assert queue.waiting == 0
        other = asyncio.create_task(queue.submit(["d", "e"], "o", soon()))
        await asyncio.sleep(0)
        engine.gate.set()
        await asyncio.gather(first, other)
        assert engine.batches == [["a"], ["d", "e"]]

    asyncio.run(main())


def test_a_failed_batch_fails_its_own_requests_only() -> None:
    async def main() -> None:
        engine = Engine()
        queue = batcher(engine)
        engine.error = RefusalError(503, "dead")
        with pytest.raises(RefusalError, match="dead"):
            await queue.submit(["a"], "o", soon())
        engine.error = None
        assert await queue.submit(["b"], "o", soon())

    asyncio.run(main())


def test_requests_wait_while_the_engine_is_replaced() -> None:
    async def main() -> None:
        engine = Engine()
        queue = batcher(engine)
        queue.pause()
        task = asyncio.create_task(queue.submit(["a"], "o", soon()))
        await asyncio.sleep(0.01)
        assert engine.batches == []
        queue.resume()
        assert (await task)[0]["translation"] == "A"

    asyncio.run(main())


def test_after_a_shared_batch_texts_wait_for_each_other() -> None:
    async def main() -> None:
        engine = Engine()
        queue = batcher(engine, wait=0.05)
        await queue.submit(["a", "b"], "o", soon())
        late = [asyncio.create_task(queue.submit(["c"], "o", soon()))]
        await asyncio.sleep(0.01)
        late.append(asyncio.create_task(queue.submit(["d"], "o", soon())))
        await asyncio.gather(*late)
        assert engine.batches == [["a", "b"], ["c", "d"]]

    asyncio.run(main())


def test_batches_that_start_together_divide_what_waits() -> None:
    async def main() -> None:
        engine = Engine()
        queue = batcher(engine, batches=2)
        assert len(await queue.submit(list("abcdefgh"), "o", soon())) == 8
        assert engine.batches == [list("abcd"), list("efgh")]

    asyncio.run(main())


def test_texts_of_about_the_same_length_share_a_batch() -> None:
    async def main() -> None:
        engine = Engine()
        queue = batcher(engine, batches=2, batch_tokens=1000)
        long = "long" * 30
        texts = ["a", long, "b", "c", long, long, "d"]
        results = await queue.submit(texts, "o", soon())
        assert [one["translation"] for one in results] == [text.upper() for text in texts]
        assert engine.batches == [list("abcd"), [long] * 3]

    asyncio.run(main())


def test_a_batch_is_started_when_as_many_texts_wait_as_there_were_in_the_last() -> None:
    async def main() -> None:
        engine, loop = Engine(), asyncio.get_running_loop()
        queue = batcher(engine, wait=SOON / 2)
        await queue.submit(list("abc"), "o", soon())
        start = loop.time()
        await asyncio.gather(*(queue.submit([text], "o", soon()) for text in "def"))
        assert loop.time() - start < SOON / 4
        assert engine.batches == [list("abc"), list("def")]

    asyncio.run(main())


def test_a_single_client_does_not_wait() -> None:
    async def main() -> None:
        engine = Engine()
        queue = batcher(engine, wait=5.0)
        start = asyncio.get_running_loop().time()
        for _ in range(3):
            await queue.submit(["a"], "o", soon())
        assert asyncio.get_running_loop().time() - start < 1

    asyncio.run(main())
