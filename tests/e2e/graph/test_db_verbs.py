"""`lodestar db` as a user types it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import psutil
import pytest
from lodestar.engine.neo4j.embedded import EmbeddedServer

from tests.e2e.conftest import Lodestar, Ran

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
