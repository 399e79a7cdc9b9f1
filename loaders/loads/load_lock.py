"""One load at a time per graph: the database's own lock, which goes with the process that holds it, however it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...engine.database.gateway import Gateway
from ...engine.database.holding import hold_load_lock
from ..writing.manifest import request


@contextmanager
def load_lock(gateway: Gateway) -> Iterator[Callable[[], None]]:
    """Hold the lock; what is yielded raises `DatabaseError` when it was lost meanwhile.

    Raises `LoadInProgressError` when another load has it.
    """
    gateway.execute(request("ensure_load_lock"))
    with gateway.holding(hold_load_lock()) as hold:
        yield hold.check
