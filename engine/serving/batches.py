"""Batch waiting questions: micro-batches with a bounded queue, deadlines, and fair turns between clients.

While nothing runs, nothing waits, except up to `max_wait_s` after a batch of several: clients that were answered
together ask again at almost the same time. What waits and what runs is shared among the workers, so that one batch
computes while the database answers another.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ..errors import DatabaseError, DatabaseUnavailableError, LodestarError

Item = TypeVar("Item")
Result = TypeVar("Result")

POLL_S = 0.005
FIRST_RETRY_S, LAST_RETRY_S = 0.1, 1.0
"""Waits between attempts while the database is away."""


class OverloadedError(LodestarError):
    """The queue is full: ask again after `retry_after_s`."""

    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class DeadlineExceededError(LodestarError):
    """The deadline of a request has passed."""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """The limits of batches and their queue.

    max_batch: items in a batch. min_beside: items of a batch that is sent while another runs. max_wait_s: how long to
    wait for a batch to fill. max_queue: waiting items. max_share: the share of the queue that one client may fill.
    workers: concurrent batches. beside_s: how long the first item waits before a smaller batch is sent beside
    another."""

    max_batch: int = 32
    min_beside: int = 8
    max_wait_s: float = 0.010
    max_queue: int = 256
    max_share: float = 0.5
    workers: int = 2
    beside_s: float = 1.0


Ask = Callable[[Any, Sequence[Item]], Awaitable[Sequence[Result]]]
"""Called with a key and items, returns as many results."""


@dataclass(slots=True, eq=False)
class _Waiting(Generic[Item, Result]):
    key: Hashable
    item: Item
    client: Hashable
    future: asyncio.Future[Result]
    since: float
    error: BaseException | None = None
    expiry: asyncio.TimerHandle | None = field(default=None, repr=False)


class MicroBatcher(Generic[Item, Result]):
    """Batches items with the same key, within limits; for use in one event loop.

    It sends a batch as soon as a worker is free, from a queue for each client, whose items take turns. If `ask` fails
    for one item, the rest of the batch is asked again without it. While the database is away, items wait for it until
    their deadlines. on_batch: called with the seconds that the items of each batch have waited.
    """

    def __init__(
        self,
        ask: Ask[Item, Result],
        limits: BatchLimits = BatchLimits(),  # noqa: B008 - frozen
        on_batch: Callable[[Sequence[float]], None] | None = None,
    ) -> None:
        self.ask = ask
        self.limits = limits
        self._on_batch = on_batch
        self._queues: OrderedDict[Hashable, deque[_Waiting[Item, Result]]] = OrderedDict()
        self._num_waiting = 0
        self._under_way = 0
        self._seconds_each = 0.05
        self._closed = False
        self._last_size = 1
        self._arrived = asyncio.Event()
        self._away_s = 0.0
        self._workers: set[asyncio.Task[None]] = set()

    @property
    def num_waiting(self) -> int:
        """Items in the queue."""
        return self._num_waiting

    def check_room(self, client: Hashable, num_items: int) -> None:
        """Raise `OverloadedError` if the queue has no room for so many more items of a client."""
        limit, own = self.limits.max_queue, len(self._queues.get(client, ()))
        at_once = 0 if self._under_way else self.limits.max_batch  # a free worker takes a batch: that does not wait
        retry_after_s = max(1, round(self._num_waiting * self._seconds_each))
        if self._closed:
            raise OverloadedError("the server is shutting down: ask another, or again in a moment", retry_after_s)
        if self._num_waiting + num_items > limit + at_once:
            raise OverloadedError(
                f"{self._num_waiting:,} questions wait already: expected at most {limit:,}; ask again in "
                f"{retry_after_s} s",
                retry_after_s,
            )
        share = max(1, int(limit * self.limits.max_share)) + at_once
        if own + num_items > share and own + num_items > self.limits.max_batch:
            raise OverloadedError(
                f"{own:,} questions of this client wait already: a client may fill {self.limits.max_share:.0%} of the "
                f"{limit:,} places; ask again in {retry_after_s} s",
                retry_after_s,
            )

    def put(self, key: Hashable, item: Item, *, client: Hashable, deadline_s: float) -> asyncio.Future[Result]:
        """Put an item into the queue and return the future of its result; cancelling that takes it out again.

        Raises `OverloadedError` if the queue is full. The future raises `DeadlineExceededError` after `deadline_s`
        seconds (the database's own error if that was away), and what `ask` raises for the item.
        """
        self.check_room(client, 1)
        loop = asyncio.get_running_loop()
        waiting: _Waiting[Item, Result] = _Waiting(key, item, client, loop.create_future(), loop.time())
        waiting.expiry = loop.call_later(deadline_s, self._expire, waiting, deadline_s)
        waiting.future.add_done_callback(lambda _: self._forget(waiting))
        self._queues.setdefault(client, deque()).append(waiting)
        self._num_waiting += 1
        self._arrived.set()
        while len(self._workers) < self.limits.workers:
            worker = loop.create_task(self._work())
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)
        return waiting.future

    async def close(self, patience_s: float) -> None:
        """Refuse new items, wait up to `patience_s` for those in the queue, and fail the rest."""
        self._closed = True
        loop = asyncio.get_running_loop()
        end = loop.time() + patience_s
        while (self._num_waiting or self._under_way) and loop.time() < end:
            await asyncio.sleep(0.02)
        for queue in list(self._queues.values()):
            for waiting in list(queue):
                _fail(waiting, OverloadedError("the server has shut down", 1))
        workers = list(self._workers)
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)

    def _expire(self, waiting: _Waiting[Item, Result], deadline_s: float) -> None:
        _fail(
            waiting,
            waiting.error or DeadlineExceededError(f"no answer within the {deadline_s:g} s that the request gave"),
        )

    def _forget(self, waiting: _Waiting[Item, Result]) -> None:
        if waiting.expiry is not None:
            waiting.expiry.cancel()
        queue = self._queues.get(waiting.client)
        if queue is not None and waiting in queue:
            queue.remove(waiting)
            self._count_room(waiting.client)

    def _count_room(self, client: Hashable) -> None:
        self._num_waiting -= 1
        if not self._queues[client]:
            del self._queues[client]

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            while not self._num_waiting:
                self._arrived.clear()
                await self._arrived.wait()
            if self._away_s:
                await asyncio.sleep(self._away_s)
            while self._is_early(loop.time()):
                await asyncio.sleep(POLL_S)
            if self._last_size > 1 and self._num_waiting < min(self._last_size, self.limits.max_batch):
                await self._gather(loop.time() + self.limits.max_wait_s)
            batch = self._take()
            if batch:
                self._under_way += len(batch)
                try:
                    await self._send(batch, loop)
                finally:
                    self._under_way -= len(batch)

    def _size(self) -> int:
        """Return the most items of the next batch: a worker's share of what waits and runs."""
        share = -(-(self._num_waiting + self._under_way) // self.limits.workers)
        return min(self.limits.max_batch, max(self.limits.min_beside, share))

    def _is_early(self, now: float) -> bool:
        """Return whether to wait for the running batch instead of sending a small one beside it."""
        if not self._under_way or not 0 < self._num_waiting < self._size():
            return False
        return all(queue[0].since + self.limits.beside_s > now for queue in self._queues.values())

    async def _gather(self, until: float) -> None:
        """Wait until the queue holds as many items as the last batch."""
        loop = asyncio.get_running_loop()
        wanted = min(self._last_size, self.limits.max_batch)
        while self._num_waiting and self._num_waiting < wanted and (left := until - loop.time()) > 0:
            self._arrived.clear()
            try:
                async with asyncio.timeout(left):
                    await self._arrived.wait()
            except TimeoutError:
                return

    def _take(self) -> list[_Waiting[Item, Result]]:
        """Take the next batch: one item of each client in turn, of the key that is first."""
        batch: list[_Waiting[Item, Result]] = []
        size = self._size()
        taken = True
        while taken and len(batch) < size:
            taken = False
            for client in list(self._queues):
                queue = self._queues[client]
                if len(batch) < size and (not batch or queue[0].key == batch[0].key):
                    batch.append(queue.popleft())
                    taken = True
                    self._queues.move_to_end(client)
                    self._count_room(client)
        return batch

    async def _send(self, batch: list[_Waiting[Item, Result]], loop: asyncio.AbstractEventLoop) -> None:
        started = loop.time()
        if self._on_batch is not None:
            self._on_batch([started - each.since for each in batch])
        self._last_size = len(batch)
        try:
            results = await self.ask(batch[0].key, [each.item for each in batch])
        except Exception as error:  # noqa: BLE001 - raised where the result is waited for
            await self._after_failure(batch, error, loop)
            return
        self._away_s = 0.0
        self._seconds_each += 0.2 * ((loop.time() - started) / len(batch) - self._seconds_each)
        for each, result in zip(batch, results, strict=True):
            if not each.future.done():
                each.future.set_result(result)

    async def _after_failure(
        self, batch: list[_Waiting[Item, Result]], error: Exception, loop: asyncio.AbstractEventLoop
    ) -> None:
        if is_database_away(error) and not self._closed:
            self._away_s = min(max(2 * self._away_s, FIRST_RETRY_S), LAST_RETRY_S)
            self._put_back(batch, error)
        elif len(batch) == 1:
            _fail(batch[0], error)
        else:
            middle = len(batch) // 2
            await self._send(batch[:middle], loop)
            await self._send(batch[middle:], loop)

    def _put_back(self, batch: list[_Waiting[Item, Result]], error: Exception) -> None:
        for each in reversed(batch):
            each.error = error
            if not each.future.done():
                self._queues.setdefault(each.client, deque()).appendleft(each)
                self._num_waiting += 1


def is_database_away(error: BaseException) -> bool:
    """Return whether an error means that the database is away or starting, so that waiting may help."""
    code = str(getattr(error.__cause__, "code", "") or "")
    return isinstance(error, DatabaseUnavailableError) or (
        isinstance(error, DatabaseError)
        and (code.startswith("Neo.TransientError.") or "DatabaseUnavailable" in code)
        and "TransactionTimedOut" not in code
    )


def _fail(waiting: _Waiting[Any, Any], error: BaseException) -> None:
    if not waiting.future.done():
        waiting.future.set_exception(error)
