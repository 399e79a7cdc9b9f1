"""On a cluster what was written is seen by what is asked next, through whichever way: they share their bookmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from lodestar.engine.neo4j import Request, template
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Connection

from tests.made.graphs import COUNTRIES, TripleSource, load


def nothing(name: str, **params: object) -> Request[None]:
    return Request(template(name), params, lambda _: None)


def hold(gateway: Gateway) -> None:
    with gateway.hold_load_lock() as held:
        assert held.alive()


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
def test_every_way_to_ask_knows_what_the_others_wrote(
    routed: Gateway, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
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


@pytest.mark.usefixtures("empty_graph")
def test_what_another_process_wrote_is_waited_for(routed: Gateway, connection: Connection) -> None:
    load(TripleSource(COUNTRIES), routed)
    assert (routed.connection.is_routed, connection.is_routed) == (True, False)
    routed.run(nothing("read_catalogue"))
    written = routed._driver.execute_query_bookmark_manager.get_bookmarks()
    with Gateway(routed.connection) as other:
        manager = other._driver.execute_query_bookmark_manager
        assert not manager.get_bookmarks()
        other.version()
        assert manager.get_bookmarks() == written
