"""Pictures for Neo4j Browser in a real Neo4j: exactly the retrieval, replaced, side by side, and gone without a trace."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import neo4j
import pytest
from lodestar.engine import neo4j_browser
from lodestar.engine.data_model import Chain, Entity, Question, Triple
from lodestar.engine.evidence import Evidence
from lodestar.engine.neo4j import Request, load_query
from lodestar.engine.neo4j.catalogue import read_catalogue, read_graph_state
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.neo4j_browser import (
    make_picture,
    make_picture_id,
    make_picture_query,
    store_picture_in_database,
)
from lodestar.engine.settings import Connection

from tests.made.evidence import Path
from tests.made.graphs import COUNTRIES, COUNTRY_NAMES, TripleSource, load
from tests.made.pictures import country_retrieval, neighbours, scored
from tests.places import ROOT

BROWSER_URL = "http://127.0.0.1:7474/browser/"

# More relationships between entities that the picture shows, which are not on its paths: Peru is the hub.
HUB = tuple(
    ("m.peru", relation, other)
    for other in ("m.lima", "m.sol", "m.chile", "m.brazil", "m.adj1")
    for relation in ("hub.a", "hub.b", "location.country.capital")
)


@pytest.fixture
def session(
    empty_graph: None, gateway: Gateway, driver: neo4j.Driver, connection: Connection
) -> Iterator[neo4j.Session]:
    load(TripleSource(COUNTRIES + HUB, COUNTRY_NAMES | {"m.brazil": "Brazil"}), gateway)
    with driver.session(database=connection.database) as session:
        yield session


def state(session: neo4j.Session) -> dict[str, Any]:
    """Everything that a reader of the database can count or list."""
    asked = {
        "nodes": "MATCH (n) RETURN count(n)",
        "relationships": "MATCH ()-[r]->() RETURN count(r)",
        "labels": "CALL db.labels() YIELD label RETURN label ORDER BY label",
        "types": "CALL db.relationshipTypes() YIELD relationshipType AS t RETURN t ORDER BY t",
        "schema": "SHOW INDEXES YIELD name RETURN name ORDER BY name",
        "constraints": "SHOW CONSTRAINTS YIELD name RETURN name ORDER BY name",
        "contents": "MATCH (n) OPTIONAL MATCH (n)-[r]->(m) "
        "RETURN labels(n) AS labels, properties(n) AS node, type(r) AS type, properties(r) AS facts, m.id AS other "
        "ORDER BY elementId(n), elementId(r)",
    }
    return {name: session.run(text).data() for name, text in asked.items()}


def num_nodes(session: neo4j.Session) -> int:
    return int(session.run("MATCH (n) RETURN count(n)").single(strict=True).value())


def shown(session: neo4j.Session, evidence: Evidence[Chain]) -> tuple[list[str], set[tuple[str, str, str]]]:
    """The names and the arrows that the link's query gives, as Browser runs it and completes it."""
    result = session.run(make_picture_query(make_picture_id(evidence.question)))
    graph = result.graph()
    ids = [node.element_id for node in graph.nodes]
    completed = session.run(
        "MATCH (a)-[r]->(b) WHERE elementId(a) IN $ids AND elementId(b) IN $ids RETURN a.name, type(r), b.name", ids=ids
    ).values()
    assert len(completed) == len(graph.relationships)
    return sorted(node["name"] for node in graph.nodes), {(a, r, b) for a, r, b in completed}


def expected(evidence: Evidence[Chain]) -> tuple[list[str], set[tuple[str, str, str]]]:
    picture = make_picture(evidence)
    names = [node["properties"]["name"] for node in picture.nodes]
    return sorted(names), {(names[a["start"]], a["type"], names[a["end"]]) for a in picture.arrows}


def test_the_same_question_replaces_its_picture_and_others_stay(session: neo4j.Session, gateway: Gateway) -> None:
    first, other = country_retrieval(), country_retrieval("And which currency is that?")
    assert store_picture_in_database(gateway, BROWSER_URL, first) != store_picture_in_database(
        gateway, BROWSER_URL, other
    )
    before = num_nodes(session)
    fewer = first.cut_to(1)
    link = store_picture_in_database(gateway, BROWSER_URL, fewer)
    assert link == store_picture_in_database(gateway, BROWSER_URL, fewer)
    assert num_nodes(session) < before
    assert shown(session, fewer) == expected(fewer)
    assert shown(session, other) == expected(other)


def test_the_newest_pictures_stay(session: neo4j.Session, gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neo4j_browser, "MAX_PICTURES", 2)
    for text in ("one?", "two?", "three?"):
        store_picture_in_database(gateway, BROWSER_URL, country_retrieval(text))
    names = session.run("MATCH (q:LodestarQuestion) RETURN q.name AS name").value("name")
    assert sorted(names) == ["three?", "two?"]


def test_the_query_of_the_page_removes_every_trace(session: neo4j.Session, gateway: Gateway) -> None:
    (query,) = re.findall(
        r"^MATCH .*DELETE.*$", (ROOT / "docs" / "browser.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    before = state(session)
    store_picture_in_database(gateway, BROWSER_URL, country_retrieval())
    store_picture_in_database(gateway, BROWSER_URL, neighbours(200, extra_paths=20))
    assert state(session) != before
    session.run(query).consume()
    assert state(session) == before


def test_a_picture_is_invisible_to_everything_that_reads_the_graph(session: neo4j.Session, gateway: Gateway) -> None:
    def seen() -> list[Any]:
        wrong = Request(load_query("check_signatures"), {}, lambda rows: rows[0][0])
        counts = Request(load_query("read_relation_counts"), {}, sorted)
        return [gateway.run(r) for r in (wrong, counts)] + [
            gateway.run(read_catalogue()),
            gateway.run(read_graph_state()),
        ]

    before = seen()
    store_picture_in_database(gateway, BROWSER_URL, country_retrieval())
    assert seen() == before
    assert before[0] == 0


def test_relations_of_any_name_are_drawn_verbatim(session: neo4j.Session, gateway: Gateway) -> None:
    relations = ["a b", "`]->() DETACH DELETE n //", "is$a", "ist_größer", "http://example.org/#x"]
    entities = [Entity("m.peru", "Peru"), *(Entity(f"x{i}", f"{i}'\"\\") for i in range(len(relations)))]
    paths = [
        scored(1.0 - i / 10, [Path((Triple(entities[0], relation, entities[i + 1]),), (False,))])
        for i, relation in enumerate(relations)
    ]
    evidence = Evidence(Question("'; MATCH (n) DETACH DELETE n //"), (), "chain", tuple(paths))
    store_picture_in_database(gateway, BROWSER_URL, evidence)
    assert shown(session, evidence) == expected(evidence)
