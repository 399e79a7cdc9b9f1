"""A graph of model version 2, written with a plain driver: what the reading side is held against, whoever writes graphs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import neo4j
from lodestar.engine.neo4j import Request, load_query
from lodestar.engine.neo4j.catalogue import read_relation_counts
from lodestar.engine.neo4j.gateway import Gateway
from lodestar.engine.writing import add_typed_values_to_rows

SCHEMA = (
    "ensure_entity_id",
    "ensure_literal_id",
    "ensure_relation_name",
    "ensure_relation_number",
    "ensure_load_sha256",
    "ensure_entity_names",
)


def write_graph(
    driver: neo4j.Driver,
    gateway: Gateway,
    triples: Iterable[tuple[str, str, str]],
    names: Mapping[str, str],
    *,
    literals: Mapping[str, str] | None = None,
    related: Collection[str] = (),
) -> None:
    """Add triples that the graph lacks, and make catalogue and signatures right.

    Ids among `literals` are literals with these values; relations in `related` have no type of their own.
    """
    values = literals or {}
    for name in SCHEMA:
        gateway.execute(Request(load_query(name), {}, lambda _: None))
    rows = [
        {"h": h, "r": r, "t": t, "literal": t in values, "related": r in related} for h, r, t in dict.fromkeys(triples)
    ]
    ids = dict.fromkeys(id_ for row in rows for id_ in (str(row["h"]), str(row["t"])) if id_ not in values)
    driver.execute_query(
        "UNWIND $rows AS row MERGE (e:Entity {id: row.id}) SET e += row.names, e.degree = 0",
        rows=[{"id": i, "names": {"name": names[i], "search_names": [names[i]]} if i in names else {}} for i in ids],
    )
    driver.execute_query(
        "UNWIND $rows AS row MERGE (l:Literal {id: row.id}) SET l += row",
        rows=add_typed_values_to_rows({"id": id_, "value": value} for id_, value in values.items()),
    )
    for literal, label in ((False, "Entity"), (True, "Literal")):
        for shared, create in (
            (False, "CREATE (h)-[:$(row.r)]->(t)"),
            (True, "CREATE (h)-[:RELATED {relation: row.r}]->(t)"),
        ):
            text = f"UNWIND $rows AS row MATCH (h:Entity {{id: row.h}}) MATCH (t:{label} {{id: row.t}}) {create}"
            chosen = [row for row in rows if (row["literal"], row["related"]) == (literal, shared)]
            for start in range(0, len(chosen), 10_000):
                driver.execute_query(text, rows=chosen[start : start + 10_000])
    refresh(driver, gateway, related)


def refresh(driver: neo4j.Driver, gateway: Gateway, related: Collection[str]) -> None:
    """Bring catalogue and signatures in line with the graph; numbers stay."""
    counts = gateway.run(read_relation_counts())
    last = int(driver.execute_query("MATCH (r:Relation) RETURN count(r)").records[0][0])
    driver.execute_query(
        "UNWIND $rows AS row MERGE (r:Relation {name: row.name}) ON CREATE SET r += row.facts SET r.count = row.count",
        rows=[
            {
                "name": name,
                "count": count,
                "facts": {"number": number, "label": name} | ({"stored_as": "RELATED"} if name in related else {}),
            }
            for number, (name, count) in enumerate(sorted(counts.items()), start=last + 1)
        ],
    )
    numbers = {name: n for name, n in driver.execute_query("MATCH (r:Relation) RETURN r.name, r.number").records}  # noqa: C416
    params = {"numbers": numbers, "batch_size": 1_000}
    gateway.execute(Request(load_query("refresh_signatures"), params, lambda _: None, {"LABEL": "Entity"}))
    gateway.execute(Request(load_query("await_indexes"), {"timeout_s": 60}, lambda _: None))


def write_load(driver: neo4j.Driver, sha256: str, **properties: object) -> None:
    """Write a manifest; times are given as ISO 8601 text."""
    driver.execute_query(
        "MERGE (l:Load {sha256: $sha256}) SET l += $properties "
        "SET l.started = datetime(l.started), l.finished = datetime(l.finished)",
        sha256=sha256,
        properties=properties,
    )
