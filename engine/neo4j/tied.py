"""A process that ends when its starter does, however that ends: asked of Linux, where elsewhere nobody can be asked.

This file is also the script that asks: it runs between the starter and the command, takes the place of neither, and
needs no code between fork and exec, where another thread's lock could stop it for ever.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def tie_to_parent(command: Sequence[str]) -> list[str]:
    """Return the command that runs the command so that the end of the calling thread kills it.

    Off Linux the command comes back as it is.
    """
    if sys.platform != "linux" or not sys.executable:
        return list(command)
    return [sys.executable, "-I", "-S", str(Path(__file__).resolve()), str(os.getpid()), *command]


def _become(starter_pid: int, command: Sequence[str]) -> None:
    with suppress(OSError, AttributeError):  # a C library without prctl: the command runs untied
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() == starter_pid:  # else the starter ended before it could be watched
        os.execv(command[0], list(command))  # noqa: S606 - the same command that Popen would have started


if __name__ == "__main__":
    _become(int(sys.argv[1]), sys.argv[2:])
