"""`lodestar db` as a user types it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest
from lodestar.engine.neo4j.embedded import EmbeddedServer

from tests.e2e.conftest import Lodestar

COMMAND = [sys.executable, "-c", "from lodestar.engine.cli.main import run; run()", "db"]


def lodestar_db(*arguments: str, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def refused(done: subprocess.CompletedProcess[str], code: int) -> str:
    """Return the one line on stderr of a command that ended with this code and printed nothing."""
    assert done.returncode == code, done
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if line.startswith("lodestar: ")]
    assert len(lines) == 1, done.stderr
    assert "Traceback" not in done.stderr
    return lines[0]


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
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LODESTAR_", "NEO4J_", "OPENAI_"))}
    return kept | {"LODESTAR_HOME": str(tmp_path / "home"), "LODESTAR_CACHE": str(cache_dir)}


@pytest.fixture
def here(alone: dict[str, str], home_dir: Path) -> dict[str, str]:
    """An environment with the home of the tests' server."""
    return alone | {"LODESTAR_HOME": str(home_dir)}


def test_status_and_start_of_a_running_server_agree(server: EmbeddedServer, here: dict[str, str]) -> None:
    status = lodestar_db("status", "--json", environment=here)
    start = lodestar_db("start", "--json", environment=here)
    assert status.returncode == start.returncode == 0
    told = json.loads(status.stdout)
    told.pop("graph")
    assert told == json.loads(start.stdout)
    assert told["running"] is True
    assert told["bolt_uri"] == server.status().bolt_uri
    text = lodestar_db("status", environment=here).stdout
    assert told["browser_url"] in text
    password = server.home.password()
    assert password not in text + status.stdout + start.stdout + status.stderr + start.stderr


def test_ports_that_a_running_server_does_not_have_are_refused(server: EmbeddedServer, here: dict[str, str]) -> None:
    ports = {"--bolt-port": server.status().bolt_port, "--http-port": server.status().http_port}
    for flag, port in ports.items():
        same = lodestar_db("start", flag, str(port), environment=here)
        assert same.returncode == 0, same.stderr
        other = lodestar_db("start", flag, "9", environment=here)
        assert f"already runs with {flag[2:].replace('-', '_')}" in refused(other, 6)


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".", "a b"])
@pytest.mark.parametrize("verb", [["start"], ["stop"], ["status"], ["reset", "--yes"]])
def test_a_bad_name_is_refused(
    verb: list[str], name: str, lodestar: Lodestar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LODESTAR_HOME", str(tmp_path / "home"))
    ran = lodestar("db", *verb, "--name", name)
    assert (ran.code, ran.out) == (2, "")
    (line,) = ran.err.splitlines()
    assert "server name" in line
    assert not (tmp_path / "home").exists()


def test_reset_asks_first(server: EmbeddedServer, here: dict[str, str]) -> None:
    assert "--yes" in refused(lodestar_db("reset", environment=here), 2)
    assert server.status().running


@pytest.fixture
def starting(alone: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """A start that has got as far as launching the server's process."""
    home = Path(alone["LODESTAR_HOME"])
    command = subprocess.Popen(
        [*COMMAND, "start", "--heap-mb", "512", "--pagecache-mb", "64"],
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
    lodestar_db("reset", "--yes", environment=alone)
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
    second = lodestar_db("start", "--json", environment=alone)
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
    done = lodestar_db("start", "--json", environment=alone)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["running"] is True
    assert javas(tmp_path / "home") == [json.loads(done.stdout)["pid"]] != [launched]
