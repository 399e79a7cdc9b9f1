"""Run Neo4j's offline commands (``dbms set-initial-password``, ``database import`` …), each in its own process.

Java reads the arguments from a file in the home that only its owner can read. So no argument shows in a process list,
and a command whose parent was killed can be found by the name of its file.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import EmbeddedServerError
from .home import ServerHome
from .process import COLLECTOR, JVM_FLAGS, environment, failure_reason, hold_interrupt, is_alive, java, wait_for_end
from .tied import tie_to_parent

if TYPE_CHECKING:
    import psutil

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
    on_line: Callable[[str], None] = lambda _line: None,
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
