"""A database that others use too: what is not of Lodestar's loads is not taken over, counted, overwritten or deleted."""

from __future__ import annotations

import neo4j
import pytest
from lodestar.engine.errors import UsageError
from lodestar.engine.neo4j.catalogue import read_catalogue, read_loads
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.writing import count_in_graph
from lodestar.loaders.loading import LoadOptions, LoadPlan, Mode, choose_writer
from lodestar.loaders.maintaining import unload, verify
from lodestar.loaders.stage import StageCounts

from tests.made.graphs import COUNTRIES, COUNTRY_NAMES, TripleSource, load

CAPITAL = "location.country.capital"

pytestmark = pytest.mark.usefixtures("empty_graph")


@pytest.mark.parametrize("mode", ["new", "append", "replace"])
@pytest.mark.parametrize("label", ["Entity", "Literal"])
def test_nodes_that_no_load_wrote_are_not_taken_over(
    gateway: Gateway, driver: neo4j.Driver, mode: Mode, label: str
) -> None:
    driver.execute_query("CREATE (:$($label) {id: 'm.peru', name: 'Mine'})-[:MINE]->(:$($label))", label=label)
    with pytest.raises(UsageError, match=r"2 nodes called Entity or Literal that no load of Lodestar's wrote"):
        load(TripleSource(COUNTRIES, COUNTRY_NAMES), gateway, mode=mode)
    (record,) = driver.execute_query("MATCH (n)-[r:MINE]->() RETURN n.name, keys(n)").records
    assert (record[0], set(record[1])) == ("Mine", {"id", "name"})
    assert gateway.run(read_loads()) == ()


def test_a_database_with_other_nodes_is_not_exchanged() -> None:
    counts = StageCounts(1_000_000, 1, 0, 1, 0, 0, 0, 0)
    plan = LoadPlan(1, replaces=True, num_other_nodes=7)
    assert choose_writer(LoadOptions(), plan, counts) == (
        "online",
        "the database has 7 nodes that are not Lodestar's, which stay",
    )
    with pytest.raises(UsageError, match=r"--writer bulk .* 7 nodes that are not Lodestar's too: load online"):
        choose_writer(LoadOptions(writer="bulk"), plan, counts)


def test_relationships_between_other_nodes_are_no_triples(gateway: Gateway, driver: neo4j.Driver) -> None:
    driver.execute_query("CREATE (:Person)-[:$($type)]->(:Person), (:Person)-[:mine]->(:Person)", type=CAPITAL)
    load(TripleSource(COUNTRIES), gateway)
    relations = gateway.run(read_catalogue()).relations
    assert {r.name: r.count for r in relations}[CAPITAL] == 2
    driver.execute_query("MATCH (e:Entity {id: 'm.lima'}) CREATE (:Person)-[:$($type)]->(e)", type=CAPITAL)
    assert count_in_graph(gateway, relations) == {r.name: r.count for r in relations}
    assert verify(gateway).faults == ()
    load(TripleSource([("m.peru", CAPITAL, "m.cusco")]), gateway, mode="append")
    assert {r.name: r.count for r in gateway.run(read_catalogue()).relations}[CAPITAL] == 3


def test_what_others_add_to_the_graph_outlives_the_loads(gateway: Gateway, driver: neo4j.Driver) -> None:
    load(TripleSource(COUNTRIES, COUNTRY_NAMES), gateway)
    load(TripleSource([("m.peru", CAPITAL, "m.cusco"), ("a", "r", "b")]), gateway, mode="append")
    driver.execute_query(
        "MATCH (peru:Entity {id: 'm.peru'}), (lima:Entity {id: 'm.lima'}), (a:Entity {id: 'a'}) "
        "CREATE (peru)-[:visited]->(lima), (:Person)-[:likes]->(a), (:Entity {id: 'mine'})-[:mine]->(:Literal)"
    )
    unload(gateway, "2")
    assert found(driver) == {("m.peru", "visited"), (None, "likes"), ("mine", "mine")}
    (record,) = driver.execute_query("MATCH (e:Entity {id: 'a'}) RETURN labels(e), e.signature_relations").records
    assert tuple(record) == (["Entity"], [])
    peru = driver.execute_query("MATCH (e:Entity {id: 'm.peru'}) RETURN e.signature_relations, e.signature_counts")
    assert len(peru.records[0][0]) == len(peru.records[0][1])
    load(TripleSource(COUNTRIES, COUNTRY_NAMES), gateway, force=True)
    load(TripleSource([("x", "r", "y")]), gateway, mode="replace")
    assert found(driver) == {("m.peru", "visited"), (None, "likes"), ("mine", "mine")}
    unload(gateway, "1")
    assert found(driver) == {("m.peru", "visited"), (None, "likes"), ("mine", "mine")}


def found(driver: neo4j.Driver) -> set[tuple[str | None, str]]:
    """Return what others put into the graph."""
    text = "MATCH (h)-[r]->() WHERE type(r) IN ['visited', 'likes', 'mine'] RETURN h.id, type(r)"
    return {(id_, type_) for id_, type_ in driver.execute_query(text).records}
