"""Every template in `cypher/` against the real planner: it compiles, without warnings, and is anchored."""

from __future__ import annotations

import re
from typing import Any

import neo4j
import pytest
from lodestar.engine.neo4j import list_query_names, load_query
from lodestar.engine.settings import Connection

# Operators that read a whole label or every node or relationship.
SCANS = {"AllNodesScan", "NodeByLabelScan", "DirectedAllRelationshipsScan", "UndirectedAllRelationshipsScan"}

# Queries whose purpose is to read everything of a kind (maintenance, or a handful of nodes of Lodestar's own).
READS_ALL = re.compile(
    r"adopt_|check_signatures|read_relation_counts|refresh_|read_catalogue|read_graph_state|.*_browser_|clear_"
    r"|stream_names_of|unmark_load|read_loads|read_edition|delete_|unload_|read_hubs|stream_mediator_relations"
    r"|sample_steps|check_(?:nodes|relationships)"
    r"|read_(?:nodes|relationships)"  # by ranges of ids: of a small graph a scan is less; see test_property_graph.py
)

# What is filled in for a name in a query's text.
NAMES = {
    "RELATION": "location.country.capital",
    "TYPES": ["location.country.capital"],
    "TAIL": "Literal",
    "LABEL": "Entity",
    "NODES": "true",
    "RELATIONSHIPS": "true",
}


def plan_operators(plan: dict[str, Any]) -> set[str]:
    name = str(plan["operatorType"]).split("@")[0]
    return {name}.union(*(plan_operators(child) for child in plan.get("children", [])))


# A schema command has no plan; the loaders' tests run it.
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("name", [name for name in list_query_names() if load_query(name).mode != "schema"])
def test_it_compiles_without_warnings_and_is_anchored(name: str, connection: Connection) -> None:
    found = load_query(name)
    text = found.render(NAMES)
    # A small graph lacks some labels and properties; every other notification is unexpected.
    options = {
        **connection.driver_options,
        "notifications_min_severity": "INFORMATION",
        "notifications_disabled_classifications": ["UNRECOGNIZED"],
    }
    with (
        neo4j.GraphDatabase.driver(connection.uri, **options) as other,
        other.session(database=connection.database) as session,
    ):
        summary = session.run(f"EXPLAIN {text}", dict.fromkeys(re.findall(r"\$([A-Za-z_]\w*)", found.text))).consume()
    assert [status.status_description for status in summary.gql_status_objects if status.is_notification] == []
    assert summary.plan is not None
    scans = plan_operators(summary.plan) & SCANS
    assert bool(READS_ALL.match(name)) or not scans, f"{name} scans: {scans}"
