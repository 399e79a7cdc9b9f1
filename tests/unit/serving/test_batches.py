"""Micro-batches: what waits is asked together, in turns, within bounds; one bad item fails alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from lodestar.engine.errors import DatabaseUnavailableError, UsageError
from lodestar.engine.serving.batches import (
    BatchLimits,
    DeadlineExceededError,
    MicroBatcher,
    OverloadedError,
)


class Asker:
    """Answers an item with itself doubled; remembers the batches; waits for `gate`."""

    def __init__(self) -> None:
        self.batches: list[tuple[object, list[int]]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.failing: set[int] = set()
        self.away = 0

    async def __call__(self, key: object, items: Sequence[int]) -> list[int]:
        self.batches.append((key, list(items)))
        await self.gate.wait()
        if self.away:
            self.away -= 1
            raise DatabaseUnavailableError("away")
        if bad := self.failing & set(items):
            raise UsageError(f"bad {sorted(bad)}")
        return [2 * item for item in items]


def made(asker: Asker, **limits: float) -> MicroBatcher[int, int]:
    return MicroBatcher(asker, BatchLimits(**{"workers": 1, **limits}))


def put(
    batches: MicroBatcher[int, int], *items: int, client: str = "a", key: str = "k", deadline_s: float = 5.0
) -> list[asyncio.Future[int]]:
    return [batches.put(key, item, client=client, deadline_s=deadline_s) for item in items]


async def test_one_that_comes_alone_is_asked_at_once() -> None:
    asker = Asker()
    batches = made(asker, max_wait_s=30.0)
    assert await batches.put("k", 1, client="a", deadline_s=1.0) == 2
    assert await batches.put("k", 2, client="a", deadline_s=1.0) == 4
    assert asker.batches == [("k", [1]), ("k", [2])]
    await batches.close(1)


async def test_what_waits_is_asked_together_up_to_the_limit() -> None:
    asker = Asker()
    asker.gate.clear()
    batches = made(asker, max_batch=4)
    first = put(batches, 0)
    await asyncio.sleep(0)
    rest = put(batches, *range(1, 7))
    asker.gate.set()
    assert await asyncio.gather(*first, *rest) == [2 * item for item in range(7)]
    assert [items for _, items in asker.batches] == [[0], [1, 2, 3, 4], [5, 6]]
    await batches.close(1)


async def test_clients_take_turns() -> None:
    asker = Asker()
    asker.gate.clear()
    batches = made(asker, max_batch=2)
    first = put(batches, 0)
    await asyncio.sleep(0)
    many = put(batches, *range(1, 9), client="greedy")
    one = put(batches, 100, client="modest")
    asker.gate.set()
    await asyncio.gather(*first, *many, *one)
    assert 100 in asker.batches[1][1]
    await batches.close(1)


async def test_a_batch_is_sent_beside_another_when_it_is_full_or_has_waited() -> None:
    asker = Asker()
    asker.gate.clear()
    batches = made(asker, workers=2, max_batch=2, beside_s=0.1)
    first = put(batches, 0)
    await asyncio.sleep(0.02)
    late = put(batches, 1)
    await asyncio.sleep(0.03)
    assert [items for _, items in asker.batches] == [[0]]
    full = put(batches, 2)
    await asyncio.sleep(0.03)
    assert [items for _, items in asker.batches] == [[0], [1, 2]]
    asker.gate.set()
    await asyncio.gather(*first, *late, *full)
    asker.gate.clear()
    first = put(batches, 3)
    await asyncio.sleep(0.03)
    late = put(batches, 4)
    await asyncio.sleep(0.3)
    assert [items for _, items in asker.batches[2:]] == [[3], [4]]
    asker.gate.set()
    await asyncio.gather(*first, *late)
    await batches.close(1)


async def test_one_bad_item_fails_alone() -> None:
    asker = Asker()
    asker.failing = {5}
    batches = made(asker)
    results = await asyncio.gather(*put(batches, *range(8)), return_exceptions=True)
    assert [each for each in results if not isinstance(each, Exception)] == [0, 2, 4, 6, 8, 12, 14]
    assert isinstance(results[5], UsageError)
    await batches.close(1)


async def test_too_many_are_refused_with_a_time_to_come_back() -> None:
    asker = Asker()
    asker.gate.clear()
    batches = made(asker, max_queue=4, max_share=1.0)
    waiting = put(batches, 0)
    await asyncio.sleep(0)
    waiting += put(batches, 1, 2, 3, 4)
    with pytest.raises(OverloadedError) as refused:
        put(batches, 5)
    assert refused.value.retry_after_s >= 1
    asker.gate.set()
    assert await asyncio.gather(*waiting) == [0, 2, 4, 6, 8]
    await batches.close(1)


async def test_one_client_cannot_fill_the_queue() -> None:
    asker = Asker()
    asker.gate.clear()
    batches = made(asker, max_queue=8, max_batch=2)
    waiting = put(batches, 0, client="other")
    await asyncio.sleep(0)
    waiting += put(batches, 1, 2, 3, 4, client="greedy")
    with pytest.raises(OverloadedError, match="of this client"):
        put(batches, 5, client="greedy")
    waiting += put(batches, 6, client="modest")
    asker.gate.set()
    await asyncio.gather(*waiting)
    await batches.close(1)


async def test_a_deadline_ends_the_wait_and_frees_the_place() -> None:
    asker = Asker()
    asker.gate.clear()
    batches = made(asker)
    first = put(batches, 0)
    await asyncio.sleep(0)
    (late,) = put(batches, 1, deadline_s=0.05)
    with pytest.raises(DeadlineExceededError, match=r"0\.05 s"):
        await late
    assert batches.num_waiting == 0
    asker.gate.set()
    assert await first[0] == 0
    assert all(1 not in items for _, items in asker.batches)
    await batches.close(1)


async def test_what_is_cancelled_is_not_asked() -> None:
    asker = Asker()
    asker.gate.clear()
    batches = made(asker)
    first = put(batches, 0)
    await asyncio.sleep(0)
    task = batches.put("k", 1, client="a", deadline_s=5)
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0.01)
    assert batches.num_waiting == 0
    asker.gate.set()
    await asyncio.gather(*first)
    await asyncio.sleep(0.02)
    assert [items for _, items in asker.batches] == [[0]]
    await batches.close(1)


async def test_a_database_that_is_away_is_waited_for() -> None:
    asker = Asker()
    asker.away = 2
    batches = made(asker)
    assert await asyncio.gather(*put(batches, 1, 2, 3)) == [2, 4, 6]
    assert len(asker.batches) == 3
    await batches.close(1)


async def test_closing_answers_what_waits_and_takes_no_more() -> None:
    asker = Asker()
    batches = made(asker)
    waiting = put(batches, 1, 2)
    await batches.close(2.0)
    assert await asyncio.gather(*waiting) == [2, 4]
    with pytest.raises(OverloadedError, match="shutting down"):
        put(batches, 3)
