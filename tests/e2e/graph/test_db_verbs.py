"""lodestar db as a user types it; closed and full outputs, and Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest
from lodestar.engine.neo4j.embedded import EmbeddedServer

from tests.e2e.conftest import Lodestar, Ran, run_process
from tests.places import clean_environment

COMMAND = [sys.executable, "-c", "from lodestar.engine.cli.main import run; run()"]


def javas(home: Path) -> list[int]:
    """Pids of every Java that was started for a server under this home."""

    def words(process: psutil.Process) -> str:
        try:
            return " ".join(process.cmdline())
        except psutil.Error:
            return ""

    return [process.pid for process in psutil.process_iter() if f"{home}/servers/" in words(process)]


@pytest.fixture
def alone(tmp_path: Path, cache_dir: Path) -> dict[str, str]:
    """An environment with an empty home of its own and the shared jars."""
    return clean_environment(LODESTAR_HOME=str(tmp_path / "home"), LODESTAR_CACHE=str(cache_dir))


@pytest.fixture
def db(
    lodestar: Lodestar, server: EmbeddedServer, home_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Ran]:
    """`lodestar db` in the home of the tests' server."""
    monkeypatch.delenv("LODESTAR_URI", raising=False)
    monkeypatch.setenv("LODESTAR_HOME", str(home_dir))
    return partial(lodestar, "db")


def test_status_and_start_of_a_running_server_agree(server: EmbeddedServer, db: Callable[..., Ran]) -> None:
    status, start, text = db("status", "--json"), db("start", "--json"), db("status")
    assert status.code == start.code == 0
    told = json.loads(status.out)
    told.pop("graph")
    assert told == json.loads(start.out)
    assert told["running"] is True
    assert told["bolt_uri"] == server.status().bolt_uri
    assert told["browser_url"] in text.out
    assert not any(server.home.password() in ran.out + ran.err for ran in (status, start, text))


def test_reset_asks_first(server: EmbeddedServer, db: Callable[..., Ran]) -> None:
    ran = db("reset")
    assert (ran.code, "--yes" in ran.err) == (2, True)
    assert server.status().running


@pytest.fixture
def starting(alone: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A start that has got as far as launching the server's process."""
    home = Path(alone["LODESTAR_HOME"])
    command = subprocess.Popen(
        [*COMMAND, "db", "start", "--heap-mb", "512", "--pagecache-mb", "64"],
        env=alone,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline_s = time.monotonic() + 120
    state = home / "servers" / "default" / "server.json"
    while not (state.exists() and json.loads(state.read_text())["pid"]):
        assert command.poll() is None, command.communicate()
        assert time.monotonic() < deadline_s
        time.sleep(0.02)
    assert javas(home) != []
    yield command
    command.kill()
    command.communicate()
    run_process(alone, "db", "reset", "--yes")
    assert javas(home) == []


def test_ctrl_c_while_starting_leaves_no_process(
    starting: subprocess.Popen[str], alone: dict[str, str], tmp_path: Path
) -> None:
    starting.send_signal(signal.SIGINT)
    _, said = starting.communicate(timeout=60)
    assert starting.returncode == 130
    assert said.splitlines()[-1] == "lodestar: interrupted"
    assert javas(tmp_path / "home") == []


@pytest.mark.long
def test_two_starts_at_once_make_one_server(
    starting: subprocess.Popen[str], alone: dict[str, str], tmp_path: Path
) -> None:
    second = run_process(alone, "db", "start", "--json")
    assert second.returncode == 0, second.stderr
    assert "waiting for it" in second.stderr
    assert javas(tmp_path / "home") == [json.loads(second.stdout)["pid"]]
    starting.communicate(timeout=60)
    assert starting.returncode == 0


@pytest.mark.long
def test_a_start_whose_starter_was_killed_is_made_again_by_the_next(
    starting: subprocess.Popen[str], alone: dict[str, str], tmp_path: Path
) -> None:
    (launched,) = javas(tmp_path / "home")
    starting.kill()
    starting.communicate()
    done = run_process(alone, "db", "start", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["running"] is True
    assert javas(tmp_path / "home") == [json.loads(done.stdout)["pid"]] != [launched]


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
