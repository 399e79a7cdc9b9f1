"""Hold the address of a Neo4j and what is needed to speak to it. The driver is imported when it is needed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ..settings import Settings, check_address

GRACE_S = 3.0
"""What the database has beyond a query's timeout to say that it was ended; then it is taken to be stalled."""
LOAD_TIMEOUT_S = 3_600.0


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
        """Keyword arguments for the driver."""
        return {
            "auth": (self.user, self.password) if self.password else None,
            "connection_timeout": min(10.0, self.timeout_s),
            "max_transaction_retry_time": min(10.0, self.timeout_s),
            "connection_acquisition_timeout": min(30.0, self.timeout_s + GRACE_S),
            "notifications_min_severity": "OFF",
            "user_agent": "lodestar",
        }


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
