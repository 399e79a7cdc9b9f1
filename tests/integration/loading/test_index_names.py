"""What entities are found by, written again over a graph of an earlier version."""

from __future__ import annotations

import neo4j
import pytest
from lodestar.engine.errors import GraphError
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.loaders.loads.indexing_names import NamesReport, index_names

from tests.made.graphs import TripleSource, load

pytestmark = pytest.mark.usefixtures("empty_graph")


def test_an_old_graph_gets_its_initials_and_its_index_without_a_load(gateway: Gateway, driver: neo4j.Driver) -> None:
    load(TripleSource([("u", "r", "p"), ("u", "r", "x")], {"u": "United_States_of_America", "p": "Peru"}), gateway)
    read = "MATCH (e:Entity) RETURN e.id, e.search_names ORDER BY e.id"
    loaded = [tuple(record) for record in driver.execute_query(read).records]
    assert loaded == [("p", ["Peru"]), ("u", ["United States of America", "USA", "US"]), ("x", None)]
    driver.execute_query("MATCH (e:Entity {id: 'u'}) SET e.search_names = ['United States of America']")
    driver.execute_query("DROP INDEX entity_names")
    assert index_names(gateway, batch_size=1) == NamesReport(2, 1)
    assert [tuple(record) for record in driver.execute_query(read).records] == loaded
    found = driver.execute_query("CALL db.index.fulltext.queryNodes('entity_names', 'us') YIELD node RETURN node.id")
    assert [tuple(record) for record in found.records] == [("u",)]
    assert index_names(gateway) == NamesReport(2, 0)


def test_no_graph_has_no_names(gateway: Gateway) -> None:
    with pytest.raises(GraphError, match="empty"):
        index_names(gateway)
