"""What a gateway asks sees what it wrote, and streams rows in little memory, with no transaction left behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import neo4j
import pytest
from lodestar.engine.errors import DatabaseError, DatabaseUnavailableError
from lodestar.engine.neo4j import QueryTemplate, Request, load_query
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Connection

from tests.made.graphs import COUNTRIES, TripleSource, load


def nothing(name: str, **params: object) -> Request[None]:
    return Request(load_query(name), params, lambda _: None)


def hold(gateway: Gateway) -> None:
    with gateway.hold_load_lock() as held:
        held.check()


WAYS: dict[str, Callable[[Gateway], object]] = {
    "fetch": lambda gateway: gateway.run(nothing("read_catalogue")),
    "execute": lambda gateway: gateway.execute(nothing("ensure_load_lock")),
    "hold_load_lock": hold,
    "stream": lambda gateway: list(gateway.stream(nothing("stream_names"))),
}


@pytest.fixture
def routed(connection: Connection) -> Iterator[Gateway]:
    """The test's server as a cluster of one."""
    with Gateway(replace(connection, uri=connection.uri.replace("bolt://", "neo4j://"))) as gateway:
        yield gateway


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.usefixtures("empty_graph")
def test_every_way_to_ask_knows_what_was_written(routed: Gateway, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    load(TripleSource(COUNTRIES), routed)
    manager = routed._driver.execute_query_bookmark_manager
    asked: list[set[str]] = []
    bookmarks = manager.get_bookmarks

    def noted() -> set[str]:
        asked.append(set(bookmarks()))
        return asked[-1]

    monkeypatch.setattr(manager, "get_bookmarks", noted)
    before = bookmarks()
    WAYS[way](routed)
    assert before
    assert asked[0] == before


COUNTING = QueryTemplate("counting", "read", "UNWIND range(1, $last) AS n\nRETURN n, toString(n) AS text")
FAILING = QueryTemplate("failing", "read", "UNWIND range(1, $last) AS n\nRETURN 1 / (n - 3) AS n")


def numbers(last: int) -> Request[int]:
    return Request(COUNTING, {"last": last}, lambda rows: int(rows[0][0]))


def open_transactions(driver: neo4j.Driver) -> int:
    text = "SHOW TRANSACTIONS YIELD metaData WHERE metaData.query = 'counting' RETURN count(*)"
    return int(driver.execute_query(text).records[0][0])


def test_who_stops_early_ends_the_transaction(gateway: Gateway, driver: neo4j.Driver) -> None:
    rows = gateway.stream(numbers(1_000_000_000), 10)
    assert [next(rows) for _ in range(25)] == list(range(1, 26))
    assert open_transactions(driver) == 1
    started_s = time.monotonic()
    rows.close()
    assert time.monotonic() - started_s < 10
    assert open_transactions(driver) == 0
    for number in gateway.stream(numbers(1_000_000_000), 10):
        if number == 3:
            break
    assert open_transactions(driver) == 0


def test_errors_are_lodestars_wherever_they_come(gateway: Gateway) -> None:
    rows = gateway.stream(Request(FAILING, {"last": 10}, lambda rows: int(rows[0][0])), 1)
    with pytest.raises(DatabaseError, match="/ by zero"):
        list(rows)
    with Gateway(Connection("bolt://127.0.0.1:1", password="x")) as nowhere:
        rows = nowhere.stream(numbers(1))
        with pytest.raises(DatabaseUnavailableError):
            next(rows)
