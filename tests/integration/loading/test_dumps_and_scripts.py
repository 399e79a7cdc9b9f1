"""A dump and a script are read by a server of their own, which is gone afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from lodestar.engine.errors import InputError
from lodestar.engine.neo4j import server_process
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.settings import resolve_settings
from lodestar.loaders.formats import source_class
from neo4j import GraphDatabase

from tests.made.property_graphs import MOVIES, write_graph
from tests.references.read_source import read_source

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]


def test_a_script_with_files_of_its_folder_and_a_dump(
    tmp_path: Path, cache_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LODESTAR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LODESTAR_CACHE", str(cache_dir))
    (tmp_path / "people.csv").write_text("name,born\nAnn,1961\n")
    script = tmp_path / "people.cypher"
    script.write_text(
        "LOAD CSV WITH HEADERS FROM 'https://example.org/people.csv' AS row CREATE (:Person {name: row.name});\n"
        "MATCH (p:Person) CREATE (p)-[:KNOWS]->(:Person {name: 'Bo'});"
    )
    found = read_source(source_class("cypher")(str(script), run_script=True))
    assert [triple for triple in found.triples if triple[1] == "KNOWS"] == [("n0", "KNOWS", "n1")]
    assert (found.names["n0"], found.names["n1"]) == (["Ann"], ["Bo"])
    server = EmbeddedServer("made", tmp_path / "made", resolve_settings().cache_dir)
    server.start(heap_mb=512, progress=False)
    connection = server.connection()
    with GraphDatabase.driver(connection.uri, **connection.driver_options) as driver:
        write_graph(driver, MOVIES)
    server.stop()
    server_process.run_admin_command(
        server.home, server.jars.ensure(), ("database", "dump", "neo4j", f"--to-path={tmp_path}")
    )
    server.reset()
    source = source_class("dump")(str(tmp_path / "neo4j.dump"))
    assert source.name == "neo4j.dump"
    assert "Cloud Atlas" in {name for names in read_source(source).names.values() for name in names}
    (tmp_path / "cut.dump").write_bytes((tmp_path / "neo4j.dump").read_bytes()[:500])
    with pytest.raises(InputError, match="the dump cannot be loaded"):
        source_class("dump")(str(tmp_path / "cut.dump"))
    assert [*(tmp_path / "home" / "staging").glob("server-*")] == []
