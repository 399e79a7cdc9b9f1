"""What goes wrong around a command: closed and full outputs, Ctrl-C, hostile graphs, a graph that grows meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

COMMAND = [sys.executable, "-c", "from lodestar.engine.cli.main import run; run()"]


def shell(environment: dict[str, str], line: str) -> subprocess.CompletedProcess[str]:
    """Run a shell line in which ``$LODESTAR`` is the command."""
    quoted = f"{sys.executable} -c 'from lodestar.engine.cli.main import run; run()'"
    return subprocess.run(
        ["bash", "-c", line.replace("$LODESTAR", quoted)],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def test_closed_and_full_outputs_end_in_at_most_one_line(environment: dict[str, str]) -> None:
    full = shell(environment, "$LODESTAR --help > /dev/full")
    assert (full.returncode, len(full.stderr.splitlines())) == (10, 1)
    assert "no room left for the output" in full.stderr
    closed = shell(environment, "$LODESTAR db status --json | true")
    assert (closed.returncode, closed.stderr) == (0, "")


def test_closed_standard_input_is_said(environment: dict[str, str]) -> None:
    ran = shell(environment, "$LODESTAR ask --file - <&-")
    assert (ran.returncode, ran.stdout) == (3, "")
    assert ran.stderr == "lodestar: standard input: expected the file of questions, found it closed\n"


def test_ctrl_c_is_one_line_and_130(environment: dict[str, str], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "questions")  # nobody writes to it: the command waits until it is interrupted
    with (
        subprocess.Popen(
            [*COMMAND, "ask", "--file", str(tmp_path / "questions")],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
        (tmp_path / "questions").open("w"),
    ):  # as soon as the command has opened it, too
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err.strip()) == (130, "", "lodestar: interrupted")
