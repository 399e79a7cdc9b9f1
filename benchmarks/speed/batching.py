"""Our micro-batches against the library `batched`, over an asker that only waits: what each adds, and what it brings.

Run ``python -m benchmarks.speed.batching`` (with ``pip install batched`` for its column).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from statistics import median

from lodestar.engine.serving.batches import BatchLimits, MicroBatcher

FIXED_S, EACH_S = 0.002, 0.0003
RUNS = 3
Submit = Callable[[int], Awaitable[int]]
_made: list[MicroBatcher[int, int]] = []


async def ask(items: Sequence[int]) -> list[int]:
    """Answer a batch after a time that grows with its size."""
    await asyncio.sleep(FIXED_S + EACH_S * len(items))
    return [2 * item for item in items]


async def measured(submit: Submit, num_clients: int, num_each: int) -> tuple[float, float]:
    """Return items a second, and the median milliseconds of one, of clients that ask again when they are answered."""
    seconds: list[float] = []

    async def client(number: int) -> None:
        for turn in range(num_each):
            began = time.perf_counter()
            assert await submit(number + turn) == 2 * (number + turn)
            seconds.append(time.perf_counter() - began)

    began = time.perf_counter()
    await asyncio.gather(*map(client, range(num_clients)))
    return num_clients * num_each / (time.perf_counter() - began), 1000 * median(seconds)


def ours() -> Submit:
    """Return micro-batches of our own."""

    async def called(_key: object, items: Sequence[int]) -> list[int]:
        return await ask(items)

    batches: MicroBatcher[int, int] = MicroBatcher(called, BatchLimits(max_batch=16, max_wait_s=0.010))
    _made.append(batches)
    return lambda item: batches.submit("", item, client=item % 64, deadline_s=60)


def library() -> Submit | None:
    """Return those of `batched`, None where it is not installed."""
    try:
        from batched import aio  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        return None
    called: Submit = aio.dynamically(ask, batch_size=16, timeout_ms=10)
    return called


async def main() -> None:
    """Print the table."""
    print(
        "| clients | ours, a second | ours, median ms | batched, a second | batched, median ms |\n|---|---|---|---|---|"
    )
    for num_clients, num_each in ((1, 100), (32, 60), (128, 30)):
        row = []
        for make in (ours, library):
            if make() is None:
                row += ["–", "–"]
                continue
            runs = [
                await measured(submit, num_clients, num_each) for _ in range(RUNS) if (submit := make()) is not None
            ]
            row += [f"{median(rate for rate, _ in runs):,.0f}", f"{median(ms for _, ms in runs):.1f}"]
        print(f"| {num_clients} | {' | '.join(row)} |")
    for batches in _made:
        await batches.close(1.0)


if __name__ == "__main__":
    asyncio.run(main())
