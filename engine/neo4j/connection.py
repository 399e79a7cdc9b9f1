"""Hold the address of a Neo4j and what is needed to speak to it. The driver is imported when it is needed."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..errors import DatabaseUnavailableError
from ..settings import Settings, check_address

if TYPE_CHECKING:
    from neo4j import Query, RoutingControl

    from .gateway import AsyncGateway, Gateway
    from .templates import Request

GRACE_S = 3.0
"""What the database has beyond a query's timeout to say that it was ended; then it is taken to be stalled."""


@dataclass(frozen=True, slots=True)
class Connection:
    """An address with what is needed to speak to it. The password is in no representation."""

    uri: str
    user: str = "neo4j"
    password: str = field(default="", repr=False)
    database: str = "neo4j"
    timeout_s: float = 30.0

    @property
    def where(self) -> str:
        """The address as it may be shown: without a routing context, which may hold anything."""
        return self.uri.partition("?")[0]

    @property
    def is_routed(self) -> bool:
        """Whether the driver chooses among the servers of a cluster (``neo4j://``)."""
        return self.uri.startswith("neo4j")

    @property
    def driver_options(self) -> dict[str, Any]:
        """Keyword arguments for either driver."""
        return {
            "auth": (self.user, self.password) if self.password else None,
            "connection_timeout": min(10.0, self.timeout_s),
            "max_transaction_retry_time": min(10.0, self.timeout_s),
            "connection_acquisition_timeout": min(30.0, self.timeout_s + GRACE_S),
            "notifications_min_severity": "OFF",
            "user_agent": "lodestar",
        }

    def query(self, request: Request[Any], timeout_s: float | None = None) -> Query:
        """Return the driver's query for a request, with the connection's timeout unless another is given."""
        from neo4j import Query

        text = request.template.render(request.names)
        return Query(text, metadata=self.metadata(request), timeout=self.timeout_s if timeout_s is None else timeout_s)

    def metadata(self, request: Request[Any]) -> dict[str, Any]:
        """Return what the database shows of a request's transaction."""
        return {"app": "lodestar", "query": request.template.name}

    def routing(self, request: Request[Any]) -> RoutingControl:
        """Return where the request may run."""
        from neo4j import RoutingControl

        return RoutingControl.READ if request.template.mode == "read" else RoutingControl.WRITE

    def make_stalled_error(self) -> DatabaseUnavailableError:
        """Return the error for a database that accepted a request and does not answer."""
        return DatabaseUnavailableError(
            f"Neo4j at {self.where} did not answer within {self.timeout_s + GRACE_S:g} s: check the server, or raise "
            "query_timeout_s"
        )


class Gateways:
    """The gateways of one connection, each opened and its server checked at the first use.

    Connections of asyncio belong to the event loop that opened them.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._opening = threading.Lock()
        self._blocking: Gateway | None = None
        self._of_loops: dict[asyncio.AbstractEventLoop, AsyncGateway] = {}
        self._opening_in: dict[asyncio.AbstractEventLoop, asyncio.Lock] = {}

    def blocking(self) -> Gateway:
        """Return the blocking gateway. Raises `DatabaseError` if the server does not answer or is too old."""
        with self._opening:
            if self._blocking is None:
                from .gateway import Gateway

                gateway = Gateway(self.connection)
                try:
                    gateway.version()
                except BaseException:
                    gateway.close()
                    raise
                self._blocking = gateway
            return self._blocking

    async def of_loop(self) -> AsyncGateway:
        """Return the gateway of the running event loop; raise as `blocking`."""
        loop = asyncio.get_running_loop()
        async with self._opening_in.setdefault(loop, asyncio.Lock()):
            if loop not in self._of_loops:
                from .gateway import AsyncGateway

                gateway = AsyncGateway(self.connection)
                try:
                    await gateway.version()
                except BaseException:
                    await gateway.close()
                    raise
                self._of_loops[loop] = gateway
            return self._of_loops[loop]

    def close(self) -> None:
        """Close the blocking gateway."""
        if self._blocking is not None:
            self._blocking.close()
            self._blocking = None

    async def aclose(self) -> None:
        """Close the gateway of the running event loop, and the blocking one."""
        loop = asyncio.get_running_loop()
        self._opening_in.pop(loop, None)
        gateway = self._of_loops.pop(loop, None)
        if gateway is not None:
            await gateway.close()
        self.close()


LOAD_TIMEOUT_S = 3_600.0


def make_connection(settings: Settings) -> Connection:
    """Return the connection of the settings.

    Raises `DatabaseUnavailableError` if it is to the embedded server and that is not running.
    """
    if settings.uri:
        check_address(settings.uri)
        return Connection(
            settings.uri, settings.user, settings.password, settings.database, timeout_s=settings.query_timeout_s
        )
    from .embedded import EmbeddedServer

    return EmbeddedServer.of(settings).connection(settings.query_timeout_s)


def loading_connection(settings: Settings) -> Connection:
    """Return the connection for a load, with a longer timeout because its queries are large."""
    return replace(make_connection(settings), timeout_s=LOAD_TIMEOUT_S)
