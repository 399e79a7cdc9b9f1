"""Map a function over parts on several processes of this machine."""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from typing import Any, Protocol, TypeVar

P = TypeVar("P")
R = TypeVar("R")

AHEAD = 1
"""Parts beyond one for each process that are begun before their turn: what they make waits on the disk."""


class MapInOrder(Protocol):
    """Maps a function that can be pickled over parts that can, and yields the results in order.

    What the function raises is raised in its turn. A part that has not begun when the caller stops is left undone.
    `engine.parallel.Workers.map` is one, and `MapOnProcesses` another.
    """

    def __call__(self, work: Callable[[P], R], parts: Sequence[P], /) -> Generator[R, None, None]:
        """Yield the results in order."""
        ...


class MapOnProcesses:
    """Maps on new processes, which leave Ctrl-C to the one that waits for them."""

    def __init__(self, num_processes: int) -> None:
        self.num_processes = num_processes

    def __call__(self, work: Callable[[P], R], parts: Sequence[P], /) -> Generator[R, None, None]:
        """Yield the results in order."""
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(min(self.num_processes, len(parts)), context, _leave_interrupts)
        try:
            remaining = iter(parts)
            begun: deque[Future[Any]] = deque()
            begun.extend(pool.submit(work, part) for part in islice(remaining, self.num_processes + AHEAD))
            while begun:
                result = begun.popleft().result()
                begun.extend(pool.submit(work, part) for part in islice(remaining, 1))
                yield result
        finally:
            pool.shutdown(cancel_futures=True)


def _leave_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
