"""Dockerfile and docker-compose.yml, as far as they can be checked without Docker: by their parsers."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from lodestar.engine.neo4j.home import ServerState, configuration
from lodestar.engine.neo4j.jars import NEO4J_VERSION

from tests.places import ROOT


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    return found


def test_neo4j_is_the_version_of_the_embedded_server_and_has_settings_that_it_knows(compose: dict[str, Any]) -> None:
    service = compose["services"]["neo4j"]
    assert service["image"] == f"neo4j:{'.'.join(NEO4J_VERSION.split('.')[:2])}-community"
    names = (name.removeprefix("NEO4J_") for name in service["environment"] if name != "NEO4J_AUTH")
    given = {name.replace("__", " ").replace("_", ".").replace(" ", "_") for name in names}
    assert len(given) > 5
    assert given <= set(configuration(ServerState(NEO4J_VERSION, 7687, 7474, 512, 128)))
