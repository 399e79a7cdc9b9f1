"""Start, stop and describe an embedded Neo4j, and replace its graph by one that a bulk load has built."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import psutil

from ...models.atomic_files import make_private_folder
from .. import machine
from ..errors import (
    AuthenticationError,
    DatabaseError,
    DatabaseUnavailableError,
    EmbeddedServerError,
    LoadInProgressError,
    LodestarError,
)
from ..file_access import lock_file
from ..progress import Progress, ignore_progress, print_to_stderr, show_waiting
from ..settings import Connection, Settings
from . import server_home as files
from . import server_process
from .maven_jars import NEO4J_VERSION, JarCache
from .server_home import LOOPBACK, USER, ServerHome, ServerState

if TYPE_CHECKING:
    from .bulk_import import ImportFiles

BOLT_PORT = 7687
HTTP_PORT = 7474
START_TIMEOUT_S = 180.0


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The state of a server. Ports and memory are those of the last start, 0 before the first."""

    name: str
    phase: Literal["stopped", "starting", "running"]
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
        return self.phase == "running"

    @property
    def bolt_uri(self) -> str:
        return f"bolt://{LOOPBACK}:{self.bolt_port}"

    @property
    def browser_url(self) -> str:
        return f"http://{LOOPBACK}:{self.http_port}/browser/"


class EmbeddedServer:
    """The embedded server in ``<home_dir>/servers/<name>``.

    A bulk load builds its graph in a second one, the `incoming` of the `target`, with its own folder, lock and ports:
    ``<home_dir>/incoming/servers/<name>``. On Linux the processes of that one do not outlive their user: the importer
    ends with the call, and a server that the main thread started ends with that thread.
    """

    def __init__(self, name: str, home_dir: Path, cache_dir: Path, *, target: EmbeddedServer | None = None) -> None:
        self.name = files.check_instance_name(name)
        self.home_dir = home_dir.expanduser().resolve()
        self.cache_dir = cache_dir.expanduser()
        self.servers_dir = self.home_dir / "servers"
        self.home = ServerHome(self.servers_dir / self.name)
        self.jars = JarCache(self.cache_dir)
        self.target = target
        self._child: subprocess.Popen[bytes] | None = None  # a Popen without a reference warns that its process runs

    @classmethod
    def of(cls, settings: Settings) -> EmbeddedServer:
        return cls(settings.name, settings.home_dir, settings.cache_dir)

    def start(
        self,
        *,
        bolt_port: int | None = None,
        http_port: int | None = None,
        heap_mb: int | None = None,
        pagecache_mb: int | None = None,
        progress: bool = True,
    ) -> ServerStatus:
        """Start the server unless it runs, and return when it answers.

        Omitted values are those given before, else defaults: free ports, and memory by the machine's and the size of
        the store. Raises `UsageError`, `PortTakenError`, `DownloadError`, or `EmbeddedServerError` with the reason from
        the server's log. If the start fails or is interrupted by Ctrl-C, the server's process is ended too.
        """
        given = {"bolt_port": bolt_port, "http_port": http_port, "heap_mb": heap_mb, "pagecache_mb": pagecache_mb}
        with self._lock():
            status = self.status()
            if not status.running:
                return self._start(given, progress=progress)
            for name, value in given.items():
                if value is not None and value != getattr(status, name):
                    raise EmbeddedServerError(
                        f"the embedded Neo4j {self.name!r} already runs with {name} {getattr(status, name)}, not "
                        f"{value}: stop it first, then start it with the new value"
                    )
            return status

    def stop(self) -> bool:
        """Stop the server, and return whether it was running. The data stays."""
        if not self.home.folder.exists():
            return False
        with self._lock():
            return self._stop()

    def reset(self) -> None:
        """Stop the server and delete its data, its password and the remains of bulk loads; the jars stay.

        Waits for the end of a running bulk load.
        """
        if self.home.folder.exists() or self.incoming().home.folder.exists():
            with self._lock("load", f"another lodestar is loading into {self.name!r}"):
                self._delete()
                self.incoming()._delete()

    @property
    def has_graph(self) -> bool:
        """Whether the folder has a graph, even an empty one: False until the first start or load."""
        return files.has_graph(self.home)

    @property
    def store_mb(self) -> int:
        """The size of the graph's files that the page cache holds, in MB."""
        return files.measure_store_size(self.home) >> 20

    def status(self) -> ServerStatus:
        state = self.home.read_state()
        server = self._find()
        is_ready = server and state and server_process.listens_on_own_ports(server, state)
        shown = state or ServerState(NEO4J_VERSION, 0, 0, 0, 0)
        return ServerStatus(
            self.name,
            "running" if is_ready else "starting" if server else "stopped",
            server.pid if server else None,
            *(shown.version, shown.bolt_port, shown.http_port, shown.heap_mb, shown.pagecache_mb),
            *(self.home.folder, self.home.console_log, self.home.password_file),
        )

    def connection(self, timeout_s: float = 30.0) -> Connection:
        """Return the connection to the running server. Raises `DatabaseUnavailableError` if it is not running."""
        status = self.status()
        if not status.running:
            option = "" if self.name == Settings().name else f" --name {self.name}"
            raise DatabaseUnavailableError(
                f"the embedded Neo4j {self.name!r} is not running: start it with `lodestar db start{option}`"
            )
        return Connection(status.bolt_uri, USER, self.home.password(), timeout_s=timeout_s)

    def others(self) -> list[EmbeddedServer]:
        names = sorted(path.parent.name for path in self.servers_dir.glob("[!.]*/server.json"))
        return [EmbeddedServer(name, self.home_dir, self.cache_dir) for name in names if name != self.name]

    # Bulk loads

    def incoming(self) -> EmbeddedServer:
        """Return the server in which a bulk load builds the new graph."""
        return EmbeddedServer(self.name, self.home_dir / "incoming", self.cache_dir, target=self)

    @contextmanager
    def loading(self) -> Iterator[EmbeddedServer]:
        """Yield a fresh incoming server; at the end stop it, and delete its graph unless it was adopted.

        Raises `LoadInProgressError` if another bulk load is running.
        """
        incoming = self.incoming()
        refused = f"another lodestar is loading into {self.name!r}: wait for its end, then load again"
        with self._lock("load", refusal=LoadInProgressError(refused)):
            incoming._delete()
            incoming.home.create()
            try:
                yield incoming
            finally:  # the logs stay until the next load
                if incoming.home.folder.exists():
                    with incoming._lock():
                        incoming._stop()
                        server_process.kill_leftover_commands(incoming.home)
                        files.delete_graph(incoming.home)

    def import_graph(self, written: ImportFiles, progress: Progress = ignore_progress) -> None:
        """Stop the server and replace its graph by the one in the files; raise as the function `import_graph`."""
        from .bulk_import import import_graph  # what connects to a server loads nothing

        class_path = self.jars.ensure()
        with self._lock():
            self._stop()
            self._settle()
            self.home.create()
            import_graph(self.home, class_path, written, progress)

    def adopt(
        self, incoming: EmbeddedServer, *, progress: bool = True, before_stop: Callable[[], None] = lambda: None
    ) -> ServerStatus:
        """Replace the graph by that of `incoming`, which is deleted; users and password stay.

        A running server is stopped and then started again with the same options. After any interruption, even a kill,
        the graph is either the complete old or the complete new one; an `EmbeddedServerError` says when it is the old
        one.
        """
        from .bulk_import import LOG

        with self._lock(), incoming._lock():
            incoming._stop()
            incoming._settle()
            files.check_graph_complete(incoming.home)
            self.home.create()
            status = self.status()
            try:
                before_stop()
                self._stop()
                self._settle()
                files.stage_graph_for_swap(self.home, incoming.home)
                files.finish_graph_swap(self.home)
            finally:
                if status.phase != "stopped":
                    self._start({}, progress=progress)
            files.delete_swap_leftovers(self.home)
            (incoming.home.logs / LOG).replace(self.home.logs / LOG)
            incoming.home.delete()
            return self.status()

    # Steps; their caller holds the lock

    def _start(self, given: Mapping[str, int | None], *, progress: bool) -> ServerStatus:
        last = self.home.read_state()
        try:
            self._stop()  # one whose state file was lost, or whose starter was killed
            self._settle(sweep=False)
            try:
                self._launch(given, progress=progress)
            except files.TruncatedLogError as error:
                self._stop()
                print_to_stderr(
                    f"{error}: starting it with all that was written before; `lodestar db check` compares it"
                )
                self._launch(given, progress=progress, cuts_log=True)
            except EmbeddedServerError as error:
                if "already in use" not in str(error) or given.get("bolt_port") or given.get("http_port"):
                    raise
                self._launch(given, progress=progress)  # another process took a port since the look: look again
        except BaseException:
            self._stop()
            self.home.write_state(last)
            raise
        files.delete_swap_leftovers(self.home)
        return self.status()

    def _settle(self, *, sweep: bool = True) -> None:
        if self.home.folder.exists():
            server_process.kill_leftover_commands(self.home)
            files.finish_graph_swap(self.home)
            if sweep:
                files.delete_swap_leftovers(self.home)

    def _delete(self) -> None:
        if self.home.folder.exists():
            with self._lock():
                self._stop()
                server_process.kill_leftover_commands(self.home)
                self.home.delete()

    def _plan(self, given: Mapping[str, int | None]) -> ServerState:
        last = self.home.read_state() or ServerState(NEO4J_VERSION, 0, 0, 0, 0)
        usual = (0, 0) if self.target else (BOLT_PORT, HTTP_PORT)
        bolt_port = files.choose_port(given.get("bolt_port"), (last.bolt_port, usual[0]))
        total_mb = machine.memory_mb()
        heap_mb = given.get("heap_mb") or last.given_heap_mb
        pagecache_mb = given.get("pagecache_mb") or last.given_pagecache_mb
        return ServerState(
            version=NEO4J_VERSION,
            bolt_port=bolt_port,
            http_port=files.choose_port(given.get("http_port"), (last.http_port, usual[1]), avoid=bolt_port),
            heap_mb=heap_mb or files.default_heap_mb(total_mb, self.store_mb),
            pagecache_mb=pagecache_mb or files.default_pagecache_mb(total_mb, self.store_mb),
            given_heap_mb=heap_mb,
            given_pagecache_mb=pagecache_mb,
        )

    def _launch(self, given: Mapping[str, int | None], *, progress: bool, cuts_log: bool = False) -> None:
        """Write the configuration, launch the server's process, and wait until it answers and accepts the password.

        Raises `TruncatedLogError` where the log of transactions ends in the middle of one; `cuts_log` cuts that off.
        """
        from .catalogue import read_graph_edition
        from .gateway import Gateway

        state = self._plan(given)
        class_path = self.jars.ensure(progress=progress)
        self.home.create()
        self.home.write_state(state)
        self.home.write_configuration(state, cuts_log=cuts_log)
        self.home.ensure_password()
        ends_with_parent = self.target is not None and threading.current_thread() is threading.main_thread()
        self._child = server_process.launch_server(self.home, state, class_path, for_us_alone=ends_with_parent)
        server = psutil.Process(self._child.pid)
        self.home.write_state(replace(state, pid=server.pid, started_s=server.create_time()))
        with show_waiting(f"starting Neo4j {self.name!r}", shown=progress):
            server_process.wait_until_ready(server, self.home, state, START_TIMEOUT_S)
        try:
            with Gateway(self.connection(START_TIMEOUT_S)) as gateway:  # the first query of a busy machine is slow
                gateway.version()
                gateway.run(read_graph_edition())
        except AuthenticationError as error:
            raise EmbeddedServerError(
                f"{self.home.password_file}: expected the password of user {USER}, which was changed in the server: "
                "write the new one into this file"
            ) from error
        except DatabaseError as error:
            raise self.home.fault_of_graph() from error

    def _find(self) -> psutil.Process | None:
        return server_process.find_server(self.home, self.home.read_state()) if self.home.folder.exists() else None

    def _stop(self) -> bool:
        server = self._find()
        if server:
            server_process.end_process(server)
        return server is not None

    @contextmanager
    def _lock(self, kind: str = "lock", reason: str = "", *, refusal: LodestarError | None = None) -> Iterator[None]:
        path = self.servers_dir / f".{self.name}.{kind}"
        with files.translate_home_errors(self.servers_dir):
            make_private_folder(self.servers_dir)
            path.touch(mode=0o600)
        reason = reason or f"another lodestar is starting or stopping {self.name!r}"
        with lock_file(path, reason, refusal=refusal):
            yield
