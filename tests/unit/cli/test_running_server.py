"""Where no server is named and the default one does not run, the only one that does is asked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from lodestar.engine.cli.options import find_running_server
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.settings import Settings


def server(name: str, *others: Any, running: bool) -> Any:
    return SimpleNamespace(name=name, others=lambda: others, status=lambda: SimpleNamespace(running=running))


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
