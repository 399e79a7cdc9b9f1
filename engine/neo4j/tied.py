"""Run a process that the kernel kills when its parent ends (Linux only).

This file is also the script that does it: it runs between the parent and the command and replaces itself by the
command. So no code runs between fork and exec, where another thread's lock could block forever.
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
    """Return a command that runs the given command and is killed when the calling thread ends.

    On other systems than Linux the command is returned unchanged.
    """
    if sys.platform != "linux" or not sys.executable:
        return list(command)
    return [sys.executable, "-I", "-S", str(Path(__file__).resolve()), str(os.getpid()), *command]


def _become(starter_pid: int, command: Sequence[str]) -> None:
    with suppress(OSError, AttributeError):  # no prctl in the C library: run untied
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() == starter_pid:  # else the parent has already ended
        os.execv(command[0], list(command))  # noqa: S606 - the command that Popen was given


if __name__ == "__main__":
    _become(int(sys.argv[1]), sys.argv[2:])
