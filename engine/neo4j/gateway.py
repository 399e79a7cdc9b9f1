"""Send requests to Neo4j.

Every query has read or write routing, the database's name, a timeout, and the template's name as transaction metadata.
The driver's errors are translated into Lodestar's. A transaction that is held open keeps its locks, so that only one
load at a time runs on a graph; the database frees them when the process that opened it is gone.
"""

from __future__ import annotations

import logging
import ssl
import threading
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from threading import Thread
from typing import Any, LiteralString, Self, TypeVar, cast

import neo4j
from neo4j import GraphDatabase, Query, RoutingControl
from neo4j import exceptions as driver_errors

from ..errors import (
    AuthenticationError,
    DatabaseError,
    DatabaseUnavailableError,
    LoadInProgressError,
    QueryTimeoutError,
    UnsupportedVersionError,
)
from ..settings import Settings
from ..steps import Steps, check_database_requests, run_steps
from .catalogue import read_graph_revision
from .connection import GRACE_S, Connection
from .templates import Request, Row, template

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


T = TypeVar("T")

MIN_VERSION = (5, 26)
MAX_CONCURRENT = 16
FETCH_SIZE = 1_000
HOLD_WAIT_S = 10.0
WRITE_TRIES = 5

# Lodestar reports what matters itself; the driver's warnings would break the progress bars.
logging.getLogger("neo4j").setLevel(logging.ERROR)


@contextmanager
def translate_errors(connection: Connection) -> Iterator[None]:
    """Raise the driver's errors as Lodestar's."""
    try:
        yield
    except driver_errors.AuthError as error:
        raise AuthenticationError(
            f"{connection.where} refused user {connection.user!r}: check LODESTAR_USER and LODESTAR_PASSWORD"
        ) from error
    except (driver_errors.ServiceUnavailable, driver_errors.SessionExpired, OSError) as error:
        if fault := find_tls_fault(error):
            raise DatabaseUnavailableError(f"{connection.where}: {fault}") from error
        raise DatabaseUnavailableError(
            f"no Neo4j answers at {connection.where}: start one with `lodestar db start` or give --uri"
        ) from error
    except driver_errors.Neo4jError as error:
        code = error.code or ""
        if "TransactionTimedOut" in code or "Terminated" in code:
            raise QueryTimeoutError(
                f"a query took more than {connection.timeout_s:g} s and was ended: "
                "raise query_timeout_s or ask for fewer hops"
            ) from error
        if "DatabaseNotFound" in code:
            raise DatabaseUnavailableError(
                f"{connection.where} has no database {connection.database!r}: check --database"
            ) from error
        if "AuthenticationRateLimit" in code:
            raise AuthenticationError(
                f"{connection.where} refused user {connection.user!r} too often and accepts no password for some "
                "seconds: wait, then check LODESTAR_USER and LODESTAR_PASSWORD"
            ) from error
        raise DatabaseError(f"Neo4j: {error.message or error}") from error
    except driver_errors.DriverError as error:
        reason = "Neo4j's driver refuses the part after the ? of this address" if "?" in connection.uri else str(error)
        raise DatabaseUnavailableError(f"{connection.where}: {reason}") from error


def find_tls_fault(error: BaseException) -> str | None:
    """Return why TLS failed, from an error of the driver and what caused it; None if TLS did not fail."""
    errors = [error]
    for each in errors:  # grows during the loop
        if isinstance(each, ssl.SSLCertVerificationError):
            reason = each.verify_message.rstrip(".")
            return (
                f"its certificate is not trusted ({reason}): name the file with its issuer's certificate in "
                "SSL_CERT_FILE, or give an address with +ssc, which trusts any"
            )
        if isinstance(each, ssl.SSLError):
            return (
                "it speaks no TLS that this machine accepts: give an address without +s, or turn TLS on in the server"
            )
        inner = (each.__cause__, each.__context__, *getattr(each, "exceptions", ()))
        errors += [cause for cause in inner if cause is not None and not any(cause is known for known in errors)]
    return None


def check_version(connection: Connection, agent: str) -> str:
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


def connection_of(driver: neo4j.Driver, settings: Settings) -> Connection:
    """Return the connection of somebody's own driver, with the database and the timeout of the settings."""
    scheme = "neo4j" if isinstance(driver, neo4j.Neo4jDriver) else "bolt"
    connection = Connection(f"{scheme}://", database=settings.database, timeout_s=settings.query_timeout_s)
    with translate_errors(connection):
        host, port = driver.get_server_info().address[:2]
    return replace(connection, uri=f"{scheme}://{host}:{port}")


def _start_call(call: Callable[[], T]) -> Future[T]:
    """Run a call in a daemon thread, which does not keep the process alive, and return its future."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - the waiting thread raises it again
            future.set_exception(error)

    Thread(target=run, name="lodestar-query", daemon=True).start()
    return future


def _rows(result: neo4j.Result) -> list[Row]:
    return [tuple(record.values()) for record in result]


class Gateway:
    """Send requests and wait for the answers. Use it as a context manager, or call `close`."""

    def __init__(self, connection: Connection, driver: neo4j.Driver | None = None) -> None:
        self.connection = connection
        self.round_trips = 0
        self._is_own_driver = driver is None
        with translate_errors(connection):
            self._driver = driver or GraphDatabase.driver(connection.uri, **connection.driver_options)
        self._pool = ThreadPoolExecutor(MAX_CONCURRENT, thread_name_prefix="lodestar-query")
        self._is_stalled = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        if self._is_stalled:  # closing would wait for the stalled query
            self._pool.shutdown(wait=False, cancel_futures=True)
            _start_call(self._close_driver)
        else:
            self._pool.shutdown(cancel_futures=True)
            self._close_driver()

    def _close_driver(self) -> None:
        if self._is_own_driver:
            self._driver.close()

    def version(self) -> str:
        """Return the server's version after checking address, password and version."""

        def server_info() -> neo4j.ServerInfo:
            info = self._driver.get_server_info()
            self._driver.verify_authentication() if self.connection.password else None
            return info

        with translate_errors(self.connection):
            version = check_version(self.connection, self._call(server_info)().agent)
            if self.connection.is_routed:
                self._call(self._see_last_writes)()
        return version

    def _see_last_writes(self) -> None:
        """Get the bookmark of the server that takes writes: whichever server is read from then on waits until it has
        what others wrote, such as a load that has just ended. If no server takes writes, reads go on without."""
        with suppress(driver_errors.ServiceUnavailable, driver_errors.SessionExpired):
            self._query(read_graph_revision(), RoutingControl.WRITE)

    def run_steps(self, steps: Steps[T]) -> T:
        """Run steps that only use the database, and return their result."""
        return run_steps(steps, lambda group: self.run_all(check_database_requests(group)))

    def run(self, request: Request[T]) -> T:
        """Run one request and return its decoded answer."""
        (answer,) = self.run_all([request])
        return cast(T, answer)

    def run_all(self, requests: Sequence[Request[Any]]) -> list[Any]:
        """Run requests at the same time, at most `MAX_CONCURRENT`, and return their decoded answers, in order."""
        answers: list[Any] = []
        for start in range(0, len(requests), MAX_CONCURRENT):
            batch = requests[start : start + MAX_CONCURRENT]
            self.round_trips += len(batch)
            calls = [self._call(partial(self._query, request)) for request in batch]
            with translate_errors(self.connection):
                found = [call() for call in calls]
            answers += [request.decode(rows) for request, rows in zip(batch, found, strict=True)]
        return answers

    def submit(self, request: Request[T]) -> Callable[[], T]:
        """Start a request, and return what waits for its decoded answer."""
        self.round_trips += 1
        waiting = self._call(partial(self._query, request))

        def wait() -> T:
            with translate_errors(self.connection):
                rows = waiting()
            return request.decode(rows)

        return wait

    def _query(self, request: Request[Any], routing: RoutingControl | None = None) -> list[Row]:
        return self._driver.execute_query(
            self.connection.query(request),
            parameters_=dict(request.params),
            database_=self.connection.database,
            routing_=routing or self.connection.routing(request),
            result_transformer_=_rows,
        )

    def _call(self, call: Callable[[], T]) -> Callable[[], T]:
        """Start a call in a thread, and return what waits for its result, which by itself could take forever."""
        future = _start_call(call)

        def wait() -> T:
            try:
                return future.result(self.connection.timeout_s + GRACE_S)
            except FutureTimeoutError:
                self._is_stalled = True
                raise self.connection.make_stalled_error() from None

        return wait

    def execute(self, request: Request[T]) -> T:
        """Run one request that manages its own transactions (``CALL … IN TRANSACTIONS``) or changes the schema."""
        self.round_trips += 1
        with translate_errors(self.connection), self._session() as session:
            text = request.template.render(request.names)
            rows = _rows(session.run(Query(text), dict(request.params)))
        return request.decode(rows)

    def plan(self, request: Request[Any]) -> None:
        """Have the database plan a read request, which is not run; raise `DatabaseError` for what it refuses."""
        self.round_trips += 1
        with (
            translate_errors(self.connection),
            self._session(default_access_mode=neo4j.READ_ACCESS) as session,
        ):
            text: Any = f"EXPLAIN {request.template.render(request.names)}"
            summary = session.run(Query(text), dict(request.params)).consume()
        if summary.query_type != "r":
            raise DatabaseError(f"Neo4j: expected a query that reads, found one of type {summary.query_type!r}")

    def stream(self, request: Request[T], fetch_size: int = FETCH_SIZE) -> Generator[T, None, None]:
        """Yield the rows of a read request, each decoded by itself, in one transaction without a timeout.

        About `fetch_size` rows are in memory at a time. Closing the iterator leaves the rest unread.
        """
        self.round_trips += 1
        with (
            translate_errors(self.connection),
            self._session(default_access_mode=neo4j.READ_ACCESS, fetch_size=fetch_size) as session,
        ):
            query = self.connection.query(request, timeout_s=0)
            for record in session.run(query, dict(request.params)):
                yield request.decode([tuple(record.values())])

    @contextmanager
    def hold_transaction(self, request: Request[Any], wait_s: float = HOLD_WAIT_S) -> Iterator[OpenTransaction]:
        """Run a write request and keep its transaction with its locks open while the block runs; then roll it back.

        The database also rolls it back when this process dies. There is no timeout once the locks are held. Raises
        `LoadInProgressError` if another transaction keeps one of the locks for `wait_s`.
        """
        self.round_trips += 1
        with self._session() as session:
            with translate_errors(self.connection):
                metadata = self.connection.metadata(request)
                end = self._end_transactions
                hold = OpenTransaction.take(session, request, metadata, wait_s=wait_s, pool=self._pool, end=end)
            hold.keep_alive(self._pool)
            try:
                yield hold
            finally:
                hold.release()

    def write(self, steps: Callable[[], Steps[T]]) -> T:
        """Run steps in one transaction that holds the load lock: all that they write is kept, or nothing.

        Where Neo4j asks for another try, as after a deadlock, the steps begin anew. Raises `LoadInProgressError` if a
        load or another writer keeps the lock for `HOLD_WAIT_S`.
        """
        for last in (*[False] * (WRITE_TRIES - 1), True):
            with translate_errors(self.connection):
                try:
                    with self.hold_transaction(hold_load_lock()) as hold:
                        answer = run_steps(
                            steps(), lambda group: [hold.run(request) for request in check_database_requests(group)]
                        )
                        hold.commit()
                        return answer
                except driver_errors.TransientError:
                    if last:
                        raise
        raise AssertionError("the last try returns or raises")

    def _session(self, **options: Any) -> neo4j.Session:
        """Return a session that sees everything written through this gateway, on any server of a cluster."""
        manager = self._driver.execute_query_bookmark_manager
        return self._driver.session(database=self.connection.database, bookmark_manager=manager, **options)

    def _end_transactions(self, token: str) -> int:
        return self.run(end_transactions(token))
