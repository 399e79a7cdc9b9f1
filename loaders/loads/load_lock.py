"""One load at a time per graph: the database's own lock, which goes with the process that holds it, however it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...engine.database.gateway import Gateway
from ...engine.database.holding import hold_load_lock
from ..writing.schema import check_schema, ensure_lock


@contextmanager
def load_lock(gateway: Gateway) -> Iterator[Callable[[], None]]:
    """Hold the lock; what is yielded raises `DatabaseError` when it was lost meanwhile.

    Raises `LoadInProgressError` when another load has it, `GraphError` where the database has no room for it.
    """
    check_schema(gateway)
    ensure_lock(gateway)
    with gateway.holding(hold_load_lock()) as hold:
        yield hold.check
