"""Copies of a graph in servers of their own: what one that is gone costs, what writes, and how a copy is made."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from lodestar import Engine
from lodestar.engine.errors import DatabaseUnavailableError, EmbeddedServerError, UsageError
from lodestar.engine.neo4j import copies
from lodestar.engine.neo4j.catalogue import read_graph_revision
from lodestar.engine.neo4j.connection import Connection
from lodestar.engine.neo4j.gateway import AsyncGateway, Gateway
from lodestar.engine.neo4j.instance import ServerPair
from lodestar.engine.settings import Settings
from lodestar.loaders.loads.verifying import verify

from tests.made.graphs import COUNTRIES, COUNTRY_NAMES, TripleSource, load

pytestmark = pytest.mark.database

NOBODY = "bolt://127.0.0.1:1"
QUESTIONS = ("What is the capital of Peru?", "Which country borders Chile?", "Which currency is used in Peru?")


async def test_a_copy_that_is_gone_is_passed_over(connection: Connection) -> None:
    several = replace(connection, uri=NOBODY, copies=(connection.uri, "bolt://127.0.0.1:2"))
    with Gateway(several) as gateway:
        assert gateway.version()
        editions = gateway.send([read_graph_revision()] * 6)
        with pytest.raises(UsageError, match="only read"), gateway.hold_transaction(read_graph_revision()):
            pass
    asking = AsyncGateway(several)
    assert await asking.version()
    assert await asking.send([read_graph_revision()] * 6) == editions
    await asking.close()
    with Gateway(connection) as gateway:
        assert editions == [gateway.fetch(read_graph_revision())] * 6


def test_without_any_copy_it_is_one_error(connection: Connection) -> None:
    with (
        Gateway(replace(connection, uri=NOBODY, copies=("bolt://127.0.0.1:2",))) as gateway,
        pytest.raises(
            DatabaseUnavailableError, match=r"no copy .*127\.0\.0\.1:1 does not answer; .*127\.0\.0\.1:2 does"
        ),
    ):
        gateway.version()


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory, cache_dir: Path) -> Iterator[ServerPair]:
    instance = ServerPair("first", tmp_path_factory.mktemp("copies"), cache_dir)
    instance.start(heap_mb=256, pagecache_mb=16, progress=False)
    try:
        with Gateway(instance.connection()) as gateway:
            load(TripleSource(COUNTRIES, COUNTRY_NAMES), gateway)
        yield instance
    finally:
        for other in (*instance.others(), instance):
            ServerPair(other.name, instance.servers_dir.parent, cache_dir).reset()


@pytest.mark.long
@pytest.mark.timeout(900)
def test_three_copies_answer_though_one_is_killed_and_another_falls_behind(
    first: ServerPair, cache_dir: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    second, third = first.copy("second", progress=False), first.copy("third", progress=False)
    assert first.status().running
    servers = [first, second, third]
    for server in (second, third):
        server.start(progress=False)
        assert server.status().heap_mb == 256
        with Gateway(server.connection()) as gateway:
            assert verify(gateway).faults == ()
    monkeypatch.setattr(copies, "REST_S", 1.0)
    monkeypatch.setattr(copies, "LOOK_S", 0.0)
    uri = ",".join(server.connection().uri for server in servers)
    settings = Settings(
        uri=uri, password=first.home.password(), cache=str(cache_dir), home=str(first.servers_dir.parent)
    )
    with Engine(settings) as engine:
        before = [engine.ask(text).text for text in QUESTIONS]
        killed = second.status()
        for number in range(10):
            if number == 2:
                os.kill(killed.pid or 0, signal.SIGKILL)
            assert [engine.ask(text).text for text in QUESTIONS] == before
        assert f"{killed.bolt_uri} does not answer: left out" in caplog.text
        second.start(bolt_port=killed.bolt_port, progress=False)
        for _ in range(100):
            if f"{killed.bolt_uri} answers again" in caplog.text:
                break
            assert [engine.ask(text).text for text in QUESTIONS] == before
        else:
            pytest.fail("the copy that was started again was never asked")
        with Engine(replace(settings, uri=first.connection().uri)) as alone:
            alone.add([("m.peru", "mayor_of_the_capital", "m.ana")], names={"m.ana": "Ana"})
        for _ in range(6):
            assert engine.ask("Who is the mayor of the capital of Peru?").names == ("Ana",)
        assert f"{third.connection().uri} is behind" in caplog.text


@pytest.mark.long
def test_a_copy_replaces_no_server(first: ServerPair) -> None:
    with pytest.raises(EmbeddedServerError, match="there is a server 'first' already"):
        first.copy("first")
