"""The incoming server's folder, lock and ports, without a Neo4j."""

from __future__ import annotations

from pathlib import Path

import pytest
from lodestar.engine.errors import LoadInProgressError
from lodestar.engine.neo4j.embedded import EmbeddedServer


@pytest.fixture
def instance(tmp_path: Path) -> EmbeddedServer:
    return EmbeddedServer("default", tmp_path / "home", tmp_path / "cache")


def test_one_load_at_a_time(instance: EmbeddedServer) -> None:
    with instance.loading() as incoming:
        again = EmbeddedServer(instance.name, instance.servers_dir.parent, instance.jars.folder.parent)
        with pytest.raises(LoadInProgressError, match="another lodestar is loading into 'default'"), again.loading():
            pass
        assert incoming.home.folder.exists()
    with instance.loading():
        pass


def test_a_load_begins_with_an_empty_server_and_leaves_no_graph(instance: EmbeddedServer) -> None:
    incoming = instance.incoming()
    incoming.home.create()
    (incoming.home.logs / "debug.log").write_text("of a load that failed")
    with pytest.raises(ZeroDivisionError), instance.loading() as incoming:
        assert list(incoming.home.logs.iterdir()) == []
        for part in ("databases", "transactions"):
            (incoming.home.data / part / "neo4j").mkdir(parents=True)
        (incoming.home.data / "databases" / "neo4j" / "neostore").touch()
        (incoming.home.logs / "import.log").write_text("why")
        assert incoming.has_graph
        raise ZeroDivisionError
    assert not incoming.has_graph
    assert not (incoming.home.data / "databases" / "neo4j").exists()
    assert (incoming.home.logs / "import.log").read_text() == "why"
