"""The small world of `serve --demo` goes into an embedded server, whatever database the environment names."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from lodestar.engine.cli import demo, serve
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.serving import server
from lodestar.engine.settings import Settings


@pytest.mark.parametrize(("name", "expected"), [("", "demo"), ("mine", "mine")])
def test_the_world_is_not_loaded_into_a_database_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, name: str, expected: str
) -> None:
    used: list[Settings] = []

    def note(settings: Settings, *_rest: Any, **_more: Any) -> Any:
        used.append(settings)
        return SimpleNamespace(start=lambda: None)

    monkeypatch.setattr(EmbeddedServer, "of", note)
    monkeypatch.setattr(demo, "load_world", note)
    monkeypatch.setattr(server, "run_server", note)
    env = {"LODESTAR_URI": "neo4j://graph.example.org", "LODESTAR_NAME": name}
    ran = CliRunner().invoke(serve.command, ["--demo"], env=env)
    assert ran.exit_code == 0, ran.output
    assert [(each.uri, each.name) for each in used] == [("", expected)] * 3
