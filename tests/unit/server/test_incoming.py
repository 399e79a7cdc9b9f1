"""The incoming server's folder, lock and ports, without a Neo4j."""

from __future__ import annotations

import shutil
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from lodestar.engine.errors import EmbeddedServerError, LoadInProgressError, StorageError
from lodestar.engine.neo4j import home as home_of_server
from lodestar.engine.neo4j.bulk_import import ImportFiles, ImportFileWriter, import_graph
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.neo4j.home import ServerHome, ServerState

STATE = ServerState("5.26.30", 9000, 9001, 512, 256)


@pytest.fixture
def instance(tmp_path: Path) -> EmbeddedServer:
    return EmbeddedServer("default", tmp_path / "home", tmp_path / "cache")


def remembered(instance: EmbeddedServer, bolt_port: int, http_port: int) -> None:
    instance.home.create()
    instance.home.write_state(replace(STATE, bolt_port=bolt_port, http_port=http_port))


def test_its_ports_are_never_another_servers(instance: EmbeddedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    remembered(instance, 50_001, 50_002)
    asked: list[set[int]] = []

    def free_port(avoid: set[int]) -> int:
        asked.append(avoid)
        return 50_010 + len(asked)

    monkeypatch.setattr(home_of_server, "is_free", lambda _port: True)
    monkeypatch.setattr(home_of_server, "free_port", free_port)
    given: dict[str, int | None] = dict.fromkeys(("bolt_port", "http_port", "heap_mb", "pagecache_mb"))
    state = instance.incoming()._plan(given)
    assert (state.bolt_port, state.http_port) == (50_011, 50_012)
    assert all(avoid >= {7687, 7474, 50_001, 50_002} for avoid in asked)
    assert 50_011 in asked[1]


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


def test_what_was_never_imported_is_not_adopted(instance: EmbeddedServer) -> None:
    incoming = instance.incoming()
    incoming.home.create()
    with pytest.raises(EmbeddedServerError, match="expected the loaded graph"):
        instance.adopt(incoming, progress=False)
    assert not instance.has_graph


@pytest.fixture
def files(tmp_path: Path) -> ImportFiles:
    with ImportFileWriter(tmp_path / "n.csv") as writer:
        writer.write(pa.table({":ID(n)": [0, 1], "id": ["a", "b"]}))
    return ImportFiles(tmp_path, (("Entity", writer.written),))


@pytest.fixture
def home(tmp_path: Path) -> ServerHome:
    home = ServerHome(tmp_path / "one")
    home.create()
    return home


def test_no_room_is_found_out_before_importing(
    home: ServerHome, files: ImportFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 9 * 10**8, 10**8))
    with pytest.raises(
        StorageError, match=r"no room left on the disk of .*data: the graph needs about 0\.3 GB, 0\.1 GB"
    ):
        import_graph(home, [], files)
    assert not home_of_server.has_graph(home)
