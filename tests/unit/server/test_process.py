"""Processes that end with their starter."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil
import pytest
from lodestar.engine.neo4j.server_process import make_command_end_with_parent, wait_for_end


def test_an_end_that_the_parent_has_not_noticed_is_an_end() -> None:
    script = "import subprocess, time; child = subprocess.Popen(['true']); print(child.pid, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        try:
            wait_for_end(psutil.Process(int(parent.stdout.readline())), 10)
            with pytest.raises(psutil.TimeoutExpired):
                wait_for_end(psutil.Process(parent.pid), 0.2)
        finally:
            parent.kill()


STARTER = """
import subprocess, sys
from lodestar.engine.neo4j.server_process import make_command_end_with_parent
child = subprocess.Popen(make_command_end_with_parent([sys.executable, "-c", "import sys, time; print('ready', flush=True); time.sleep(60)"]))
print(child.pid, flush=True)
child.wait()
"""
only_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its starter ended")


@only_linux
def test_it_ends_when_its_starter_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", STARTER], stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout
        said = {starter.stdout.readline().strip() for _ in range(2)}
        child = psutil.Process(int((said - {"ready"}).pop()))
        assert child.is_running()
        starter.kill()
        child.wait(5)


@only_linux
def test_a_starter_that_ended_already_has_nothing_started() -> None:
    command = make_command_end_with_parent([sys.executable, "-c", "print('started')"])
    command[command.index(str(os.getpid()))] = "1"
    assert subprocess.run(command, capture_output=True, check=True).stdout == b""
