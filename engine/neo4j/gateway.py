"""Send requests to Neo4j.

Every query has read or write routing, the database's name, a timeout, and the template's name as transaction metadata.
The driver's errors are translated into Lodestar's. A transaction that is held open keeps its locks, so that only one
load at a time runs on a graph; the database frees them when the process that opened it is gone.
"""

from __future__ import annotations

import logging
import ssl
import threading
import time
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

import neo4j
from neo4j import GraphDatabase, Query
from neo4j import exceptions as driver_errors

from ..errors import (
    AuthenticationError,
    DatabaseError,
    DatabaseUnavailableError,
    LoadInProgressError,
    QueryTimeoutError,
    UnsupportedVersionError,
)
from ..parallel import start_in_thread
from ..settings import GRACE_S, Connection, Settings
from . import Request, Row, load_query
from .catalogue import read_graph_edition

if TYPE_CHECKING:
    from ..context import CallTrace

T = TypeVar("T")

MIN_VERSION = (5, 26)
MAX_CONCURRENT = 16
FETCH_SIZE = 1_000
HOLD_WAIT_S = 10.0
WRITE_TRIES = 5
deadline: ContextVar[float | None] = ContextVar("deadline", default=None)
"""When nobody waits any more for what `Gateway.run_all` asks, by `time.monotonic`: the database ends its queries."""
KEEP_ALIVE_S = 20.0
"""Shorter than the idle time after which a network component may cut a connection."""

_NO_SERVER = (driver_errors.ServiceUnavailable, driver_errors.SessionExpired)
_LOST = (driver_errors.Neo4jError, driver_errors.DriverError, OSError)
_SLOW = "a query took more than {timeout_s:g} s and was ended: raise query_timeout_s or ask for fewer hops"
_REFUSALS: dict[str, tuple[type[DatabaseError], str]] = {
    "TransactionTimedOut": (QueryTimeoutError, _SLOW),
    "Terminated": (QueryTimeoutError, _SLOW),
    "DatabaseNotFound": (DatabaseUnavailableError, "{where} has no database {database!r}: check LODESTAR_DATABASE"),
    "AuthenticationRateLimit": (
        AuthenticationError,
        "{where} refused user {user!r} too often and accepts no password for some seconds: wait, then check "
        "LODESTAR_USER and LODESTAR_PASSWORD",
    ),
    "MemoryPoolOutOfMemory": (
        DatabaseError,
        "a query needs more memory than Neo4j allows a transaction: raise dbms.memory.transaction.total.max, or ask "
        "for fewer hops",
    ),
}
"""What is said of an error whose code has this part."""

# Lodestar reports what matters itself; the driver's warnings would break the progress bars.
logging.getLogger("neo4j").setLevel(logging.ERROR)


@contextmanager
def translate_errors(connection: Connection) -> Iterator[None]:
    """Raise the driver's errors as Lodestar's."""
    where = connection.where
    try:
        yield
    except driver_errors.AuthError as error:
        raise AuthenticationError(
            f"{where} refused user {connection.user!r}: check LODESTAR_USER and LODESTAR_PASSWORD"
        ) from error
    except (*_NO_SERVER, OSError) as error:
        fault = _find_tls_fault(error)
        raise DatabaseUnavailableError(
            f"{where}: {fault}"
            if fault
            else f"no Neo4j answers at {where}: start one with `lodestar db start` or give --uri"
        ) from error
    except driver_errors.Neo4jError as error:
        for part, (kind, said) in _REFUSALS.items():
            if part in (error.code or ""):
                names = {"where": where, "user": connection.user, "database": connection.database}
                raise kind(said.format(**names, timeout_s=connection.timeout_s)) from error
        if "Could not append transaction" in (error.message or ""):
            raise DatabaseError(
                f"Neo4j at {where} cannot write: make room on its disk, then stop and start it: what was not confirmed "
                "is not in the graph"
            ) from error
        raise DatabaseError(f"Neo4j: {error.message or error}") from error
    except driver_errors.DriverError as error:
        reason = "Neo4j's driver refuses the part after the ? of this address" if "?" in connection.uri else str(error)
        raise DatabaseUnavailableError(f"{where}: {reason}") from error


def _find_tls_fault(error: BaseException) -> str:
    """Return why TLS failed, from an error of the driver and what caused it; "" if TLS did not fail."""
    errors = [error]
    for each in errors:  # it grows meanwhile
        inner = (each.__cause__, each.__context__, *getattr(each, "exceptions", ()))
        errors += [cause for cause in inner if cause is not None and cause not in errors]
    for each in errors:
        if isinstance(each, ssl.SSLCertVerificationError):
            return (
                f"its certificate is not trusted ({each.verify_message.rstrip('.')}): name the file with its issuer's "
                "certificate in SSL_CERT_FILE, or give an address with +ssc, which trusts any"
            )
    said = "it speaks no TLS that this machine accepts: give an address without +s, or turn TLS on in the server"
    return said if any(isinstance(each, ssl.SSLError) for each in errors) else ""


def check_server_version(connection: Connection, agent: str) -> str:
    """Return the server's version. Raises `UnsupportedVersionError` if it is older than Lodestar needs."""
    version = agent.partition("/")[2]
    try:
        numbers = tuple(int(part) for part in version.split("-")[0].split(".")[:2])
    except ValueError:
        numbers = ()
    if not agent.startswith("Neo4j/") or numbers < MIN_VERSION:
        raise UnsupportedVersionError(
            f"{connection.where} is {agent or 'an unknown server'}: "
            f"expected Neo4j {'.'.join(map(str, MIN_VERSION))} or newer"
        )
    return version


def make_driver_connection(driver: neo4j.Driver, settings: Settings) -> Connection:
    """Return the connection of somebody's own driver, with the database and the timeout of the settings."""
    scheme = "neo4j" if isinstance(driver, neo4j.Neo4jDriver) else "bolt"
    connection = Connection(f"{scheme}://", database=settings.database, timeout_s=settings.query_timeout_s)
    with translate_errors(connection):
        host, port = driver.get_server_info().address[:2]
    return replace(connection, uri=f"{scheme}://{host}:{port}")


def _metadata(request: Request[Any]) -> dict[str, Any]:
    return {"app": "lodestar", "query": request.template.name}


def _rows(result: neo4j.Result) -> list[Row]:
    return [tuple(record.values()) for record in result]


def _first(rows: Sequence[Row]) -> list[Any]:
    return [row[0] for row in rows]


class OpenTransaction:
    """An open transaction that holds the load lock. All methods are thread-safe."""

    def __init__(self, transaction: neo4j.Transaction) -> None:
        self._transaction = transaction
        self._in_use = threading.Lock()
        self._released = threading.Event()

    def take(self) -> None:
        """Wait for the lock. Needs the constraint ``load_lock``."""
        self.run(Request(load_query("hold_load_lock"), {}, lambda _: None))

    def alive(self) -> bool:
        """Return whether the transaction, and so its lock, still exist. One round trip."""
        try:
            self.take()
        except _LOST:
            return False
        return True

    def check(self) -> None:
        """Raise `DatabaseError` if the transaction is gone: another load may have begun since then."""
        if not self.alive():
            raise DatabaseError("this load lost its connection and with it its lock: run the same load again")

    def run(self, request: Request[T]) -> T:
        with self._in_use:
            rows = _rows(self._transaction.run(request.template.render(request.names), dict(request.params)))
        return request.decode(rows)

    def commit(self) -> None:
        """Keep what the requests wrote, without the node of the lock, and free the lock."""
        self.run(Request(load_query("release_load_lock"), {}, lambda _: None))
        self._released.set()
        with self._in_use:
            self._transaction.commit()

    def release(self) -> None:
        """Roll back and free the lock; if the transaction is gone, the database has done both."""
        self._released.set()
        with self._in_use, suppress(*_LOST):
            self._transaction.close()

    def keep_alive(self) -> None:
        """Query from time to time until the lock is released or lost, because an idle connection may be cut."""
        while not self._released.wait(KEEP_ALIVE_S) and self.alive():
            pass


class Gateway:
    """Send requests and wait for the answers. Use it as a context manager, or call `close`."""

    def __init__(self, connection: Connection, driver: neo4j.Driver | None = None) -> None:
        self.connection = connection
        self._is_own_driver = driver is None
        self._is_stalled = threading.Event()
        self._trace: CallTrace | None = None
        with translate_errors(connection):
            self._driver = driver or GraphDatabase.driver(connection.uri, **connection.driver_options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._is_own_driver:
            closing = start_in_thread(self._driver.close, "lodestar-close")
            if not self._is_stalled.is_set():  # closing waits for the stalled query
                closing.result()

    def version(self) -> str:
        """Return the server's version after checking address, password and version."""

        def server_info() -> neo4j.ServerInfo:
            info = self._driver.get_server_info()
            self._driver.verify_authentication() if self.connection.password else None
            return info

        version = check_server_version(
            self.connection, self._wait(start_in_thread(server_info, "lodestar-query")).agent
        )
        if self.connection.is_routed:
            self._wait(start_in_thread(self._see_last_writes, "lodestar-query"))
        return version

    def counted(self, trace: CallTrace) -> Gateway:
        """Return this gateway for a call: its round trips count in the trace."""
        of_call = copy(self)
        of_call._trace = trace
        return of_call

    def run(self, request: Request[T]) -> T:
        """Run a request in a thread, which Ctrl-C need not wait for, and return its decoded answer."""
        if self._trace is not None:
            self._trace.count(round_trips=1)
        return request.decode(
            self._wait(start_in_thread(partial(self._query, request, self._timeout_s()), "lodestar-query"))
        )

    def run_all(self, requests: Sequence[Request[Any]]) -> list[Any]:
        """Run requests at the same time, at most `MAX_CONCURRENT`, and return their decoded answers, in order."""
        if self._trace is not None:
            self._trace.count(round_trips=len(requests))
        answers: list[Any] = []
        for first in range(0, len(requests), MAX_CONCURRENT):
            some, timeout_s = requests[first : first + MAX_CONCURRENT], self._timeout_s()
            futures = [start_in_thread(partial(self._query, each, timeout_s), "lodestar-query") for each in some]
            answers += [request.decode(self._wait(future)) for request, future in zip(some, futures, strict=True)]
        return answers

    def execute(self, request: Request[T]) -> T:
        """Run one request that manages its own transactions (``CALL … IN TRANSACTIONS``) or changes the schema."""
        with translate_errors(self.connection), self._session() as session:
            rows = _rows(session.run(Query(request.template.render(request.names)), dict(request.params)))
        return request.decode(rows)

    def execute_all(self, requests: Sequence[Request[None]]) -> None:
        with translate_errors(self.connection), self._session() as session, session.begin_transaction() as transaction:
            for request in requests:
                transaction.run(request.template.render(request.names), dict(request.params)).consume()
            transaction.commit()

    def stream(self, request: Request[T], fetch_size: int = FETCH_SIZE) -> Generator[T, None, None]:
        """Yield the rows of a read request, each decoded by itself, in one transaction without a timeout.

        About `fetch_size` rows are in memory at a time. Closing the iterator leaves the rest unread.
        """
        options = {"default_access_mode": neo4j.READ_ACCESS, "fetch_size": fetch_size}
        with translate_errors(self.connection), self._session(**options) as session:
            query = Query(request.template.render(request.names), metadata=_metadata(request), timeout=0)
            for record in session.run(query, dict(request.params)):
                yield request.decode([tuple(record.values())])

    @contextmanager
    def hold_load_lock(self, wait_s: float = HOLD_WAIT_S) -> Iterator[OpenTransaction]:
        """Take the load lock and keep its transaction open while the block runs; then roll it back.

        The database also rolls it back when this process dies. There is no timeout once the lock is held. Raises
        `LoadInProgressError` if another transaction keeps the lock for `wait_s`.
        """
        token = uuid.uuid4().hex
        metadata = {"app": "lodestar", "query": "hold_load_lock", "token": token}
        with self._session() as session:
            with translate_errors(self.connection):
                hold = OpenTransaction(session.begin_transaction(metadata=metadata, timeout=0))
                waiting = start_in_thread(hold.take, "lodestar-lock")
                try:
                    in_time = bool(wait([waiting], wait_s).done)
                    if not in_time and not any(self.run(Request(load_query("read_waiting"), {"token": token}, _first))):
                        in_time = bool(wait([waiting], self.connection.timeout_s).done)  # nobody has it: a slow server
                finally:
                    if not waiting.done():
                        self.run(Request(load_query("end_transactions"), {"token": token}, len))
                        wait([waiting])
                if not in_time:
                    raise LoadInProgressError("another load is running on this graph: wait for it to end")
                waiting.result()
            start_in_thread(hold.keep_alive, "lodestar-lock")
            try:
                yield hold
            finally:
                hold.release()

    def write(self, work: Callable[[OpenTransaction], T]) -> T:
        """Call `work` with a transaction that holds the load lock: all that it writes is kept, or nothing.

        Where Neo4j asks for another try, as after a deadlock, `work` begins anew. Raises `LoadInProgressError` if a
        load or another writer keeps the lock for `HOLD_WAIT_S`.
        """
        for tried in range(1, WRITE_TRIES + 1):
            with translate_errors(self.connection):
                try:
                    with self.hold_load_lock() as transaction:
                        answer = work(transaction)
                        transaction.commit()
                        return answer
                except driver_errors.TransientError:
                    if tried == WRITE_TRIES:
                        raise
        raise AssertionError("the last try returns or raises")

    def _timeout_s(self) -> float:
        end_s = deadline.get()
        usual_s = self.connection.timeout_s
        return usual_s if end_s is None else min(usual_s, max(end_s - time.monotonic(), 0.01))

    def _query(self, request: Request[Any], timeout_s: float, *, at_writer: bool = False) -> list[Row]:
        """Run a request by its mode, or at the server that takes writes."""

        @neo4j.unit_of_work(metadata=_metadata(request), timeout=timeout_s)
        def work(transaction: neo4j.ManagedTransaction) -> list[Row]:
            try:
                return _rows(transaction.run(request.template.render(request.names), dict(request.params)))
            except driver_errors.TransientError as error:
                if "OutOfMemory" not in (error.code or ""):
                    raise
                with translate_errors(self.connection):  # the driver would try it again
                    raise

        with self._session() as session:
            is_read = request.template.mode == "read" and not at_writer
            return session.execute_read(work) if is_read else session.execute_write(work)

    def _see_last_writes(self) -> None:
        """Get the bookmark of the server that takes writes: whichever server is read from then on waits until it has
        what others wrote, such as a load that has just ended. If no server takes writes, reads go on without."""
        with suppress(*_NO_SERVER):
            self._query(read_graph_edition(), self.connection.timeout_s, at_writer=True)

    def _wait(self, future: Future[T]) -> T:
        timeout_s = self.connection.timeout_s + GRACE_S
        if not wait([future], timeout_s).done:
            self._is_stalled.set()
            raise DatabaseUnavailableError(
                f"Neo4j at {self.connection.where} did not answer within {timeout_s:g} s: check the server, or raise "
                "query_timeout_s"
            )
        with translate_errors(self.connection):
            return future.result()

    def _session(self, **options: Any) -> neo4j.Session:
        return self._driver.session(database=self.connection.database, bookmark_manager=self._bookmarks(), **options)

    def _bookmarks(self) -> neo4j.api.BookmarkManager | None:
        """Return what makes servers of a cluster wait for each other; None for a single one, which a bulk load may have
        given another graph: it would wait for transactions of the graph that is gone."""
        return self._driver.execute_query_bookmark_manager if self.connection.is_routed else None
