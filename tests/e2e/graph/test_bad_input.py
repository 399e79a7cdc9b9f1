"""What goes wrong around a command: closed and full outputs, Ctrl-C, hostile graphs, a graph that grows meanwhile."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import neo4j
import pytest
from lodestar import Engine
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Connection

from tests.conftest import clear_database
from tests.e2e.conftest import Lodestar
from tests.made.graphs import TripleSource, load

CAPITAL = "What is the capital of Peru?"
COMMAND = [sys.executable, "-c", "from lodestar.engine.cli.main import run; run()"]

ODD = (
    ("a`b", "rel`) DETACH DELETE n //", "c'd"),
    ('x"y', "r'\"`el{x:1}", "Löwe"),
    ("esc\x1b[2J", "r\x1b[31m.x", "bell\x07"),
    ("$ids", "null", "true"),
    ("\u05e9\u05dc\u05d5\u05dd", "\u05e7\u05e9\u05e8.\u05d9\u05d7\u05e1", "\U0001d518\U0001d52b\U0001d526"),
    ("\u202eabc", "r\u202er", "z\u200bw"),
    ("\\", "\\t`", "\\u0060MATCH"),
    ("a;b", "r\u2028s", "n\u2028m"),
)


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
    assert ran.stderr == "lodestar: standard input: expected questions, found it closed\n"


def test_ctrl_c_is_one_line_and_130(environment: dict[str, str], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "questions")  # nobody writes to it: the command waits for it until it is interrupted
    with subprocess.Popen(
        [*COMMAND, "ask", "--file", str(tmp_path / "questions")],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err.strip()) == (130, "", "lodestar: interrupted")


@pytest.mark.long
def test_odd_ids_names_and_relations_are_text(
    lodestar: Lodestar, gateway: Gateway, driver: neo4j.Driver, connection: Connection
) -> None:
    clear_database(driver, connection.database)
    load(TripleSource(ODD, {id_: id_ for head, _, tail in ODD for id_ in (head, tail)}), gateway)
    for head, relation, tail in ODD:
        ran = lodestar("ask", "--paths-only", "--json", "--topic", head, f"what {relation}?")
        assert ran.code == 0, ran.err
        best = json.loads(ran.out)["items"][0]
        assert {triple["relation"] for triple in best["triples"]} == {relation}
        assert [end["id"] for end in best["ends"]] == [tail]
        for verb in (["ask"], ["browse", "--no-open"]):
            ran = lodestar(*verb, "--topic", head, f"what {relation}?")
            assert ran.code == 0, ran.err
            shown = (ran.out + ran.err).replace("\x1b[1m", "").replace("\x1b[0m", "")
            assert not {"\x1b", "\x07", "\u202e"} & set(shown)
    lodestar("browse", "--clear")


def test_threads_and_event_loops_share_one_engine(engine: Engine) -> None:
    async def capital() -> list[str]:
        try:
            return [answer.text for answer in await asyncio.gather(*(engine.aask(CAPITAL) for _ in range(4)))]
        finally:
            await engine.aclose()

    with ThreadPoolExecutor(4) as pool:
        blocking = [pool.submit(lambda: engine.ask(CAPITAL).text) for _ in range(8)]
        assert [future.result() for future in blocking] == ["Lima"] * 8
        loops = [pool.submit(lambda: asyncio.run(capital())) for _ in range(2)]
        assert [future.result() for future in loops] == [["Lima"] * 4] * 2


def test_no_message_steers_a_terminal(lodestar: Lodestar, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    ran = lodestar("load", "tsv", "no\x1b[2Jfile")
    assert (ran.code, ran.err) == (3, "lodestar: no\\x1b[2Jfile: no such file, nor any that fits it as a pattern\n")
