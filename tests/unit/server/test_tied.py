"""A process that ends with its starter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest
from lodestar.engine.neo4j.tied import tie_to_parent

STARTER = """
import subprocess, sys
from lodestar.engine.neo4j.tied import tie_to_parent
child = subprocess.Popen(tie_to_parent([sys.executable, "-c", "import sys, time; print('ready', flush=True); time.sleep(60)"]))
print(child.pid, flush=True)
child.wait()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its starter ended")
def test_it_ends_when_its_starter_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", STARTER], stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout
        said = {starter.stdout.readline().strip() for _ in range(2)}
        child = psutil.Process(int((said - {"ready"}).pop()))
        assert child.is_running()
        starter.kill()
        child.wait(5)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its starter ended")
def test_a_starter_that_ended_already_has_nothing_started() -> None:
    command = tie_to_parent([sys.executable, "-c", "print('started')"])
    command[command.index(str(os.getpid()))] = "1"
    assert subprocess.run(command, capture_output=True, check=True).stdout == b""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its starter ended")
def test_the_signal_cannot_be_ignored() -> None:
    code = (
        "import ctypes; signal = ctypes.c_int(); ctypes.CDLL(None).prctl(2, ctypes.byref(signal)); print(signal.value)"
    )
    done = subprocess.run(tie_to_parent([sys.executable, "-c", code]), capture_output=True, check=True)
    assert int(done.stdout) == signal.SIGKILL
