"""A transaction that is kept open for its locks: how one load at a time is held on a graph.

The database frees the locks when the transaction ends, and ends it when the process that opened it is gone.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import Executor, wait
from contextlib import suppress
from typing import Any, LiteralString, Self

import neo4j
from neo4j import exceptions as driver_errors

from ..errors import DatabaseError, LoadInProgressError
from .requests import Request
from .templates import template

_LOST = (driver_errors.Neo4jError, driver_errors.DriverError, OSError)


def hold_load_lock() -> Request[None]:
    """Take the lock of loads: for `Gateway.holding`. The constraint ``load_lock`` has to be there."""
    return Request(template("hold_load_lock"), {}, lambda _: None)


def end_transactions(token: str) -> Request[int]:
    """End the user's own transactions whose metadata have this token; the number of them."""
    return Request(template("end_transactions"), {"token": token}, len)


KEEP_ALIVE_S = 20.0
"""A connection on which nothing happens for longer may be cut by what lies between."""


class Hold:
    """A transaction in which a request was run and that stays open. What is done with it may be done in any thread."""

    def __init__(self, transaction: neo4j.Transaction, request: Request[Any]) -> None:
        self._transaction = transaction
        self._text: LiteralString = request.template.render(request.names)
        self._params = dict(request.params)
        self._in_use = threading.Lock()
        self._released = threading.Event()

    @classmethod
    def taken(
        cls,
        session: neo4j.Session,
        request: Request[Any],
        metadata: dict[str, Any],
        *,
        wait_s: float,
        pool: Executor,
        end: Callable[[str], object],
    ) -> Self:
        """Return the hold once the request has run, which it does when it gets all its locks.

        Raises `LoadInProgressError` after `wait_s`: `end` is told the token of the transaction that waits in vain.
        """
        token = uuid.uuid4().hex
        transaction = session.begin_transaction(metadata=metadata | {"token": token}, timeout=0)
        hold = cls(transaction, request)
        waiting = pool.submit(hold._run)
        try:
            in_time = bool(wait([waiting], wait_s).done)
        finally:
            if not waiting.done():
                end(token)
                wait([waiting])
        if not in_time:
            raise LoadInProgressError("another load is running on this graph: wait for it to end")
        waiting.result()
        return hold

    def alive(self) -> bool:
        """Whether the transaction, and with it the locks, is still there. One round trip."""
        try:
            self._run()
        except _LOST:
            return False
        return True

    def check(self) -> None:
        """Raise `DatabaseError` when the transaction is gone: another load may have begun since then."""
        if not self.alive():
            raise DatabaseError("the lock of this load was lost, with its connection: run the same load again")

    def keep_alive(self, pool: Executor) -> None:
        """Ask now and then, until it is released or lost: a connection may be cut where it is idle."""
        pool.submit(self._keep_alive)

    def release(self) -> None:
        """Undo what the request did and free the locks; where the transaction is gone the database has done both."""
        self._released.set()
        with self._in_use, suppress(*_LOST):
            self._transaction.close()

    def _keep_alive(self) -> None:
        while not self._released.wait(KEEP_ALIVE_S) and self.alive():
            pass

    def _run(self) -> None:
        with self._in_use:
            self._transaction.run(self._text, self._params).consume()
