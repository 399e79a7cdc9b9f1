"""Work done ahead of who asks for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def mapped_ahead(executor: Executor, function: Callable[[T], R], items: Iterable[T], ahead: int) -> Iterator[R]:
    """Yield what the function makes of the items, in their order; `ahead` of them are under way or done beforehand."""
    pending: deque[Future[R]] = deque()
    for item in items:
        pending.append(executor.submit(function, item))
        if len(pending) > ahead:
            yield pending.popleft().result()
    while pending:
        yield pending.popleft().result()
