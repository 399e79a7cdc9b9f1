"""`lodestar load neo4j`, from a second server that has graphs of the usual examples' shape."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import neo4j
import pytest
from lodestar.engine.neo4j.catalogue import read_catalogue, read_loads
from lodestar.engine.neo4j.embedded import EmbeddedServer
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.settings import Connection
from lodestar.loaders.formats.neo4j_graphs import Neo4jGraph
from lodestar.loaders.loading import LoadOptions, LoadReport, Mode, load
from lodestar.loaders.maintaining import verify
from lodestar.loaders.property_graph import PropertyGraphSource

from tests.conftest import clear_database
from tests.made.property_graphs import MOVIES, write_graph

pytestmark = [pytest.mark.usefixtures("empty_graph"), pytest.mark.long]


@pytest.fixture(scope="module")
def source_connection(source_server: EmbeddedServer) -> Connection:
    return source_server.connection()


@pytest.fixture(scope="module")
def theirs(source_connection: Connection) -> Iterator[neo4j.Driver]:
    """What arranges and looks up the graph that is read."""
    with neo4j.GraphDatabase.driver(source_connection.uri, **source_connection.driver_options) as driver:
        yield driver


@pytest.fixture
def source_gateway(source_connection: Connection, theirs: neo4j.Driver) -> Iterator[Gateway]:
    clear_database(theirs, "neo4j")
    with Gateway(source_connection) as gateway:
        yield gateway


def load_from(source_gateway: Gateway, gateway: Gateway, staging: Path, mode: Mode = "new") -> LoadReport:
    source = PropertyGraphSource(Neo4jGraph(source_gateway))
    return load(source, gateway, LoadOptions(staging=staging, mode=mode))


def triples(driver: neo4j.Driver) -> set[tuple[str, str, str]]:
    """Return the triples of the graph that was loaded, by names, values and labels; unnamed is "…"."""
    found = driver.execute_query(
        "MATCH (h:Entity)-[r]->(t:Entity|Literal) RETURN coalesce(h.name, '…'), type(r), coalesce(t.name, t.value, '…')"
    )
    return {tuple(record) for record in found.records}


def test_a_graph_is_read_and_its_changes_and_deletions_are_followed(
    source_gateway: Gateway, theirs: neo4j.Driver, gateway: Gateway, driver: neo4j.Driver, tmp_path: Path
) -> None:
    write_graph(theirs, MOVIES)
    report = load_from(source_gateway, gateway, tmp_path)
    found = triples(driver)
    assert {
        ("Lana Wachowski", "DIRECTED", "Cloud Atlas"),
        ("Tom Hanks", "ACTED_IN", "…"),
        ("…", "ACTED_IN", "Cloud Atlas"),
        ("…", "roles", "Dr. Henry Goose"),
        ("…", "rating", "95"),
        ("The Matrix", "released", "1999"),
        ("Jessica Thompson", "type", "Person"),
        ("Jessica Thompson", "type", "Critic"),
    } <= found
    assert ("Tom Hanks", "ACTED_IN", "Cloud Atlas") not in found
    assert (report.num_entities, report.num_unnamed, report.num_names) == (10 + 3 + 5, 5, 13)
    assert report.left_out == {}
    ranges = {relation.name: relation.range for relation in gateway.run(read_catalogue()).relations}
    assert (ranges["ACTED_IN"], ranges["DIRECTED"]) == ("Movie", "Movie")
    (their_id,) = theirs.execute_query("MATCH (n {name: 'Tom Hanks'}) RETURN elementId(n)").records[0]
    (our_id,) = driver.execute_query("MATCH (n:Entity {name: 'Tom Hanks'}) RETURN n.id").records[0]
    assert our_id == their_id

    again = load_from(source_gateway, gateway, tmp_path)
    assert again.already_loaded
    theirs.execute_query(
        "MATCH (n {name: 'Tom Tykwer'}) DETACH DELETE n WITH 1 AS one MATCH (m {title: 'Cloud Atlas'}) SET m.released = 2013"
    )
    changed = load_from(source_gateway, gateway, tmp_path, mode="replace")
    assert changed.sha256 != report.sha256
    found = triples(driver)
    assert ("Cloud Atlas", "released", "2013") in found
    assert ("Cloud Atlas", "released", "2012") not in found
    assert not any("Tom Tykwer" in triple for triple in found)
    assert [manifest.number for manifest in gateway.run(read_loads())] == [1]
    assert verify(gateway).faults == ()
