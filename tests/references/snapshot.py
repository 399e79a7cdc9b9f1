"""All that a graph holds, by content, so that two graphs can be compared: internal ids and times are left out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import neo4j

TIMES = ("started", "finished", "described", "writer")
"""What two loads of the same content may differ in: when they ran, when kinds were found, and how they wrote."""


@dataclass(frozen=True)
class Snapshot:
    """Nodes and relationships with how often each is there, and the schema."""

    nodes: Counter[str]
    relationships: Counter[str]
    schema: tuple[str, ...]


def snapshot(driver: neo4j.Driver) -> Snapshot:
    with driver.session() as session:
        nodes = Counter(
            repr((sorted(labels), _properties(properties)))
            for labels, properties in session.run("MATCH (n) WHERE NOT n:LoadLock RETURN labels(n), properties(n)")
        )
        relationships = Counter(
            repr((head, type_, _properties(properties), tail, sorted(labels)))
            for head, type_, properties, tail, labels in session.run(
                "MATCH (h)-[r]->(t) RETURN h.id, type(r), properties(r), t.id, labels(t)"
            )
        )
        constraints = session.run("SHOW CONSTRAINTS YIELD name").value()
        indexes = session.run("SHOW INDEXES YIELD name, type, state WHERE type <> 'LOOKUP' RETURN name + state").value()
    return Snapshot(nodes, relationships, tuple(sorted({*constraints, *indexes} - {"load_lock", "load_lockONLINE"})))


def _properties(properties: dict[str, Any]) -> list[tuple[str, Any]]:
    return sorted((name, value) for name, value in properties.items() if name not in TIMES)
