"""One load at a time per graph: the database's own lock, which goes with the process that holds it, however it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...engine.database.gateway import Gateway
from ...engine.database.holding import Hold, hold_load_lock
from ..writing.schema import check_schema, ensure_lock


@contextmanager
def load_lock(gateway: Gateway) -> Iterator[Hold]:
    """Hold the lock; what is yielded tells whether it was lost meanwhile.

    Raises `LoadInProgressError` when another load has it, `GraphError` where the database has no room for it.
    """
    check_schema(gateway)
    ensure_lock(gateway)
    with gateway.holding(hold_load_lock()) as hold:
        yield hold
