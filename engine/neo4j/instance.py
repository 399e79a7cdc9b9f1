"""Manage a named embedded Neo4j, with the second server of its bulk loads, and connect to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from ..errors import LoadInProgressError
from ..settings import Settings, check_address
from . import graph_files
from .connection import Connection
from .embedded import LIMITS, EmbeddedServer, Status

if TYPE_CHECKING:
    from .bulk_import import ImportServer


class ServerPair(EmbeddedServer):
    """A server that answers questions, with the second server in which a bulk load builds a graph."""

    @classmethod
    def of(cls, settings: Settings) -> ServerPair:
        """Return the instance that the settings name."""
        return cls(settings.name, settings.home_dir, settings.cache_dir)

    def reset(self) -> None:
        """Stop the server and delete its data, its password and the remains of bulk loads; the jars stay.

        Waits for the end of a running bulk load.
        """
        incoming = self.incoming()
        if self.home.folder.exists() or incoming.home.folder.exists():
            with self._lock("load", f"another lodestar is loading into {self.name!r}"):
                self._delete()
                incoming.reset()

    def incoming(self) -> ImportServer:
        """Return the server in which a bulk load builds the new graph."""
        from .bulk_import import ImportServer  # what connects to a server loads nothing

        return ImportServer(self)

    @contextmanager
    def loading(self) -> Iterator[ImportServer]:
        """Yield a fresh incoming server; at the end stop it, and delete its graph unless it was adopted.

        Raises `LoadInProgressError` if another bulk load is running, `EmbeddedServerError` if the new graph could not
        be adopted later.
        """
        incoming = self.incoming()
        refusal = LoadInProgressError(
            f"another lodestar is loading into {self.name!r}: wait for its end, then load again"
        )
        with self._lock("load", "", refusal=refusal):
            incoming.reset()
            incoming.home.create()
            graph_files.require_same_disk(self.home, incoming.home)
            try:
                yield incoming
            finally:
                incoming.discard()

    def adopt(
        self, incoming: ImportServer, *, progress: bool = True, before_stop: Callable[[], None] = lambda: None
    ) -> Status:
        """Replace the graph by that of `incoming`, which is deleted; users and password stay.

        A running server is stopped and then started again with the same options. After any interruption, even a kill,
        the graph is either the complete old or the complete new one; an `EmbeddedServerError` says when it is the old
        one.
        """
        from .bulk_import import keep_logs

        with self._lock_server(), incoming._lock_server():
            incoming._stop()
            incoming._settle()
            graph_files.require_whole(incoming.home)
            graph_files.require_same_disk(self.home, incoming.home)
            self.home.create()
            status = self.status()
            try:
                before_stop()
                self._stop()
                self._settle()
                graph_files.begin_graph_swap(self.home, incoming.home)
                graph_files.finish_graph_swap(self.home)
            finally:
                if status.phase != "stopped":
                    self._start(self.status(), dict.fromkeys(LIMITS), progress=progress)
            graph_files.delete_leftovers(self.home)
            keep_logs(incoming.home, self.home)
            incoming.home.delete()
            return self.status()


LOAD_TIMEOUT_S = 3_600.0


def make_connection(settings: Settings) -> Connection:
    """Return the connection of the settings.

    Raises `DatabaseUnavailableError` if it is to the embedded server and that is not running.
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
    return ServerPair.of(settings).connection(settings.query_timeout_s)


def loading_connection(settings: Settings) -> Connection:
    """Return the connection for a load, with a longer timeout because its queries are large."""
    return replace(make_connection(settings), timeout_s=LOAD_TIMEOUT_S)
