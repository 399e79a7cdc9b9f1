"""On a cluster what was written is seen by what is asked next, through whichever way: they share their bookmarks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.neo4j.load_lock import hold_load_lock
from lodestar.engine.neo4j.templates import Request, template

from tests.made.graphs import COUNTRIES, TripleSource, load


def nothing(name: str, **params: object) -> Request[None]:
    return Request(template(name), params, lambda _: None)


def hold(gateway: Gateway) -> None:
    with gateway.hold_transaction(hold_load_lock()) as held:
        assert held.alive()


WAYS: dict[str, Callable[[Gateway], object]] = {
    "fetch": lambda gateway: gateway.fetch(nothing("read_catalogue")),
    "execute": lambda gateway: gateway.execute(nothing("ensure_load_lock")),
    "hold_transaction": hold,
    "stream": lambda gateway: list(gateway.stream(nothing("stream_names"))),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.usefixtures("empty_graph")
def test_every_way_to_ask_knows_what_the_others_wrote(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    load(TripleSource(COUNTRIES), gateway)
    manager = gateway._drivers[0].execute_query_bookmark_manager
    asked: list[set[str]] = []
    bookmarks = manager.get_bookmarks

    def noted() -> set[str]:
        asked.append(set(bookmarks()))
        return asked[-1]

    monkeypatch.setattr(manager, "get_bookmarks", noted)
    before = bookmarks()
    WAYS[way](gateway)
    assert before
    assert asked[0] == before
