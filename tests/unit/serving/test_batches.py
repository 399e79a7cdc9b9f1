"""Batches: what waits is asked together, within bounds; one bad item fails alone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest
from lodestar.engine.errors import DatabaseUnavailableError, UsageError
from lodestar.engine.serving import Batcher, DeadlineExceededError, OverloadedError


class Asker:
    """Answers an item with itself doubled; remembers the batches; waits for `gate`."""

    def __init__(self) -> None:
        self.batches: list[tuple[object, list[int]]] = []
        self.gate = threading.Event()
        self.gate.set()
        self.failing: set[int] = set()
        self.away = 0

    def __call__(self, key: object, items: Sequence[int]) -> list[int]:
        self.batches.append((key, list(items)))
        self.gate.wait(10)
        if self.away:
            self.away -= 1
            raise DatabaseUnavailableError("away")
        if bad := self.failing & set(items):
            raise UsageError(f"bad {sorted(bad)}")
        return [2 * item for item in items]


def made(asker: Asker, **limits: int) -> Batcher:
    return Batcher(asker, **{"workers": 1, **limits})


def put(batches: Batcher, *items: int, key: str = "k", deadline_s: float = 5.0) -> list[asyncio.Task[int]]:
    """Ask each item in a request of its own."""
    return [asyncio.create_task(batches.ask(key, item, deadline_s)) for item in items]


async def test_what_waits_is_asked_together_up_to_the_limit_and_by_key() -> None:
    asker = Asker()
    asker.gate.clear()
    batches = made(asker, max_batch=4)
    first = put(batches, 0)
    await asyncio.sleep(0.05)
    rest = put(batches, *range(1, 7)) + put(batches, 7, key="other")
    await asyncio.sleep(0)
    asker.gate.set()
    assert await asyncio.gather(*first, *rest) == [2 * item for item in range(8)]
    assert asker.batches == [("k", [0]), ("k", [1, 2, 3, 4]), ("k", [5, 6]), ("other", [7])]
    await batches.close(1)


async def test_one_bad_item_fails_alone() -> None:
    asker = Asker()
    asker.failing = {5}
    batches = made(asker)
    results = await asyncio.gather(*put(batches, *range(8)), return_exceptions=True)
    assert [each for each in results if not isinstance(each, BaseException)] == [0, 2, 4, 6, 8, 12, 14]
    assert isinstance(results[5], UsageError)
    await batches.close(1)


async def test_a_deadline_and_a_cancelled_request_free_their_places() -> None:
    asker = Asker()
    asker.gate.clear()
    batches = made(asker)
    first = put(batches, 0)
    await asyncio.sleep(0.05)
    (late,) = put(batches, 1, deadline_s=0.05)
    (gone,) = put(batches, 2)
    with pytest.raises(DeadlineExceededError, match=r"0\.05 s"):
        await late
    gone.cancel()
    await asyncio.sleep(0.01)
    assert batches.num_waiting == 0
    asker.gate.set()
    assert await first[0] == 0
    await asyncio.sleep(0.05)
    assert [items for _, items in asker.batches] == [[0]]
    await batches.close(1)


async def test_a_database_that_is_away_is_asked_once_for_a_batch() -> None:
    asker = Asker()
    asker.away = 1
    batches = made(asker)
    results = await asyncio.gather(*put(batches, 1, 2, 3), return_exceptions=True)
    assert [type(each) for each in results] == [DatabaseUnavailableError] * 3
    assert len(asker.batches) == 1
    assert await batches.ask("k", 1, 5.0) == 2
    await batches.close(1)


async def test_closing_answers_what_waits_and_takes_no_more() -> None:
    asker = Asker()
    batches = made(asker)
    waiting = put(batches, 1, 2)
    await asyncio.sleep(0)
    await batches.close(2.0)
    assert await asyncio.gather(*waiting) == [2, 4]
    with pytest.raises(OverloadedError, match="shutting down"):
        await batches.ask("k", 3, 1.0)
