"""From settings to a connection: an address given, or the embedded server's."""

from __future__ import annotations

from dataclasses import replace

from ..database.connection import Connection
from ..settings import Settings, check_address

LOAD_TIMEOUT_S = 3_600.0


def connection_of(settings: Settings) -> Connection:
    """Return the connection that the settings mean.

    Raises `DatabaseUnavailableError` when they mean the embedded server and it is not running.
    """
    if settings.uri:
        check_address(settings.uri)
        return Connection(
            uri=settings.uri,
            user=settings.user,
            password=settings.password,
            database=settings.database,
            timeout_s=settings.query_timeout_s,
        )
    from .instance import Instance

    return Instance.of(settings).connection(settings.query_timeout_s)


def loading_connection(settings: Settings) -> Connection:
    """Return the connection for a load: its queries are large, and none is given up as a question's would be."""
    return replace(connection_of(settings), timeout_s=LOAD_TIMEOUT_S)
