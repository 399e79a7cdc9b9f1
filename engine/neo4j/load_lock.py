"""Hold a transaction open for its locks, so that only one load at a time runs on a graph.

The database frees the locks when the transaction ends, and ends it when the process that opened it is gone.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import Executor, wait
from contextlib import suppress
from typing import Any, LiteralString, Self, TypeVar

import neo4j
from neo4j import exceptions as driver_errors

from ..errors import DatabaseError, LoadInProgressError
from .templates import Request, template

T = TypeVar("T")

_LOST = (driver_errors.Neo4jError, driver_errors.DriverError, OSError)


def hold_load_lock() -> Request[None]:
    """Take the load lock; use it with `Gateway.hold_transaction`. Needs the constraint ``load_lock``."""
    return Request(template("hold_load_lock"), {}, lambda _: None)


def release_load_lock() -> Request[None]:
    """Give the load lock back where the transaction that holds it is to be committed."""
    return Request(template("release_load_lock"), {}, lambda _: None)


def end_transactions(token: str) -> Request[int]:
    """End the user's own transactions whose metadata have this token; returns their number."""
    return Request(template("end_transactions"), {"token": token}, len)


KEEP_ALIVE_S = 20.0
"""Shorter than the idle time after which a network component may cut a connection."""


class OpenTransaction:
    """An open transaction in which a request has run. All methods are thread-safe."""

    def __init__(self, transaction: neo4j.Transaction, request: Request[Any]) -> None:
        self._transaction = transaction
        self._text: LiteralString = request.template.render(request.names)
        self._params = dict(request.params)
        self._in_use = threading.Lock()
        self._released = threading.Event()

    @classmethod
    def take(
        cls,
        session: neo4j.Session,
        request: Request[Any],
        metadata: dict[str, Any],
        *,
        wait_s: float,
        pool: Executor,
        end: Callable[[str], object],
    ) -> Self:
        """Run the request in a new transaction, wait until it has all its locks, and return the hold.

        Raises `LoadInProgressError` after `wait_s`; before that it passes the token of the waiting transaction to
        `end`.
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
        """Return whether the transaction, and so its locks, still exist. One round trip."""
        try:
            self._run()
        except _LOST:
            return False
        return True

    def check(self) -> None:
        """Raise `DatabaseError` if the transaction is gone: another load may have begun since then."""
        if not self.alive():
            raise DatabaseError("this load lost its connection and with it its lock: run the same load again")

    def keep_alive(self, pool: Executor) -> None:
        """Query from time to time until the hold is released or lost, because an idle connection may be cut."""
        pool.submit(self._keep_alive)

    def run(self, request: Request[T]) -> T:
        """Run another request in the transaction and return its answer."""
        with self._in_use:
            result = self._transaction.run(request.template.render(request.names), dict(request.params))
            rows = [tuple(record.values()) for record in result]
        return request.decode(rows)

    def commit(self) -> None:
        """Keep what the requests after the first wrote, undo the first, and free the locks."""
        self.run(release_load_lock())
        self._released.set()
        with self._in_use:
            self._transaction.commit()

    def release(self) -> None:
        """Roll back the request and free the locks; if the transaction is gone, the database has done both."""
        self._released.set()
        with self._in_use, suppress(*_LOST):
            self._transaction.close()

    def _keep_alive(self) -> None:
        while not self._released.wait(KEEP_ALIVE_S) and self.alive():
            pass

    def _run(self) -> None:
        with self._in_use:
            self._transaction.run(self._text, self._params).consume()
