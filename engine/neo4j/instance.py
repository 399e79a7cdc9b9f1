"""Name an embedded Neo4j, its status, and the connection that the settings lead to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from ..errors import LoadInProgressError
from ..settings import Settings, check_address
from . import bulk_import as offline_import
from . import graph_files
from .bulk_import import Incoming
from .connection import Connection
from .embedded import LIMITS, EmbeddedServer, Status


class Instance(EmbeddedServer):
    """A server that answers questions, and the one beside it that a bulk load builds a graph in."""

    @classmethod
    def of(cls, settings: Settings) -> Instance:
        """Return the instance that the settings name."""
        return cls(settings.name, settings.home_dir, settings.cache_dir)

    def reset(self) -> None:
        """Stop the server and delete it with its data, its password and what a bulk load left; the jars stay.

        Waits for the end of a bulk load that is under way.
        """
        incoming = self.incoming()
        if self.home.folder.exists() or incoming.home.folder.exists():
            with self._lock("load", f"another lodestar is loading into {self.name!r}"):
                self._delete()
                incoming.reset()

    def incoming(self) -> Incoming:
        """Return the server that a bulk load for this one builds a graph in."""
        return Incoming(self)

    @contextmanager
    def loading(self) -> Iterator[Incoming]:
        """Lend the incoming server, new; at the end it is stopped, and its graph deleted unless it was adopted.

        Raises `LoadInProgressError` when another bulk load is under way, `ServerError` when what it builds could not
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
        self, incoming: Incoming, *, progress: bool = True, before_stop: Callable[[], None] = lambda: None
    ) -> Status:
        """Exchange the graph for the one of `incoming`, which is deleted; users and password stay.

        A server that runs is stopped meanwhile and started again as it was. Whatever happens, a kill included, the
        graph is wholly the old or wholly the new one; `ServerError` says when it is the old one.
        """
        with self._locked(), incoming._locked():
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
                graph_files.bring(self.home, incoming.home)
                graph_files.settle(self.home)
            finally:
                if status.phase != "stopped":
                    self._start(self.status(), dict.fromkeys(LIMITS), progress=progress)
            graph_files.sweep(self.home)
            offline_import.keep_logs(incoming.home, self.home)
            incoming.home.delete()
            return self.status()


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

    return Instance.of(settings).connection(settings.query_timeout_s)


def loading_connection(settings: Settings) -> Connection:
    """Return the connection for a load: its queries are large, and none is given up as a question's would be."""
    return replace(connection_of(settings), timeout_s=LOAD_TIMEOUT_S)
