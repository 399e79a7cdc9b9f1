"""Graphs as the model has them, written with the plain driver: what reads a graph is tested apart from what loads one."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import neo4j


@dataclass(frozen=True)
class Literal:
    """The tail of a triple that is no entity."""

    value: str
    datatype: str | None = None
    language: str | None = None


Triple = tuple[str, str, "str | Literal"]


@dataclass(frozen=True)
class Names:
    """The name properties of an entity."""

    name: str
    aliases: Sequence[str] = ()
    tags: str | None = None


@dataclass(frozen=True)
class Load:
    """A manifest."""

    number: int = 1
    source: str = "test"
    is_finished: bool = True
    num_triples: int = 0


@dataclass(frozen=True)
class WrittenGraph:
    """Triples with the loads that state them (none: the base load, unsaid), names, and relations not stored as types."""

    triples: Mapping[Triple, Sequence[int]]
    names: Mapping[str, Names] = field(default_factory=dict)
    related: frozenset[str] = frozenset()
    loads: Sequence[Load] = (Load(),)
    lone: Sequence[str] = ()
    """Entities that are in no triple."""

    def write(self, driver: neo4j.Driver) -> None:
        with driver.session() as session:
            for label, property_ in (("Entity", "id"), ("Literal", "id"), ("Relation", "name"), ("Load", "sha256")):
                constraint: Any = (
                    f"CREATE CONSTRAINT {label.lower()}_{property_} IF NOT EXISTS "
                    f"FOR (n:{label}) REQUIRE n.{property_} IS UNIQUE"
                )
                session.run(constraint)
            session.run("CREATE FULLTEXT INDEX entity_names IF NOT EXISTS FOR (e:Entity) ON EACH [e.search_names]")
            session.run("UNWIND $rows AS row CREATE (e:Entity) SET e = row", rows=self._entities())
            session.run("UNWIND $rows AS row CREATE (e:Literal) SET e = row", rows=self._literals())
            for label, kind in (("Entity", str), ("Literal", Literal)):
                query: Any = (
                    "UNWIND $rows AS row MATCH (h:Entity {id: row.head}) "
                    f"MATCH (t:{label} {{id: row.tail}}) CREATE (h)-[r:$(row.type)]->(t) SET r = row.properties"
                )
                session.run(
                    query,
                    rows=[
                        self._row(triple, loads)
                        for triple, loads in self.triples.items()
                        if isinstance(triple[2], kind)
                    ],
                )
            session.run("UNWIND $rows AS row CREATE (r:Relation) SET r = row", rows=self._relations())
            for load in self.loads:
                session.run(
                    "CREATE (l:Load {sha256: $sha256, number: $number, source: $source, kind: 'test', writer: 'online', "
                    "num_triples: $num_triples, graph_version: 3, started: datetime()}) "
                    "SET l.finished = CASE WHEN $finished THEN datetime() END",
                    sha256=f"{load.number:064x}",
                    number=load.number,
                    source=load.source,
                    num_triples=load.num_triples or len(self.triples),
                    finished=load.is_finished,
                )
            session.run("CALL db.awaitIndexes(60)").consume()

    def _row(self, triple: Triple, loads: Sequence[int]) -> dict[str, object]:
        head, relation, tail = triple
        is_related = relation in self.related
        properties = ({"relation": relation} if is_related else {}) | ({"loads": list(loads)} if loads else {})
        type_ = "RELATED" if is_related else relation
        return {"head": head, "type": type_, "tail": stored_id(tail), "properties": properties}

    def _entities(self) -> list[dict[str, object]]:
        degrees = Counter(head for head, _, _ in self.triples)
        degrees.update(tail for _, _, tail in self.triples if isinstance(tail, str))
        return [
            {"id": id_, "degree": degrees[id_]} | self._name_properties(id_)
            for id_ in {*degrees, *self.lone, *self.names}
        ]

    def _name_properties(self, id_: str) -> dict[str, object]:
        if id_ not in self.names:
            return {}
        names = self.names[id_]
        found: dict[str, object] = {"name": names.name, "search_names": [names.name]}
        return (
            found
            | ({"aliases": list(names.aliases)} if names.aliases else {})
            | ({"name_tags": names.tags} if names.tags else {})
        )

    def _literals(self) -> list[dict[str, Any]]:
        found = {stored_id(tail): tail for _, _, tail in self.triples if isinstance(tail, Literal)}
        return [
            {"id": id_, "value": literal.value, "datatype": literal.datatype, "language": literal.language}
            for id_, literal in found.items()
        ]

    def _relations(self) -> list[dict[str, Any]]:
        counts = Counter(relation for _, relation, _ in self.triples)
        return [
            {"name": name, "number": number, "label": name, "count": count}
            | ({"stored_as": "RELATED"} if name in self.related else {})
            for number, (name, count) in enumerate(sorted(counts.items()), start=1)
        ]


def of_base_load(triples: Iterable[Triple]) -> dict[Triple, Sequence[int]]:
    return dict.fromkeys(triples, ())


def stored_id(tail: str | Literal) -> str:
    """Return the id that the graph has for a tail: an entity's own, a literal's term or, when that is long, its hash."""
    if isinstance(tail, str):
        return tail
    escaped = tail.value.translate({92: r"\\", 34: r"\"", 10: r"\n", 13: r"\r", 9: r"\t"})
    term = f'"{escaped}"' + (f"@{tail.language}" if tail.language else f"^^<{tail.datatype}>" if tail.datatype else "")
    return term if len(term.encode()) <= 8_000 else f"sha256:{hashlib.sha256(term.encode()).hexdigest()}"
