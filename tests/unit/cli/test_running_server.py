"""Where no server is named and the default one does not run, the only one that does is asked."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lodestar.engine.cli.options import find_running_server
from lodestar.engine.linking.entity_index import index_folder
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.settings import Settings, make_connection


def server(name: str, *others: Any, running: bool) -> Any:
    return SimpleNamespace(name=name, others=lambda: others, status=lambda: SimpleNamespace(running=running))


def test_each_name_is_a_server_with_an_address_and_an_index_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def status(server: EmbeddedServer) -> Any:
        return SimpleNamespace(phase="running", running=True, bolt_uri=f"bolt://{server.name}")

    monkeypatch.setattr(EmbeddedServer, "status", status)
    both = [Settings(home=str(tmp_path), name=name) for name in ("films", "laws")]
    for each in both:
        home = EmbeddedServer.of(each).home
        home.create()
        home.private_file("password", each.name)
    connections = [make_connection(each) for each in both]
    assert [(each.uri, each.password) for each in connections] == [("bolt://films", "films"), ("bolt://laws", "laws")]
    assert len({index_folder(*each) for each in zip(both, connections, strict=True)}) == 2


@pytest.mark.parametrize(
    ("default", "others", "asked"),
    [
        (False, {"demo": True, "films": False}, "demo"),
        (True, {"demo": True}, "default"),
        (False, {"demo": True, "films": True}, "default"),
        (False, {}, "default"),
    ],
)
def test_the_only_running_server_is_asked_and_said(
    default: bool,
    others: dict[str, bool],
    asked: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    known = [server(name, running=running) for name, running in others.items()]
    monkeypatch.setattr(EmbeddedServer, "of", lambda _settings: server("default", *known, running=default))
    assert find_running_server(Settings()).name == asked
    assert ("'demo' is, and is asked" in capsys.readouterr().err) == (asked == "demo")
