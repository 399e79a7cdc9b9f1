"""Start, stop and describe an embedded Neo4j, with the second server of its bulk loads, and connect to it."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from .. import machine
from ..errors import (
    AuthenticationError,
    DatabaseUnavailableError,
    EmbeddedServerError,
    LoadInProgressError,
    LodestarError,
    PortTakenError,
    UsageError,
)
from ..progress import Progress, ignore_progress, show_waiting
from ..settings import Settings, check_address
from ..whole_file import lock_file
from . import process
from .connection import Connection
from .home import (
    LOOPBACK,
    USER,
    ServerHome,
    ServerState,
    begin_graph_swap,
    check_instance_name,
    choose_port,
    default_heap_mb,
    default_pagecache_mb,
    delete_graph,
    delete_leftovers,
    finish_graph_swap,
    free_port,
    has_graph,
    make_unwritable_error,
    measure_store_size,
    require_same_disk,
    require_whole,
)
from .jars import NEO4J_VERSION, JarCache

if TYPE_CHECKING:
    from .bulk_import import ImportCounts, ImportFiles


Phase = Literal["stopped", "starting", "running"]


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a server. Ports and memory are those of the last start, 0 before the first."""

    name: str
    phase: Phase
    pid: int | None
    version: str
    bolt_port: int
    http_port: int
    heap_mb: int
    pagecache_mb: int
    home: Path
    log: Path
    password_file: Path

    @property
    def running(self) -> bool:
        """Whether the server's process is alive and answers."""
        return self.phase == "running"

    @property
    def bolt_uri(self) -> str:
        """The address for drivers."""
        return f"bolt://{LOOPBACK}:{self.bolt_port}"

    @property
    def browser_url(self) -> str:
        """The address of Neo4j Browser."""
        return f"http://{LOOPBACK}:{self.http_port}/browser/"


BOLT_PORT = 7687
HTTP_PORT = 7474
START_TIMEOUT_S = 180.0
_PORT_ATTEMPTS = 3
LIMITS = {
    "bolt_port": (1, 65_535),
    "http_port": (1, 65_535),
    "heap_mb": (256, 1 << 20),
    "pagecache_mb": (16, 1 << 20),
}


class EmbeddedServer:
    """The embedded server in ``<home_dir>/servers/<name>``."""

    usual_ports = (BOLT_PORT, HTTP_PORT)

    def __init__(self, name: str, home_dir: Path, cache_dir: Path) -> None:
        self.name = check_instance_name(name)
        self.servers_dir = home_dir.expanduser().resolve() / "servers"
        self.home = ServerHome(self.servers_dir / self.name)
        self.jars = JarCache(cache_dir.expanduser())
        self._child: subprocess.Popen[bytes] | None = None  # a Popen without a reference warns that its process runs

    def start(
        self,
        *,
        bolt_port: int | None = None,
        http_port: int | None = None,
        heap_mb: int | None = None,
        pagecache_mb: int | None = None,
        progress: bool = True,
    ) -> Status:
        """Start the server unless it runs, and return when Bolt and Browser answer.

        Omitted values are those given before, else defaults: free ports, and memory by the machine's and the size of
        the store. Raises `UsageError`, `PortTakenError`, `DownloadError`, or `EmbeddedServerError` with the reason from
        the server's log. If the start fails or is interrupted by Ctrl-C, the server's process is ended too.
        """
        given = {"bolt_port": bolt_port, "http_port": http_port, "heap_mb": heap_mb, "pagecache_mb": pagecache_mb}
        _check(given)
        with self._lock_server():
            status = self.status()
            if status.phase != "stopped" and status.bolt_port:
                _refuse_changes(status, given)
            return status if status.running else self._start(status, given, progress=progress)

    def stop(self) -> bool:
        """Stop the server, and return whether it was running. The data stays."""
        if not self.home.folder.exists():
            return False
        with self._lock_server():
            return self._stop()

    @property
    def has_graph(self) -> bool:
        """Whether the folder has a graph, even an empty one: False until the first start or load."""
        return has_graph(self.home)

    @property
    def store_mb(self) -> int:
        """The size of the graph's files that the page cache holds, in MB."""
        return measure_store_size(self.home) >> 20

    def status(self) -> Status:
        """Return the state of the server."""
        state = self.home.read_state()
        server = process.find_server(self.home, state) if self.home.folder.exists() else None
        phase: Phase = "stopped"
        if server:
            phase = "running" if state and process.is_listening(server, state) else "starting"
        return Status(
            name=self.name,
            phase=phase,
            pid=server.pid if server else None,
            version=state.version if state else NEO4J_VERSION,
            bolt_port=state.bolt_port if state else 0,
            http_port=state.http_port if state else 0,
            heap_mb=state.heap_mb if state else 0,
            pagecache_mb=state.pagecache_mb if state else 0,
            home=self.home.folder,
            log=self.home.console_log,
            password_file=self.home.password_file,
        )

    def connection(self, timeout_s: float = 30.0) -> Connection:
        """Return the connection to the running server. Raises `DatabaseUnavailableError` if it is not running."""
        from .connection import Connection

        status = self.status()
        if status.phase == "starting":
            raise DatabaseUnavailableError(f"the embedded Neo4j {self.name!r} is still starting: try again in a moment")
        if not status.running:
            option = "" if self.name == Settings().name else f" --name {self.name}"
            raise DatabaseUnavailableError(
                f"the embedded Neo4j {self.name!r} is not running: start it with `lodestar db start{option}`"
            )
        return Connection(status.bolt_uri, USER, self.home.password(), timeout_s=timeout_s)

    @property
    def remembered_ports(self) -> tuple[int, ...]:
        """The ports of the last start."""
        state = self.home.read_state()
        return (state.bolt_port, state.http_port) if state else ()

    def others(self) -> list[EmbeddedServer]:
        """Return the other servers under the same home, by name."""
        if not self.servers_dir.is_dir():
            return []
        names = sorted(path.parent.name for path in self.servers_dir.glob("[!.]*/server.json"))
        cache_dir = self.jars.folder.parent
        return [EmbeddedServer(name, self.servers_dir.parent, cache_dir) for name in names if name != self.name]

    def _start(self, status: Status, given: Mapping[str, int | None], *, progress: bool) -> Status:
        """Start the server, which is not running; if the start fails, end the process and restore the state."""
        last = self.home.read_state()
        try:
            if status.phase == "starting" and last:
                return self._wait_until_ready(progress=progress)  # the lodestar that started it was killed
            self._stop()  # a server whose state file was lost
            self._settle(sweep=False)
            started = self._launch_and_wait(given, progress=progress)
        except BaseException:
            self._stop()
            self.home.restore_state(last)
            raise
        delete_leftovers(self.home)
        return started

    def _settle(self, *, sweep: bool = True) -> None:
        """End processes that a killed lodestar left behind, and finish its file operations; no server runs."""
        if self.home.folder.exists():
            process.kill_leftover_commands(self.home)
            finish_graph_swap(self.home)
            if sweep:
                delete_leftovers(self.home)

    def _delete(self) -> None:
        """Stop the server and delete its folder, if there is one."""
        if self.home.folder.exists():
            with self._lock_server():
                self._stop()
                process.kill_leftover_commands(self.home)
                self.home.delete()

    def _find_avoided_ports(self) -> set[int]:
        """Return the ports of other servers, which this server does not take."""
        return {port for other in self.others() for port in other.remembered_ports}

    def _plan(self, given: Mapping[str, int | None]) -> ServerState:
        """Return the state to start with: the given values, else those of the last start, else defaults."""
        last = self.home.read_state()
        avoid = self._find_avoided_ports()
        usual_bolt_port, usual_http_port = self.usual_ports
        bolt_port = choose_port(
            given["bolt_port"],
            last.bolt_port if last else None,
            usual_bolt_port,
            "--bolt-port",
            avoid | {given["http_port"] or 0},
        )
        http_port = choose_port(
            given["http_port"], last.http_port if last else None, usual_http_port, "--http-port", avoid | {bolt_port}
        )
        total_mb = machine.memory_mb()
        heap_mb = given["heap_mb"] or (last.given_heap_mb if last else 0)
        pagecache_mb = given["pagecache_mb"] or (last.given_pagecache_mb if last else 0)
        return ServerState(
            version=NEO4J_VERSION,
            bolt_port=bolt_port,
            http_port=http_port,
            heap_mb=heap_mb or default_heap_mb(total_mb),
            pagecache_mb=pagecache_mb or default_pagecache_mb(total_mb, self.store_mb),
            given_heap_mb=heap_mb,
            given_pagecache_mb=pagecache_mb,
        )

    def _launch_and_wait(self, given: Mapping[str, int | None], *, progress: bool) -> Status:
        state = self._plan(given)
        class_path = self.jars.ensure(progress=progress)
        self.home.create()
        for _ in range(_PORT_ATTEMPTS - 1):
            try:
                self._launch(state, class_path)
                return self._wait_until_ready(progress=progress)
            except PortTakenError:
                # Another process took a port after we checked it.
                if given["bolt_port"] or given["http_port"]:
                    raise
                state = replace(state, bolt_port=free_port(), http_port=free_port())
        self._launch(state, class_path)
        return self._wait_until_ready(progress=progress)

    def _launch(self, state: ServerState, class_path: list[Path]) -> None:
        """Write the configuration and launch the server's process."""
        self.home.write_state(state)
        self.home.write_configuration(state)
        password = self.home.ensure_password()
        if not self.home.has_initial_password:
            process.run_admin(self.home, class_path, ["dbms", "set-initial-password", password])
        self._child = process.launch(self.home, state, class_path, for_us_alone=self._ends_with_parent())
        self.home.write_state(replace(state, pid=self._child.pid, started_s=process.start_time_s(self._child.pid)))

    def _wait_until_ready(self, *, progress: bool) -> Status:
        """Return the status of the launched server once it answers and accepts the password."""
        from .gateway import Gateway

        state = self.home.read_state()
        server = process.find_server(self.home, state)
        if not state or not server:
            raise EmbeddedServerError(f"Neo4j ended while it started; its log is {self.home.console_log}")
        with show_waiting(f"starting Neo4j {self.name!r}", shown=progress):
            process.wait_until_ready(server, self.home, state, START_TIMEOUT_S)
        try:
            with Gateway(self.connection()) as gateway:
                gateway.version()
        except AuthenticationError as error:
            raise EmbeddedServerError(
                f"{self.home.password_file}: expected the password of user {USER}, which was changed in the server: "
                "write the new one into this file"
            ) from error
        return self.status()

    def _stop(self) -> bool:
        server = process.find_server(self.home, self.home.read_state()) if self.home.folder.exists() else None
        if server:
            process.end_process(server)
        return server is not None

    def _ends_with_parent(self) -> bool:
        """Whether a server that is started now ends with the process that starts it."""
        return False

    def _lock_server(self) -> AbstractContextManager[None]:
        """Keep other lodestars from starting, stopping or deleting this server in the meantime."""
        return self._lock("lock", f"another lodestar is starting or stopping {self.name!r}")

    @contextmanager
    def _lock(self, kind: str, reason: str, *, refusal: LodestarError | None = None) -> Iterator[None]:
        path = self.servers_dir / f".{self.name}.{kind}"
        try:
            self.servers_dir.mkdir(parents=True, exist_ok=True)
            path.touch()
        except OSError as error:
            raise make_unwritable_error(self.servers_dir, error) from error
        with lock_file(path, reason, refusal=refusal):
            yield


def _check(given: Mapping[str, int | None]) -> None:
    if given["bolt_port"] and given["bolt_port"] == given["http_port"]:
        raise UsageError(f"port {given['bolt_port']} is given for Bolt and for HTTP: expected two different ports")
    for name, (least, most) in LIMITS.items():
        value = given[name]
        if value is not None and not least <= value <= most:
            raise UsageError(f"{name}: expected {least:,} to {most:,}, found {value:,}")


def _refuse_changes(status: Status, given: Mapping[str, int | None]) -> None:
    """Raise `EmbeddedServerError` if the given options differ from those of the running server."""
    for name, value in given.items():
        if value is not None and value != getattr(status, name):
            raise EmbeddedServerError(
                f"the embedded Neo4j {status.name!r} already runs with {name} {getattr(status, name)}, not {value}: "
                "stop it first, then start it with the new value"
            )


class ImportServer(EmbeddedServer):
    """The server that receives a bulk import: ``<home_dir>/incoming/servers/<name>``, with its own folder, lock and
    ports.

    On Linux its processes do not outlive their user: the importer ends with the call, and a server that the main thread
    started ends with that thread.
    """

    usual_ports = (0, 0)

    def __init__(self, target: EmbeddedServer) -> None:
        super().__init__(target.name, target.servers_dir.parent / "incoming", target.jars.folder.parent)
        self.target = target

    def import_graph(
        self,
        files: ImportFiles,
        progress: Progress = ignore_progress,
        *,
        heap_mb: int | None = None,
        off_heap_mb: int | None = None,
    ) -> ImportCounts:
        """Stop the server and replace its graph by the one in the files.

        Raises the errors of the function `import_graph`, and `DownloadError`.
        """
        from .bulk_import import import_graph  # what connects to a server loads nothing

        class_path = self.jars.ensure()
        with self._lock_server():
            self._stop()
            self._settle()
            self.home.create()
            return import_graph(self.home, class_path, files, progress, heap_mb=heap_mb, off_heap_mb=off_heap_mb)

    def reset(self) -> None:
        """Stop the server and delete its folder."""
        self._delete()

    def discard(self) -> None:
        """Stop the server and delete its graph; the logs stay until the next load."""
        if not self.home.folder.exists():
            return
        with self._lock_server():
            self._stop()
            process.kill_leftover_commands(self.home)
            delete_graph(self.home)

    def _find_avoided_ports(self) -> set[int]:
        avoided = {BOLT_PORT, HTTP_PORT, *self.target.remembered_ports}
        return avoided | self.target._find_avoided_ports() | super()._find_avoided_ports()

    def _ends_with_parent(self) -> bool:
        return threading.current_thread() is threading.main_thread()


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
            require_same_disk(self.home, incoming.home)
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
            require_whole(incoming.home)
            require_same_disk(self.home, incoming.home)
            self.home.create()
            status = self.status()
            try:
                before_stop()
                self._stop()
                self._settle()
                begin_graph_swap(self.home, incoming.home)
                finish_graph_swap(self.home)
            finally:
                if status.phase != "stopped":
                    self._start(self.status(), dict.fromkeys(LIMITS), progress=progress)
            delete_leftovers(self.home)
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
