"""Manage the folder of one embedded server: configuration, password, saved state, and the graph's files.

<home>/servers/<name>/
    server.json     ports and memory; pid and start time of the process
    password        of user neo4j, readable by its owner only
    conf/ data/ import/ licenses/ logs/ plugins/ run/

    data/databases/neo4j, data/transactions/neo4j    the graph
    data/importing                                   exists while an import writes: the files are then no graph
    data/arriving/                                   the data folder of the server whose graph replaces this one

An exchange of graphs begins with one rename, which creates ``arriving``. The content of ``arriving`` shows which steps
remain, so any later process can finish it. Users and passwords are in ``data/databases/system``, which stays. Call none
of the functions on graphs, except `delete_swap_leftovers`, while a server runs on the folder.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import shutil
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from ...models.atomic_files import atomic_write, make_private_folder
from ..errors import EmbeddedServerError, PortTakenError, UsageError

LOOPBACK = "127.0.0.1"
USER = "neo4j"
_HASHED_TIMES = 1_024

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
_FOLDERS = ("conf", "data", "import", "licenses", "logs", "plugins", "run")
_GRAPH = "neo4j"
_PARTS = ("databases", "transactions")


@dataclass(frozen=True, slots=True)
class ServerState:
    """The saved state of a server. `pid` is 0 before the first start; times are seconds since the epoch.

    `given_…` is the memory that the user chose, 0 for none: what was not chosen is chosen anew at each start.
    """

    version: str
    bolt_port: int
    http_port: int
    heap_mb: int
    pagecache_mb: int
    given_heap_mb: int = 0
    given_pagecache_mb: int = 0
    pid: int = 0
    started_s: float = 0.0


def check_instance_name(name: str) -> str:
    """Return the name of an instance. Raises `UsageError` if it is not a valid folder name on every system."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"server name {name!r}: expected 1 to 63 letters, digits, '-' or '_', beginning with a letter or a digit"
        )
    return name


class TruncatedLogError(EmbeddedServerError):
    """The log of transactions ends in the middle of one."""


class ServerHome:
    """One server's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.conf = folder / "conf"
        self.data = folder / "data"
        self.logs = folder / "logs"
        self.console_log = self.logs / "console.log"
        self.password_file = folder / "password"
        self.arriving = self.data / "arriving"
        self.importing = self.data / "importing"
        self._deleted = folder.with_name(f".{folder.name}.deleted")

    def create(self) -> None:
        """Create the folders, readable by their owner only. Raises `EmbeddedServerError` if that fails."""
        with translate_home_errors(self.folder):
            shutil.rmtree(self._deleted, ignore_errors=True)  # left by an interrupted deletion
            make_private_folder(self.folder)
            self._check_own_folder()
            for name in _FOLDERS:
                (self.folder / name).mkdir(mode=0o700, exist_ok=True)

    def read_state(self) -> ServerState | None:
        """Return the saved state, or None if the server was never started or the file is damaged."""
        try:
            content = json.loads((self.folder / "server.json").read_text(encoding="utf-8"))
            return ServerState(**{field.name: content[field.name] for field in fields(ServerState)})
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def fault_of_graph(self) -> EmbeddedServerError:
        """Return why a server that runs does not open the graph, by the end of its log."""
        log = self.logs / "debug.log"
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 200_000))
            said = file.read().decode("utf-8", "replace")
        if "recovery not possible" in said:
            return TruncatedLogError(
                f"the log of {self.folder} ends in the middle of a transaction, as after a full disk"
            )
        causes = [line for line in said.splitlines() if line.startswith("Caused by: ")]
        reason = causes[-1].removeprefix("Caused by: ") if causes else "it does not say why"
        return EmbeddedServerError(f"Neo4j does not open the graph in {self.data}: {reason}; its log is {log}")

    def write_state(self, state: ServerState | None) -> None:
        if state:
            self.private_file("server.json", json.dumps(asdict(state), indent=2) + "\n")
        else:
            (self.folder / "server.json").unlink(missing_ok=True)

    def write_configuration(self, state: ServerState, *, cuts_log: bool = False) -> None:
        """Write ``conf/neo4j.conf`` for these ports and this much memory."""
        lines = [f"{name}={value}" for name, value in make_neo4j_settings(state).items()]
        lines += ["internal.dbms.tx_log.fail_on_corrupted_log_files=false"] if cuts_log else []
        text = "\n".join(["# Written by `lodestar db start`, at each start.", *lines]) + "\n"
        self.private_file("conf/neo4j.conf", text)

    def password(self) -> str:
        """Return the password of user neo4j. Raises `EmbeddedServerError` if its file is missing or unreadable."""
        try:
            return self.password_file.read_text(encoding="ascii").strip()
        except (OSError, ValueError) as error:
            raise EmbeddedServerError(
                f"{self.password_file}: expected the server's password, found no readable file: "
                "put the password back, or start over with `lodestar db reset`"
            ) from error

    def ensure_password(self) -> str:
        """Return the password; the first call creates it: 256 random bits, in a file of mode 0600.

        Neo4j gets it as `neo4j-admin dbms set-initial-password` would write it, without a JVM: salted and hashed.
        """
        if (self.data / "dbms" / "auth.ini").is_file() or (self.data / "databases" / "system").is_dir():
            return self.password()  # Neo4j has it: it is set before the first start, which creates the data
        if not self.password_file.exists():
            self.private_file("password", f"{secrets.token_hex(32)}\n")
        salt = secrets.token_bytes(32)
        hashed = salt + self.password().encode()
        for _ in range(_HASHED_TIMES):
            hashed = hashlib.sha256(hashed).digest()
        with translate_home_errors(self.data):
            (self.data / "dbms").mkdir(mode=0o700, parents=True, exist_ok=True)
        self.private_file("data/dbms/auth.ini", f"{USER}:SHA-256,{hashed.hex()},{salt.hex()},{_HASHED_TIMES}:\n")
        return self.password()

    def delete(self) -> None:
        """Delete the folder; it is renamed first, so that an interruption never leaves half a server."""
        self._check_own_folder()
        _delete(self._deleted)
        with translate_home_errors(self.folder):
            self.folder.rename(self._deleted)
        _delete(self._deleted)

    def _check_own_folder(self) -> None:
        if (self.folder / "server.json").is_file():
            return
        if foreign := sorted({path.name for path in self.folder.iterdir()} - {*_FOLDERS, "password"}):
            raise EmbeddedServerError(
                f"{self.folder} holds {foreign[0]!r}: expected only a server of Lodestar; name another LODESTAR_HOME"
            )

    def private_file(self, name: str, text: str) -> Path:
        """Write a file that only its owner can read, atomically, and return its path."""
        path = self.folder / name
        with translate_home_errors(path), atomic_write(path) as draft:
            draft.write_text(text, encoding="utf-8")
        return path


def make_neo4j_settings(state: ServerState) -> Mapping[str, str]:
    """Return the settings of ``neo4j.conf``: loopback only, authentication on, no usage reports."""
    bolt, http = f"{LOOPBACK}:{state.bolt_port}", f"{LOOPBACK}:{state.http_port}"
    return {
        "server.default_listen_address": LOOPBACK,
        "server.bolt.listen_address": bolt,
        "server.bolt.advertised_address": bolt,
        "server.http.listen_address": http,
        "server.http.advertised_address": http,
        "dbms.security.auth_enabled": "true",
        "server.memory.pagecache.size": f"{state.pagecache_mb}m",
        "server.directories.import": "import",  # without it LOAD CSV reads any file
        "dbms.usage_report.enabled": "false",
        "client.allow_telemetry": "false",
        "browser.remote_content_hostname_whitelist": "localhost",
        "browser.post_connect_cmd": make_browser_startup_command(),
        # By default an empty graph takes 517 MB on the disk: a log file of 256 MB for each of its two databases.
        "db.tx_log.preallocate": "false",
        # The default keeps a stopped server's process alive for ten seconds after its databases are closed.
        "internal.dbms.bolt.netty_server_shutdown_quiet_period": "0",
    }


def make_browser_startup_command() -> str:
    """Return the value of ``browser.post_connect_cmd`` with which a server styles pictures in Neo4j Browser, and clears
    the frame of the style, so that the screen has the question that a link puts into the editor."""
    style = json.loads(Path(__file__).with_name("style.json").read_text(encoding="utf-8"))
    return f"style {json.dumps(style, separators=(',', ':'))}; clear"


@contextmanager
def translate_home_errors(path: Path) -> Iterator[None]:
    """Raise `EmbeddedServerError` for an `OSError` of the block, which writes, renames or deletes below `path`."""
    try:
        yield
    except OSError as error:
        raise EmbeddedServerError(
            f"{error.filename or path} cannot be written ({error.strerror}): name another LODESTAR_HOME"
        ) from error


# Ports and memory of a server


def choose_port(given: int | None = None, usual: Iterable[int] = (), avoid: int = 0) -> int:
    """Return the port to listen at: the given one, else the first of the `usual` that is free, or any free one.

    Raises `PortTakenError` if this user cannot listen at the given port.
    """
    for port in (given,) if given else (*filter(None, usual), 0, 0):
        with suppress(OSError), socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((LOOPBACK, port))
            if (chosen := int(probe.getsockname()[1])) != avoid:
                return chosen
    raise PortTakenError(
        f"port {given} is taken, or not this user's to listen at: give another, or none to have a free one chosen"
    )


def default_heap_mb(total_mb: int, store_mb: int = 0) -> int:
    """Return the default Java heap: 1 GB and eight times the store, at most a sixth of the memory and 4 GB."""
    return min(1024 + 8 * store_mb, max(total_mb // 6, 512), 4096)


def default_pagecache_mb(total_mb: int, store_mb: int = 0) -> int:
    """Return the default page cache: 256 MB and the store with a fifth, at most a third of the memory."""
    return min(256 + round(store_mb * 1.2), max(total_mb // 3, 256))


# The graph's files


def has_graph(home: ServerHome) -> bool:
    """Return whether a server started on this folder would find an existing graph, even an empty one."""
    store = f"databases/{_GRAPH}/neostore"
    return not home.importing.exists() and any((data / store).is_file() for data in (home.data, home.arriving))


def measure_store_size(home: ServerHome) -> int:
    """Return the size of the graph's files, without the full-text indexes, which Neo4j's page cache does not hold."""
    num_bytes = 0
    for path in (home.data / "databases" / _GRAPH).rglob("*"):
        if "fulltext-1.0" not in path.parts and path.is_file():
            with suppress(FileNotFoundError):  # a running server deletes files
                num_bytes += path.stat().st_size
    return num_bytes


def delete_graph(home: ServerHome) -> None:
    if home.data.exists():
        home.importing.touch()  # a half deleted graph is not valid either
        for part in _PARTS:
            _delete(home.data / part / _GRAPH)
        home.importing.unlink()


def check_graph_complete(home: ServerHome) -> None:
    """Raise `EmbeddedServerError` unless the home has a complete graph of its own."""
    if not has_graph(home) or not all((home.data / part / _GRAPH).is_dir() for part in _PARTS):
        raise EmbeddedServerError(f"{home.folder}: expected the loaded graph, found no complete one: load it again")


def stage_graph_for_swap(home: ServerHome, source: ServerHome) -> None:
    """Begin to replace the graph by that of the source; this moves the source's data folder.

    Raises `EmbeddedServerError`, with nothing changed, if that folder cannot be renamed.
    """
    with translate_home_errors(home.arriving):
        source.data.rename(home.arriving)


def finish_graph_swap(home: ServerHome) -> None:
    """Finish an interrupted exchange and delete a partial import; afterwards a server may start."""
    if home.importing.exists():
        delete_graph(home)
    for part in _PARTS:
        graph, arriving, replaced = home.data / part / _GRAPH, home.arriving / part / _GRAPH, home.arriving / "replaced"
        if arriving.exists():
            with translate_home_errors(graph):  # the next start of the server tries again
                graph.parent.mkdir(exist_ok=True)
                replaced.mkdir(exist_ok=True)
                if graph.exists():
                    graph.rename(replaced / part)
                arriving.rename(graph)


def delete_swap_leftovers(home: ServerHome) -> None:
    _delete(home.arriving)


def _delete(folder: Path) -> None:
    if folder.exists():
        with translate_home_errors(folder):
            shutil.rmtree(folder)
