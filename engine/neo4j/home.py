"""Manage the folder of one embedded server: configuration, data, logs, password, and the saved state.

<home>/servers/<name>/
    server.json     ports and memory; pid and start time of the process
    password        of user neo4j, readable by its owner only
    conf/ data/ import/ licenses/ logs/ plugins/ run/
"""

from __future__ import annotations

import json
import re
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from ...models.whole_file import atomic_write
from ..errors import EmbeddedServerError, UsageError

LOOPBACK = "127.0.0.1"
USER = "neo4j"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
_FOLDERS = ("conf", "data", "import", "licenses", "logs", "plugins", "run")


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


class ServerHome:
    """One server's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def conf(self) -> Path:
        """The folder of ``neo4j.conf``."""
        return self.folder / "conf"

    @property
    def data(self) -> Path:
        """The folder of Neo4j's databases."""
        return self.folder / "data"

    @property
    def logs(self) -> Path:
        """The folder of Neo4j's logs."""
        return self.folder / "logs"

    @property
    def console_log(self) -> Path:
        """The server's standard output and error of its last run."""
        return self.logs / "console.log"

    @property
    def password_file(self) -> Path:
        """The file with the password of user neo4j."""
        return self.folder / "password"

    @property
    def has_initial_password(self) -> bool:
        """Whether Neo4j already has the password: it is set before the first start, which creates the data."""
        return (self.data / "dbms" / "auth.ini").is_file() or (self.data / "databases" / "system").is_dir()

    def create(self) -> None:
        """Create the folders, readable by their owner only. Raises `EmbeddedServerError` if that fails."""
        try:
            shutil.rmtree(self._deleted_folder, ignore_errors=True)  # left by an interrupted deletion
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._check_own_folder()
            for name in _FOLDERS:
                (self.folder / name).mkdir(exist_ok=True)
        except OSError as error:
            raise make_unwritable_error(self.folder, error) from error

    def read_state(self) -> ServerState | None:
        """Return the saved state, or None if the server was never started or the file is damaged."""
        try:
            content = json.loads((self.folder / "server.json").read_text(encoding="utf-8"))
            return ServerState(**{field.name: content[field.name] for field in fields(ServerState)})
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write_state(self, state: ServerState) -> None:
        """Save the state."""
        self.private_file("server.json", json.dumps(asdict(state), indent=2) + "\n")

    def restore_state(self, state: ServerState | None) -> None:
        """Restore the state from before a failed start."""
        if state:
            self.write_state(state)
        else:
            (self.folder / "server.json").unlink(missing_ok=True)

    def write_configuration(self, state: ServerState) -> None:
        """Write ``conf/neo4j.conf`` for these ports and this much memory."""
        lines = [f"{name}={value}" for name, value in configuration(state).items()]
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
        """Return the password; the first call creates it: 256 random bits, in a file of mode 0600."""
        if not self.password_file.exists() and not self.has_initial_password:
            self.private_file("password", f"{secrets.token_hex(32)}\n")
        return self.password()

    def delete(self) -> None:
        """Delete the folder; it is renamed first, so that an interruption never leaves half a server."""
        self._check_own_folder()
        try:
            shutil.rmtree(self._deleted_folder, ignore_errors=True)
            self.folder.rename(self._deleted_folder)
            shutil.rmtree(self._deleted_folder)
        except OSError as error:
            raise EmbeddedServerError(f"{error.filename or self.folder} cannot be deleted: {error.strerror}") from error

    @property
    def _deleted_folder(self) -> Path:
        return self.folder.with_name(f".{self.folder.name}.deleted")

    def _check_own_folder(self) -> None:
        """Raise `EmbeddedServerError` if the folder holds anything but a server."""
        if (self.folder / "server.json").is_file():
            return
        if foreign := sorted({path.name for path in self.folder.iterdir()} - {*_FOLDERS, "password"}):
            raise EmbeddedServerError(
                f"{self.folder} holds {foreign[0]!r}: expected only a server of Lodestar; name another --home"
            )

    def private_file(self, name: str, text: str) -> Path:
        """Write a file that only its owner can read, atomically, and return its path."""
        path = self.folder / name
        try:
            with atomic_write(path, private=True) as draft:
                draft.write_text(text, encoding="utf-8")
        except OSError as error:
            raise make_unwritable_error(path, error) from error
        return path


def configuration(state: ServerState) -> Mapping[str, str]:
    """Return the settings of ``neo4j.conf``: loopback only, authentication on, no usage reports."""
    from ..show.style import post_connect_command  # what only connects draws no pictures

    bolt, http = f"{LOOPBACK}:{state.bolt_port}", f"{LOOPBACK}:{state.http_port}"
    return {
        "server.default_listen_address": LOOPBACK,
        "server.bolt.listen_address": bolt,
        "server.bolt.advertised_address": bolt,
        "server.http.listen_address": http,
        "server.http.advertised_address": http,
        "server.https.enabled": "false",
        "dbms.security.auth_enabled": "true",
        "server.memory.heap.initial_size": f"{initial_heap_mb(state.heap_mb)}m",
        "server.memory.heap.max_size": f"{state.heap_mb}m",
        "server.memory.pagecache.size": f"{state.pagecache_mb}m",
        "dbms.usage_report.enabled": "false",
        "client.allow_telemetry": "false",
        "browser.remote_content_hostname_whitelist": "localhost",
        "browser.post_connect_cmd": post_connect_command(),
        # By default an empty graph takes 517 MB on the disk: a log file of 256 MB for each of its two databases.
        "db.tx_log.preallocate": "false",
        # The default keeps a stopped server's process alive for ten seconds after its databases are closed.
        "internal.dbms.bolt.netty_server_shutdown_quiet_period": "0",
    }


def initial_heap_mb(heap_mb: int) -> int:
    """Return the initial heap: small, so that an idle server on a laptop stays small."""
    return min(512, heap_mb)


def make_unwritable_error(path: Path, error: OSError) -> EmbeddedServerError:
    """Return the error for a folder that cannot be written."""
    return EmbeddedServerError(f"{path} cannot be written ({error.strerror}): name another folder with --home")
