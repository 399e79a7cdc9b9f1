"""Answer questions in batches, and look things up in the graph, for every interface of the server.

The engine blocks, so each call runs in a thread (docs/serving.md).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..api import Engine
from ..data_model import Question
from ..errors import DatabaseUnavailableError, LodestarError
from ..evidence import Answer
from ..neo4j.catalogue import read_graph_state
from ..neo4j.gateway import deadline
from ..parallel import PerProcessResource
from ..recipes import Recipe
from ..settings import Settings
from .lookups import DEADLINE_S, QuestionsData

if TYPE_CHECKING:
    from .server import Metrics

T = TypeVar("T")


POLL_S = 0.002
GATHER_S = 0.050
"""How long after a batch of several the next one waits: clients that were answered together ask again together."""
PAST_S = 1.0
"""How long after the last deadline of a batch the database ends its queries: who waited has gone by then."""
BESIDE_S = 2.0
"""How long a question waits for a batch that runs, before it is sent while that does."""


class OverloadedError(LodestarError):
    """The queue is full, or the server is shutting down."""


class DeadlineExceededError(LodestarError):
    """The deadline of a request has passed."""


@dataclass(slots=True, eq=False)
class _Waiting:
    key: Hashable
    item: Any
    future: asyncio.Future[Any]
    since: float
    end: float


class Batcher:
    """Batches items with the same key, at most `max_batch`, from a queue of `max_queue`; for use in one event loop.

    ask: called in a thread with a key and items, returns as many results; if it fails for a batch, each item is asked
    alone, unless the database is away. workers: concurrent batches; a second one is sent when it is full, or its first
    item has waited `BESIDE_S`.
    """

    def __init__(
        self,
        ask: Callable[[Any, Sequence[Any]], Sequence[Any]],
        *,
        max_batch: int = 32,
        max_queue: int = 256,
        workers: int = 2,
    ) -> None:
        self.max_batch, self.max_queue, self.workers = max_batch, max_queue, workers
        self._ask = ask
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="lodestar-batch")
        self._queue: deque[_Waiting] = deque()
        self._arrived = asyncio.Event()
        self._workers: list[asyncio.Task[None]] = []
        self._num_running = 0
        self._expected, self._until = 0, 0.0
        self._closed = False

    @property
    def num_waiting(self) -> int:
        return len(self._queue)

    async def ask(self, key: Hashable, item: Any, deadline_s: float) -> Any:
        """Return the result of an item; cancelling it takes the item out of the queue.

        Raises `OverloadedError`, `DeadlineExceededError` after `deadline_s` seconds, and what `ask` raises for it.
        """
        if self._closed:
            raise OverloadedError("the server is shutting down: ask another, or again in a moment")
        at_once = 0 if self._num_running else self.max_batch  # a free worker takes a batch: that does not wait
        if len(self._queue) >= self.max_queue + at_once:
            raise OverloadedError(
                f"{len(self._queue):,} questions wait already: expected at most {self.max_queue:,}: ask again"
            )
        loop = asyncio.get_running_loop()
        waiting = _Waiting(key, item, loop.create_future(), loop.time(), loop.time() + deadline_s)
        self._queue.append(waiting)
        self._arrived.set()
        if not self._workers:
            self._workers = [loop.create_task(self._work()) for _ in range(self.workers)]
        try:
            async with asyncio.timeout(deadline_s):
                return await waiting.future
        except TimeoutError:
            raise DeadlineExceededError(f"no answer within the {deadline_s:g} s that the request gave") from None
        finally:
            if waiting in self._queue:
                self._queue.remove(waiting)

    async def close(self, patience_s: float) -> None:
        """Refuse new items, wait up to `patience_s` for those that are there, and fail the rest."""
        self._closed = True
        loop = asyncio.get_running_loop()
        end = loop.time() + patience_s
        while (self._queue or self._num_running) and loop.time() < end:
            await asyncio.sleep(0.02)
        for each in self._queue:
            if not each.future.done():
                each.future.set_exception(OverloadedError("the server has shut down"))
        for worker in self._workers:
            worker.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _work(self) -> None:
        while True:
            while not self._queue:
                self._arrived.clear()
                await self._arrived.wait()
            if self._is_early():
                await asyncio.sleep(POLL_S)
                continue
            batch = self._take()
            self._num_running += len(batch)
            try:
                await self._send(batch)
            finally:
                self._num_running -= len(batch)
                if len(batch) > 1:
                    self._expected = min(len(self._queue) + len(batch), self.max_batch)
                    self._until = asyncio.get_running_loop().time() + GATHER_S

    def _is_early(self) -> bool:
        now = asyncio.get_running_loop().time()
        if self._num_running:
            return len(self._queue) < self.max_batch and now - self._queue[0].since < BESIDE_S
        return len(self._queue) < self._expected and now < self._until

    def _take(self) -> list[_Waiting]:
        batch = [self._queue.popleft()]
        while self._queue and len(batch) < self.max_batch and self._queue[0].key == batch[0].key:
            batch.append(self._queue.popleft())
        return batch

    async def _send(self, batch: list[_Waiting]) -> None:
        loop, context = asyncio.get_running_loop(), copy_context()
        context.run(deadline.set, max(each.end for each in batch) + PAST_S)
        items = [each.item for each in batch]
        try:
            asking = partial(self._ask, batch[0].key, items)
            results: Sequence[Any] = await loop.run_in_executor(self._pool, context.run, asking)
        except Exception as error:  # noqa: BLE001 - raised where the result is waited for
            is_away = isinstance(error, DatabaseUnavailableError)
            for each in batch:
                if each.future.done():
                    continue
                if len(batch) > 1 and not is_away:
                    await self._send([each])
                else:
                    each.future.set_exception(error)
            return
        for each, result in zip(batch, results, strict=True):
            if not each.future.done():
                each.future.set_result(result)


class Service:
    """Questions and lookups over one graph, for one event loop.

    Raises `UsageError` if the recipe lacks something that it needs.
    """

    def __init__(self, settings: Settings, recipe: Recipe, metrics: Metrics | None = None) -> None:
        recipe.check()
        self.settings = settings
        self.recipe = recipe
        self.metrics = metrics
        self._engine = PerProcessResource(partial(Engine, settings, recipe=recipe))
        self.finding: asyncio.Future[QuestionsData] | None = None
        """Questions for the page: found once for all who ask meanwhile, and to the end although they leave."""
        self._lookups = ThreadPoolExecutor(4, thread_name_prefix="lodestar-lookup")
        self.batches = Batcher(self._answer)

    async def ask(
        self,
        question: Question,
        write: Callable[[Answer], T],
        options: Mapping[str, int | bool] | None = None,
        *,
        answers: bool = True,
        deadline_s: float = DEADLINE_S,
    ) -> T:
        """Return what `write` makes of the answer, or of an answer with nothing but evidence; it runs in the batch's
        thread, so that long replies do not stop the event loop. Raise `UsageError` for an option that the recipe
        lacks."""
        for option in options or {}:
            self.recipe.find_option(option)
        key = tuple(sorted((options or {}).items())), answers
        reply: T = await self.batches.ask(key, (question, write), deadline_s)
        return reply

    async def look_up(self, look: Callable[..., T], *given: Any) -> T:
        """Call a function with the engine and what is given, in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._lookups, lambda: look(self._engine.value, *given))

    async def ready(self, timeout_s: float = 3.0) -> str:
        """Return why no question can be answered now (database, graph, models), or an empty text."""

        def check(engine: Engine) -> str:
            engine.gateway().run(read_graph_state()).check()
            engine.prepare()
            return ""

        try:
            async with asyncio.timeout(timeout_s):
                return await self.look_up(check)
        except TimeoutError:
            return f"the database did not answer within {timeout_s:g} s"
        except LodestarError as error:
            return str(error)

    async def close(self, patience_s: float = 10.0) -> None:
        """Answer waiting questions for up to `patience_s`, then close everything."""
        await self.batches.close(patience_s)
        self._lookups.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(self._engine.__exit__, None, None, None)

    def _answer(
        self, key: tuple[Sequence[tuple[str, Any]], bool], asked: Sequence[tuple[Question, Callable[[Answer], Any]]]
    ) -> list[Any]:
        engine, questions = self._engine.value, [question for question, _ in asked]
        options, with_answers = key
        if with_answers:
            answers = engine.ask_batch(questions, **dict(options))
        else:
            answers = [Answer(found, (), "", "none") for found in engine.retrieve_batch(questions, **dict(options))]
        if self.metrics is not None:
            self.metrics.count_batch(answers)
        return [write(answer) for (_, write), answer in zip(asked, answers, strict=True)]
