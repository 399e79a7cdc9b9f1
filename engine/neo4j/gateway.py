"""The two gateways to Neo4j, one blocking and one for asyncio; both drive the same steps.

Every query of a stage runs with read or write routing, the database's name, a timeout, and the template's name as
transaction metadata. The driver's errors leave as Lodestar's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from functools import partial
from threading import Thread
from typing import Any, Self, TypeVar, cast

import neo4j
from neo4j import AsyncGraphDatabase, GraphDatabase, Query
from neo4j import exceptions as driver_errors

from ..errors import (
    AuthenticationError,
    DatabaseError,
    DatabaseUnavailableError,
    QueryTimeoutError,
    UnsupportedVersionError,
)
from ..steps import Steps, drive, drive_async, requests_in
from .connection import (
    GRACE_S,
    Connection,
)
from .load_lock import Hold, end_transactions
from .requests import Request, Row

T = TypeVar("T")

MIN_VERSION = (5, 26)
MAX_CONCURRENT = 16
FETCH_SIZE = 1_000
HOLD_WAIT_S = 10.0

# Lodestar reports what matters itself; the driver's warnings about notifications would fall between progress bars.
logging.getLogger("neo4j").setLevel(logging.ERROR)


@contextmanager
def translate_errors(connection: Connection) -> Iterator[None]:
    """Turn the driver's errors into Lodestar's."""
    try:
        yield
    except driver_errors.AuthError as error:
        raise AuthenticationError(
            f"{connection.where} refused user {connection.user!r}: check --user and LODESTAR_PASSWORD"
        ) from error
    except (driver_errors.ServiceUnavailable, driver_errors.SessionExpired, OSError) as error:
        raise DatabaseUnavailableError(
            f"no Neo4j answers at {connection.where}: start one with `lodestar db start` or give --uri"
        ) from error
    except driver_errors.Neo4jError as error:
        code = error.code or ""
        if "TransactionTimedOut" in code or "Terminated" in code:
            raise QueryTimeoutError(
                f"a query ran past {connection.timeout_s:g} s and was ended: "
                "raise query_timeout_s or ask for fewer hops"
            ) from error
        if "DatabaseNotFound" in code:
            raise DatabaseUnavailableError(
                f"{connection.where} has no database {connection.database!r}: check --database"
            ) from error
        if "AuthenticationRateLimit" in code:
            raise AuthenticationError(
                f"{connection.where} refused user {connection.user!r} too often and takes no password for some "
                "seconds: wait, then check --user and LODESTAR_PASSWORD"
            ) from error
        raise DatabaseError(f"Neo4j: {error.message or error}") from error
    except driver_errors.DriverError as error:
        said = "Neo4j's driver refuses what follows the ? in this address" if "?" in connection.uri else str(error)
        raise DatabaseUnavailableError(f"{connection.where}: {said}") from error


def check_version(connection: Connection, agent: str) -> str:
    """Return the server's version; raise `UnsupportedVersionError` when it is older than Lodestar needs."""
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


def _start_call(call: Callable[[], T]) -> Future[T]:
    """Return what a call in a thread comes to; one that never ends does not keep the process from ending."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            future.set_exception(error)

    Thread(target=run, name="lodestar-query", daemon=True).start()
    return future


def _rows(result: neo4j.Result) -> list[Row]:
    return [tuple(record.values()) for record in result]


async def _async_rows(result: neo4j.AsyncResult) -> list[Row]:
    return [tuple(record.values()) async for record in result]


class Gateway:
    """A blocking gateway. Use it as a context manager, or call `close`."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.round_trips = 0
        with translate_errors(connection):
            self._driver = GraphDatabase.driver(connection.uri, **connection.driver_options)
        self._pool = ThreadPoolExecutor(MAX_CONCURRENT, thread_name_prefix="lodestar-query")
        self._is_stalled = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the connections back."""
        if self._is_stalled:  # closing would wait for it
            self._pool.shutdown(wait=False, cancel_futures=True)
            _start_call(self._driver.close)
        else:
            self._pool.shutdown(cancel_futures=True)
            self._driver.close()

    def version(self) -> str:
        """Return the server's version, having checked address, password and version."""

        def asked() -> neo4j.ServerInfo:
            info = self._driver.get_server_info()
            self._driver.verify_authentication() if self.connection.password else None
            return info

        with translate_errors(self.connection):
            info = self._waited_for(_start_call(asked))
        return check_version(self.connection, info.agent)

    def run(self, steps: Steps[T]) -> T:
        """Drive steps that ask the database alone to their end and return what they return."""
        return drive(steps, lambda group: self.send(requests_in(group)))

    def send(self, requests: Sequence[Request[Any]]) -> list[Any]:
        """Run requests at the same time and return their decoded answers, in order."""
        answers: list[Any] = []
        for start in range(0, len(requests), MAX_CONCURRENT):
            some = requests[start : start + MAX_CONCURRENT]
            self.round_trips += len(some)
            under_way = [_start_call(partial(self._rows_of, request)) for request in some]
            with translate_errors(self.connection):
                found = [self._waited_for(future) for future in under_way]
            answers += [request.decode(rows) for request, rows in zip(some, found, strict=True)]
        return answers

    def fetch(self, request: Request[T]) -> T:
        """Run one request."""
        (answer,) = self.send([request])
        return cast(T, answer)

    def _rows_of(self, request: Request[Any]) -> list[Row]:
        return self._driver.execute_query(
            self.connection.query(request),
            parameters_=dict(request.params),
            database_=self.connection.database,
            routing_=self.connection.routing(request),
            result_transformer_=_rows,
        )

    def _waited_for(self, future: Future[T]) -> T:
        """Return what the driver, which waits for ever, gives in time."""
        try:
            return future.result(self.connection.timeout_s + GRACE_S)
        except FutureTimeoutError:
            self._is_stalled = True
            raise self.connection.stalled() from None

    def execute(self, request: Request[T]) -> T:
        """Run one request that manages its own transactions (``CALL … IN TRANSACTIONS``) or changes the schema."""
        self.round_trips += 1
        with translate_errors(self.connection), self._session() as session:
            text = request.template.render(request.names)
            rows = _rows(session.run(Query(text), dict(request.params)))
        return request.decode(rows)

    def stream(self, request: Request[T], fetch_size: int = FETCH_SIZE) -> Generator[T, None, None]:
        """Yield the rows of a read request, each decoded by itself, in one transaction without a timeout.

        At most some `fetch_size` rows are in memory. The rest is left unread when the iterator is closed.
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
    def holding(self, request: Request[Any], wait_s: float = HOLD_WAIT_S) -> Iterator[Hold]:
        """Run a write request and keep its transaction open, with its locks, while the block runs; then undo it.

        The database does so too when this process dies. There is no timeout once it has the locks. Raises
        `LoadInProgressError` when another transaction keeps one of them for `wait_s`.
        """
        self.round_trips += 1
        with self._session() as session:
            with translate_errors(self.connection):
                metadata = self.connection.metadata(request)
                end = self._end_transactions
                hold = Hold.taken(session, request, metadata, wait_s=wait_s, pool=self._pool, end=end)
            hold.keep_alive(self._pool)
            try:
                yield hold
            finally:
                hold.release()

    def _session(self, **options: Any) -> neo4j.Session:
        """Return a session that sees all that was written through this gateway, on whichever server of a cluster."""
        manager = self._driver.execute_query_bookmark_manager
        return self._driver.session(database=self.connection.database, bookmark_manager=manager, **options)

    def _end_transactions(self, token: str) -> int:
        return self.fetch(end_transactions(token))


class AsyncGateway:
    """The same for asyncio: waits without blocking, and computes between requests in a thread."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.round_trips = 0
        with translate_errors(connection):
            self._driver = AsyncGraphDatabase.driver(connection.uri, **connection.driver_options)
        self._limit = asyncio.Semaphore(MAX_CONCURRENT)

    async def close(self) -> None:
        """Give the connections back."""
        await self._driver.close()

    async def run(self, steps: Steps[T]) -> T:
        """Drive steps that ask the database alone to their end and return what they return."""
        return await drive_async(steps, lambda group: self.send(requests_in(group)))

    async def send(self, requests: Sequence[Request[Any]]) -> list[Any]:
        """Run requests at the same time and return their decoded answers, in order."""
        return await asyncio.gather(*map(self.fetch, requests))

    async def fetch(self, request: Request[T]) -> T:
        """Run one request."""
        self.round_trips += 1
        async with self._limit:
            with translate_errors(self.connection):
                try:
                    async with asyncio.timeout(self.connection.timeout_s + GRACE_S):
                        rows = await self._driver.execute_query(
                            self.connection.query(request),
                            parameters_=dict(request.params),
                            database_=self.connection.database,
                            routing_=self.connection.routing(request),
                            result_transformer_=_async_rows,
                        )
                except TimeoutError:
                    raise self.connection.stalled() from None
        return request.decode(rows)
