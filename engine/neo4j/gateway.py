"""Send requests to Neo4j.

Every query has read or write routing, the database's name, a timeout, and the template's name as transaction metadata.
The driver's errors are translated into Lodestar's. A transaction that is held open keeps its locks, so that only one
load at a time runs on a graph; the database frees them when the process that opened it is gone.
"""

from __future__ import annotations

import logging
import re
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any, Self, TypeVar

import neo4j
from neo4j import GraphDatabase, Query
from neo4j import exceptions as driver_errors

from ...models.placement import count_call
from ..errors import (
    AuthenticationError,
    DatabaseError,
    DatabaseUnavailableError,
    LoadInProgressError,
    QueryTimeoutError,
)
from ..parallel import start_in_thread
from ..settings import GRACE_S, Connection, Settings
from . import Request, Row, load_query

T = TypeVar("T")

MIN_VERSION = (5, 26)
MAX_CONCURRENT = 16
FETCH_SIZE = 1_000
HOLD_WAIT_S = 10.0
deadline: ContextVar[float | None] = ContextVar("deadline", default=None)
"""When nobody waits any more for what `Gateway.run_all` asks, by `time.monotonic`: the database ends its queries."""
KEEP_ALIVE_S = 20.0
"""Shorter than the idle time after which a network component may cut a connection."""

_LOST = (driver_errors.Neo4jError, driver_errors.DriverError, OSError)
_SLOW = "a query took more than {timeout_s:g} s and was ended: raise query_timeout_s or ask for fewer hops"
_REFUSALS: dict[str, tuple[type[DatabaseError], str]] = {
    "TransactionTimedOut": (QueryTimeoutError, _SLOW),
    "Terminated": (QueryTimeoutError, _SLOW),
    "OutOfMemoryError": (DatabaseError, "Neo4j lacks memory: restart it with a larger heap (db start --heap-mb)"),
    "DatabaseNotFound": (DatabaseUnavailableError, "{where} has no database {database!r}: check LODESTAR_DATABASE"),
    "Unauthorized": (AuthenticationError, "{where} refused user {user!r}: check LODESTAR_USER and LODESTAR_PASSWORD"),
}
"""What is said of an error whose code has this part."""

# Lodestar reports what matters itself; what the driver logs would break the progress bars.
logging.getLogger("neo4j").setLevel(logging.CRITICAL)


@contextmanager
def translate_errors(connection: Connection) -> Iterator[None]:
    """Raise the driver's errors as Lodestar's."""
    where = connection.where
    try:
        yield
    except (driver_errors.ServiceUnavailable, driver_errors.SessionExpired, OSError) as error:
        advice = "check its address, or start Lodestar's own with `lodestar db start`"
        if connection.is_encrypted:
            advice = (
                "if one runs there, it speaks no TLS, or has a certificate that this machine does not trust: name its "
                "issuer's in SSL_CERT_FILE, or give an address with +ssc, which trusts any"
            )
        raise DatabaseUnavailableError(f"no Neo4j answers at {where}: {advice}") from error
    except driver_errors.Neo4jError as error:
        for part, (kind, said) in _REFUSALS.items():
            if part in (error.code or ""):
                names = {"where": where, "user": connection.user, "database": connection.database}
                raise kind(said.format(**names, timeout_s=connection.timeout_s)) from error
        raise DatabaseError(f"Neo4j: {error.message or error}") from error
    except driver_errors.DriverError as error:
        reason = "Neo4j's driver refuses the part after the ? of this address" if "?" in connection.uri else str(error)
        raise DatabaseUnavailableError(f"{where}: {reason}") from error


def check_server_version(connection: Connection, agent: str) -> str:
    """Return the server's version. Raises `DatabaseError` if it is older than Lodestar needs."""
    version = agent.partition("/")[2]
    if not agent.startswith("Neo4j/") or tuple(map(int, re.findall(r"\d+", version)[:2])) < MIN_VERSION:
        raise DatabaseError(
            f"{connection.where} is {agent or 'an unknown server'}: "
            f"expected Neo4j {'.'.join(map(str, MIN_VERSION))} or newer"
        )
    return version


def make_connection_from_driver(driver: neo4j.Driver, settings: Settings) -> Connection:
    """Return the connection of somebody's own driver, with the database and the timeout of the settings."""
    scheme = "neo4j" if isinstance(driver, neo4j.Neo4jDriver) else "bolt"
    connection = Connection(f"{scheme}://", database=settings.database, timeout_s=settings.query_timeout_s)
    with translate_errors(connection):
        host, port = driver.get_server_info().address[:2]
    return replace(connection, uri=f"{scheme}://{host}:{port}")


def _metadata(name: str, **more: str) -> dict[str, str]:
    return {"app": "lodestar", "query": name, **more}


def _run(runner: neo4j.Session | neo4j.Transaction | neo4j.ManagedTransaction, request: Request[Any]) -> list[Row]:
    result = runner.run(request.template.render(request.names), dict(request.params))
    return [tuple(record.values()) for record in result]


def _lock_request(name: str, **params: str) -> Request[list[Any]]:
    return Request(load_query(name), params, lambda rows: [row[0] for row in rows])


class OpenTransaction:
    """An open transaction that holds the load lock. All methods are thread-safe."""

    def __init__(self, transaction: neo4j.Transaction | neo4j.ManagedTransaction) -> None:
        self._transaction = transaction
        self._in_use = threading.Lock()

    def run(self, request: Request[T]) -> T:
        with self._in_use:
            rows = _run(self._transaction, request)
        return request.decode(rows)

    def check(self) -> None:
        """Raise `DatabaseError` if the transaction is gone: another load may have begun since then."""
        try:
            self.run(_lock_request("hold_load_lock"))
        except _LOST as error:
            raise DatabaseError(
                "this load lost its connection and with it its lock: run the same load again"
            ) from error

    def release(self) -> None:
        """Roll back and free the lock; if the transaction is gone, the database has done both."""
        assert isinstance(self._transaction, neo4j.Transaction)  # another is the driver's to end
        with self._in_use, suppress(*_LOST):
            self._transaction.close()

    def keep_alive(self) -> None:
        """Query from time to time until the lock is released or lost, because an idle connection may be cut."""
        with suppress(DatabaseError):
            while True:
                time.sleep(KEEP_ALIVE_S)
                self.check()


class Gateway:
    """Send requests and wait for the answers. Use it as a context manager, or call `close`."""

    def __init__(self, connection: Connection, driver: neo4j.Driver | None = None) -> None:
        self.connection = connection
        self._is_own_driver = driver is None
        with translate_errors(connection):
            self._driver = driver or GraphDatabase.driver(connection.uri, **connection.driver_options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._is_own_driver:  # closing waits for a query that the database leaves without an answer
            wait([start_in_thread(self._driver.close, "lodestar-close")], GRACE_S)

    def version(self) -> str:
        """Return the server's version after checking address, password and version."""
        info = self._wait(start_in_thread(self._driver.get_server_info, "lodestar-query"))
        return check_server_version(self.connection, info.agent)

    def run(self, request: Request[T]) -> T:
        """Run a request in a thread, which Ctrl-C need not wait for, and return its decoded answer."""
        return request.decode(self._wait(self._start(request)))

    def run_all(self, requests: Sequence[Request[Any]]) -> list[Any]:
        """Run requests at the same time, at most `MAX_CONCURRENT`, and return their decoded answers, in order."""
        answers: list[Any] = []
        for first in range(0, len(requests), MAX_CONCURRENT):
            some = requests[first : first + MAX_CONCURRENT]
            started = [self._start(request) for request in some]
            answers += [request.decode(self._wait(each)) for request, each in zip(some, started, strict=True)]
        return answers

    def execute(self, request: Request[T]) -> T:
        """Run one request that manages its own transactions (``CALL … IN TRANSACTIONS``) or changes the schema."""
        with translate_errors(self.connection), self._session() as session:
            return request.decode(_run(session, request))

    def stream(self, request: Request[T], fetch_size: int = FETCH_SIZE) -> Generator[T, None, None]:
        """Yield the rows of a read request, each decoded by itself, in one transaction without a timeout.

        About `fetch_size` rows are in memory at a time. Closing the iterator leaves the rest unread.
        """
        options = {"default_access_mode": neo4j.READ_ACCESS, "fetch_size": fetch_size}
        with translate_errors(self.connection), self._session(**options) as session:
            query = Query(request.template.render(request.names), _metadata(request.template.name), timeout=0)
            for record in session.run(query, dict(request.params)):
                yield request.decode([tuple(record.values())])

    @contextmanager
    def hold_load_lock(self) -> Iterator[OpenTransaction]:
        """Take the load lock and keep its transaction open while the block runs; then roll it back.

        The database also rolls it back when this process dies. There is no timeout once the lock is held. Raises
        `LoadInProgressError` if another transaction keeps the lock for `HOLD_WAIT_S`.
        """
        token = uuid.uuid4().hex
        with self._session() as session:
            with translate_errors(self.connection):
                metadata = _metadata("hold_load_lock", token=token)
                lock = OpenTransaction(session.begin_transaction(metadata=metadata, timeout=0))
                self._take_load_lock(lock, token)
            start_in_thread(lock.keep_alive, "lodestar-lock")
            try:
                yield lock
            finally:
                lock.release()

    def write(self, work: Callable[[OpenTransaction], T]) -> T:
        """Call `work` with a transaction that holds the load lock: all that it writes is kept, or nothing.

        Where Neo4j asks for another try, as after a deadlock, `work` begins anew. Raises `LoadInProgressError` if a
        load or another writer keeps the lock for `HOLD_WAIT_S`.
        """
        token = uuid.uuid4().hex

        @neo4j.unit_of_work(metadata=_metadata("hold_load_lock", token=token), timeout=0)
        def write(transaction: neo4j.ManagedTransaction) -> T:
            lock = OpenTransaction(transaction)
            self._take_load_lock(lock, token)
            answer = work(lock)
            lock.run(_lock_request("release_load_lock"))
            return answer

        with translate_errors(self.connection), self._session() as session:
            return session.execute_write(write)

    def _take_load_lock(self, lock: OpenTransaction, token: str) -> None:
        """Take the lock for the transaction with this token. Needs the constraint ``load_lock``."""
        taking = start_in_thread(partial(lock.run, _lock_request("hold_load_lock")), "lodestar-lock")
        try:
            is_taken = bool(wait([taking], HOLD_WAIT_S).done)
            if not is_taken and not any(self.run(_lock_request("read_waiting", token=token))):
                is_taken = bool(wait([taking], self.connection.timeout_s).done)  # nobody has it: a slow server
        finally:
            if not taking.done():
                self.run(_lock_request("end_transactions", token=token))
                wait([taking])
        if not is_taken:
            raise LoadInProgressError("another load is running on this graph: wait for it to end")
        taking.result()

    def _start(self, request: Request[Any]) -> Future[list[Row]]:
        count_call("round_trips")
        end_s, timeout_s = deadline.get(), self.connection.timeout_s
        if end_s is not None:
            timeout_s = min(timeout_s, max(end_s - time.monotonic(), 0.01))
        return start_in_thread(partial(self._query, request, timeout_s), "lodestar-query")

    def _query(self, request: Request[Any], timeout_s: float) -> list[Row]:
        prepare = neo4j.unit_of_work(metadata=_metadata(request.template.name), timeout=timeout_s)
        work = prepare(partial(_run, request=request))
        with self._session() as session:
            return session.execute_read(work) if request.template.mode == "read" else session.execute_write(work)

    def _wait(self, future: Future[T]) -> T:
        timeout_s = self.connection.timeout_s + GRACE_S
        if not wait([future], timeout_s).done:
            raise DatabaseUnavailableError(
                f"Neo4j at {self.connection.where} did not answer within {timeout_s:g} s: check the server, or raise "
                "query_timeout_s"
            )
        with translate_errors(self.connection):
            return future.result()

    def _session(self, **options: Any) -> neo4j.Session:
        """Open a session. Its servers of a cluster wait for each other; a single one, which a bulk load may have given
        another graph, would wait for transactions of the graph that is gone."""
        is_routed = self.connection.uri.startswith("neo4j")  # the driver chooses among a cluster's servers
        bookmarks = self._driver.execute_query_bookmark_manager if is_routed else None
        return self._driver.session(database=self.connection.database, bookmark_manager=bookmarks, **options)
