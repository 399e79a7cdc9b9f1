"""Ask what waits together: batches from one bounded queue, with deadlines."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ..errors import DatabaseError, DatabaseUnavailableError, LodestarError

POLL_S = 0.002
RETRY_S = 0.25
"""Between attempts while the database is away."""
GATHER_S = 0.010
"""How long a batch is waited for after one of several: clients that were answered together ask again together."""
BESIDE_S = 1.0
"""How long a question waits for a batch that runs, before a small one is sent while it does."""


class OverloadedError(LodestarError):
    """The queue is full, or the server is shutting down."""


class DeadlineExceededError(LodestarError):
    """The deadline of a request has passed."""


Ask = Callable[[Any, Sequence[Any]], Sequence[Any]]
"""Called in a thread with a key and items, returns as many results."""


@dataclass(slots=True, eq=False)
class _Waiting:
    key: Hashable
    item: Any
    future: asyncio.Future[Any]
    since: float
    error: Exception | None = None


class Batcher:
    """Batches items with the same key, at most `max_batch`, from a queue of `max_queue`; for use in one event loop.

    workers: concurrent batches, so that one computes while the database answers another. min_beside: items of a batch
    that is sent while another runs. If `ask` fails for a batch, each of its items is asked alone. While the database is
    away, items wait for it until their deadlines.
    """

    def __init__(
        self,
        ask: Ask,
        *,
        max_batch: int = 32,
        max_queue: int = 256,
        workers: int = 2,
        min_beside: int = 8,
    ) -> None:
        self.max_batch, self.max_queue, self.workers, self.min_beside = max_batch, max_queue, workers, min_beside
        self._ask = ask
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="lodestar-batch")
        self._queue: deque[_Waiting] = deque()
        self._arrived = asyncio.Event()
        self._workers: list[asyncio.Task[None]] = []
        self._num_running = 0
        self._last_size = 1
        self._closed = False

    @property
    def num_waiting(self) -> int:
        """Items in the queue."""
        return len(self._queue)

    def check_room(self) -> None:
        """Raise `OverloadedError` if the queue has no room for one more item."""
        if self._closed:
            raise OverloadedError("the server is shutting down: ask another, or again in a moment")
        at_once = 0 if self._num_running else self.max_batch  # a free worker takes a batch: that does not wait
        if len(self._queue) >= self.max_queue + at_once:
            raise OverloadedError(
                f"{len(self._queue):,} questions wait already: expected at most {self.max_queue:,}: ask again"
            )

    async def ask(self, key: Hashable, item: Any, deadline_s: float) -> Any:
        """Return the result of an item; cancelling it takes the item out of the queue.

        Raises `OverloadedError`, `DeadlineExceededError` after `deadline_s` seconds (the database's own error if that
        was away), and what `ask` raises for the item.
        """
        self.check_room()
        loop = asyncio.get_running_loop()
        waiting = _Waiting(key, item, loop.create_future(), loop.time())
        self._queue.append(waiting)
        self._arrived.set()
        if not self._workers:
            self._workers = [loop.create_task(self._work()) for _ in range(self.workers)]
        try:
            async with asyncio.timeout(deadline_s):
                return await waiting.future
        except TimeoutError:
            late = DeadlineExceededError(f"no answer within the {deadline_s:g} s that the request gave")
            raise waiting.error or late from None
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
            self._last_size = len(batch)
            self._num_running += len(batch)
            try:
                await self._send(batch)
            finally:
                self._num_running -= len(batch)

    def _size(self) -> int:
        """Return the most items of the next batch: a worker's share of what waits and runs."""
        share = -(-(len(self._queue) + self._num_running) // self.workers)
        return min(self.max_batch, max(self.min_beside, share))

    def _is_early(self) -> bool:
        """Return whether more should come first: a share of what there is while a batch runs, else as many as last."""
        waited_s = asyncio.get_running_loop().time() - self._queue[0].since
        if self._num_running:
            return len(self._queue) < self._size() and waited_s < BESIDE_S
        return len(self._queue) < min(self._last_size, self.max_batch) and waited_s < GATHER_S

    def _take(self) -> list[_Waiting]:
        """Take the next batch: the first items, of one key."""
        size, batch = self._size(), [self._queue.popleft()]
        while self._queue and len(batch) < size and self._queue[0].key == batch[0].key:
            batch.append(self._queue.popleft())
        return batch

    async def _send(self, batch: list[_Waiting]) -> None:
        loop = asyncio.get_running_loop()
        try:
            results = await loop.run_in_executor(self._pool, self._ask, batch[0].key, [each.item for each in batch])
        except Exception as error:  # noqa: BLE001 - raised where the result is waited for
            if is_database_away(error) and not self._closed:
                await asyncio.sleep(RETRY_S)
                for each in batch:
                    each.error = error
                self._queue.extendleft(each for each in reversed(batch) if not each.future.done())
            elif len(batch) > 1:
                for each in batch:
                    await self._send([each])
            elif not batch[0].future.done():
                batch[0].future.set_exception(error)
            return
        for each, result in zip(batch, results, strict=True):
            if not each.future.done():
                each.future.set_result(result)


def is_database_away(error: BaseException) -> bool:
    """Return whether an error means that the database is away or starting, so that waiting may help."""
    code = str(getattr(error.__cause__, "code", "") or "")
    return isinstance(error, DatabaseUnavailableError) or (
        isinstance(error, DatabaseError)
        and (code.startswith("Neo.TransientError.") or "DatabaseUnavailable" in code)
        and "TransactionTimedOut" not in code
    )
