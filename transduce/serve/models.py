"""The models that are served, by direction, each with its engine process and its queue."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Any

from transduce.errors import ModelError
from transduce.generate import LINES, STREAM
from transduce.log import Log
from transduce.machine import cores
from transduce.model_names import bundled_models
from transduce.serve.batcher import BUSY, Batcher, Result
from transduce.serve.engine import Engine
from transduce.serve.frames import Frame
from transduce.serve.languages import find_code, name_of
from transduce.serve.refusal import RefusalError
from transduce.serve.settings import ServeConfig

MOST_ASKED = 8  # requests besides translation at the same time


@dataclass(frozen=True)
class Options:
    """Of a search; texts in a batch share them."""

    n_best: int = 1
    scores: bool = False
    html: bool = False


class Model:
    """An engine and the queue before it."""

    def __init__(self, name: str, config: ServeConfig, log: Log) -> None:
        batches = config.batches or cores()
        options = {key: getattr(config, key) for key in ("engine", "device", "compute")}
        self.name, self.log = name, log
        self._asked = 0
        self.engine = Engine(name, {**options, "batches": batches}, config.hang_seconds, log)
        self.batcher = Batcher(
            self._translate,
            batches=batches,
            batch_tokens=config.batch_tokens,
            wait=config.batch_ms / 1000,
            queue_limit=config.queue_limit,
            queue_seconds=config.queue_seconds,
        )
        self.batcher.pause()
        self.engine.on_ready = self.batcher.resume
        self.engine.on_end = self.batcher.pause

    @property
    def source(self) -> str:
        return (self.engine.info and self.engine.info.source) or ""

    @property
    def target(self) -> str:
        return (self.engine.info and self.engine.info.target) or ""

    async def ask(self, task: str, **fields: Any) -> Frame:
        """The answer to a request that is not batched; only a few may wait for the engine."""
        with self._place():
            return await self.engine.call(task, **fields)

    async def stream(self, task: str, **fields: Any) -> AsyncGenerator[Frame, None]:
        """The same for an answer in several frames, as they come."""
        with self._place():
            async with aclosing(self.engine.stream(task, **fields)) as frames:
                async for frame in frames:
                    yield frame

    @contextmanager
    def _place(self) -> Iterator[None]:
        if self._asked >= MOST_ASKED:
            raise RefusalError(429, BUSY, 1)
        self._asked += 1
        try:
            yield
        finally:
            self._asked -= 1

    async def _translate(self, texts: Sequence[str], options: Options) -> Sequence[Result]:
        answer = await self.engine.call("translate", texts=list(texts), **vars(options))
        results: Sequence[Result] = answer.fields["results"]
        return results


class Models:
    """All models; they load at the same time, and each serves as soon as it is loaded."""

    def __init__(self, config: ServeConfig, log: Log) -> None:
        names = config.models or [str(path) for path in bundled_models().values()]
        if not names:
            raise ModelError("this installation has no bundled model: give one with --model")
        self.all = [Model(name, config, log) for name in dict.fromkeys(names)]
        self.log = log
        self.by_pair: dict[tuple[str, str], Model] = {}
        self.parser: Model | None = None
        self.language_model: Model | None = None

    def start(self, on_failure: Callable[[], None]) -> list[asyncio.Task[None]]:
        """Starts to load all models; `on_failure` is called if none can be served."""
        return [asyncio.create_task(self._load(model, on_failure)) for model in self.all]

    async def stop(self) -> None:
        await asyncio.gather(*(model.engine.stop() for model in self.all))

    def kill(self) -> None:
        for model in self.all:
            model.engine.kill()

    async def _load(self, model: Model, on_failure: Callable[[], None]) -> None:
        model.engine.start()
        await model.engine.settled.wait()
        info = model.engine.info
        if info is None:
            self.log(f"not served: {model.engine.failure}")
            if all(one.engine.settled.is_set() and not one.engine.info for one in self.all):
                on_failure()
            return
        if info.task == "parsing":
            self.parser = self.parser or model
            self.log(f"{info.name} is ready: parsing")
            return
        if info.task in (STREAM, LINES):
            self.language_model = self.language_model or model
            if self.language_model is model:
                self.log(f"{info.name} is ready: language model, {info.runs}")
            else:
                self.log(f"not used: {model.name}, a language model as {self.language_model.name}")
            return
        pair = model.source, model.target
        other = self.by_pair.setdefault(pair, model)
        if other is not model:
            self.log(f"not used: {model.name} translates {'-'.join(pair)} as {other.name} does")
            return
        # in the order of the models, whichever is loaded first
        in_order = sorted(self.by_pair.items(), key=lambda item: self.all.index(item[1]))
        self.by_pair = dict(in_order)
        self.log(f"{info.name} is ready: {pair[0]} to {pair[1]}, {info.runs}")

    @property
    def ready(self) -> bool:
        """Whether every model has been loaded, or cannot be, and one can be used."""
        return not self.loading and any(model.engine.ready for model in self.all)

    @property
    def loading(self) -> bool:
        """Whether a model is still being loaded, whose languages are not known yet."""
        return not all(model.engine.settled.is_set() for model in self.all)

    @property
    def codes(self) -> list[str]:
        """All languages, sources first."""
        sources, targets = [s for s, _ in self.by_pair], [t for _, t in self.by_pair]
        return list(dict.fromkeys([*sources, *targets]))

    def targets(self, source: str) -> list[str]:
        """The languages that one can be translated into, itself among them."""
        return sorted({source, *(target for one, target in self.by_pair if one == source)})

    def sources(self, target: str) -> list[str]:
        """The languages that can be translated into one, except itself."""
        return [source for source, one in self.by_pair if one == target]

    def code(self, written: str) -> str:
        """The code of a language; raises RefusalError if it is not served."""
        code = find_code(written, self.codes)
        if code is None:
            self._refuse_while_loading()
            raise RefusalError(400, f"{written[:20]} is not supported")
        return code

    def find(self, source: str, target: str) -> Model:
        """The model of a direction; raises RefusalError if there is none."""
        model = self.by_pair.get((source, target))
        if model is None:
            self._refuse_while_loading()
            raise RefusalError(
                400,
                f"{name_of(target)} ({target}) is not available as a target language from "
                f"{name_of(source)} ({source})",
            )
        return model

    def find_parser(self) -> Model:
        if self.parser is None:
            self._refuse_while_loading()
            raise RefusalError(404, "there is no parsing model: start the server with one")
        return self.parser

    def _refuse_while_loading(self) -> None:
        if self.loading:
            raise RefusalError(503, "the models are being loaded: try again later", 1.0)
