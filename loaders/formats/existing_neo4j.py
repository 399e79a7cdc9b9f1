"""Read a Neo4j that is already there: its nodes, then its relationships, both without vectors.

Nothing is written there: every query runs with access mode READ. An entity's id is its node's element id, a record's
the relationship's.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...engine.neo4j import Request, Row, template
from ...engine.neo4j.gateway import Gateway
from ..mapping import MAX_NUMBERS
from ..property_graph import Element, Node, PropertyGraph, Relationship

FETCH_SIZE = 2_000


class Neo4jGraph(PropertyGraph):
    kind = "neo4j"

    def __init__(self, gateway: Gateway) -> None:
        connection = gateway.connection
        super().__init__(f"{connection.where}/{connection.database}")
        self._gateway = gateway
        self.options = {"from": connection.where, "from_database": connection.database, "from_user": connection.user}
        self.expected = (
            f"expected nodes in database {connection.database!r}, found none that {connection.user!r} may read: check "
            "--from-database, and the user's rights"
        )

    def elements(self) -> Iterator[Element]:
        for id_, labels, properties in self._stream("read_nodes"):
            yield Node(id_, labels, sorted(properties))
        for id_, type_, start, end, properties in self._stream("read_relationships"):
            yield Relationship(id_, type_, start, end, sorted(properties))

    def _stream(self, query: str) -> Iterator[Row]:
        return self._gateway.stream(Request(template(query), {"most": MAX_NUMBERS}, lambda rows: rows[0]), FETCH_SIZE)


def read_database_id(gateway: Gateway) -> str:
    """Return the id of the database, which is the same under every address."""
    return gateway.run(Request(template("read_database_id"), {}, lambda rows: str(rows[0][0])))
