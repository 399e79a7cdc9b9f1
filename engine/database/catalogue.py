"""Typed requests that read the relation catalogue, the state of the graph, and the manifests of its loads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from ..errors import GraphError
from .requests import Request, Row
from .templates import template

LABEL_SEPARATOR = " – "


@dataclass(frozen=True, slots=True)
class RelationInfo:
    """A relation of the graph as the catalogue has it.

    `number` is at least 1 and stays when more is loaded. `label` is what a reader would call it, the parts of a
    compound relation parted by `LABEL_SEPARATOR`. `domain` and `range` are the types of head and tail and
    `inverse` the relation that says the same the other way round, each None where no source knew it.
    """

    number: int
    name: str
    label: str
    count: int
    domain: str | None = None
    range: str | None = None
    inverse: str | None = None


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All relations of the graph, by number."""

    relations: tuple[RelationInfo, ...]

    @property
    def fingerprint(self) -> str:
        """A hash that changes whenever a relation, its words or its count changes."""
        digest = hashlib.sha256()
        for r in sorted(self.relations, key=lambda relation: relation.number):
            fields = [r.number, r.name, r.label, r.count, r.domain, r.range, r.inverse]
            digest.update(json.dumps(fields, ensure_ascii=True).encode())
        return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class GraphState:
    """What the graph holds, and whether it is fit for retrieval."""

    num_entities: int
    num_relations: int
    num_triples: int
    unfinished_loads: tuple[str, ...] = ()
    has_entity_id: bool = True
    """The uniqueness constraint of entity ids is there."""
    has_entity_names: bool = True
    """The full-text index of names is there and filled."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was loaded."""
        return self.num_entities == 0 or self.num_triples == 0

    def check(self) -> None:
        """Raise `GraphError` when no question can be answered from this graph."""
        if self.unfinished_loads and (self.is_empty or not self.has_entity_id or not self.has_entity_names):
            raise GraphError(
                f"the load of {self.unfinished_loads[0]} did not finish: run the same `lodestar load` again"
            )
        if self.is_empty:
            raise GraphError("the graph is empty: load one with `lodestar load geonames` or `lodestar load tsv FILE`")
        if not self.has_entity_id:
            raise GraphError("the graph has no constraint entity_id: load it again with `lodestar load … --force`")
        if not self.has_entity_names:
            raise GraphError("the graph has no name index entity_names: load it again with `lodestar load … --force`")


@dataclass(frozen=True, slots=True)
class LoadManifest:
    """What the graph remembers of a load; counts are those of its source, without duplicates."""

    num_triples: int
    num_entities: int
    num_relations: int
    num_duplicates: int
    finished: bool
    graph_version: int


def read_catalogue() -> Request[Catalogue]:
    """The relation catalogue."""

    def decode(rows: Sequence[Row]) -> Catalogue:
        return Catalogue(tuple(RelationInfo(*row) for row in rows))

    return Request(template("read_catalogue"), {}, decode)


def read_graph_state() -> Request[GraphState]:
    """What the graph holds and lacks."""

    def decode(rows: Sequence[Row]) -> GraphState:
        if not rows:
            return GraphState(0, 0, 0, has_entity_id=False, has_entity_names=False)
        indexes, num_entities, counts, unfinished = rows[0]
        return GraphState(
            num_entities=num_entities,
            num_relations=len(counts),
            num_triples=sum(counts),
            unfinished_loads=tuple(unfinished),
            has_entity_id="entity_id" in indexes,
            has_entity_names="entity_names" in indexes,
        )

    return Request(template("read_graph_state"), {}, decode)


def read_load(sha256: str) -> Request[LoadManifest | None]:
    """The manifest of the load of this content, or None when it was never begun."""

    def decode(rows: Sequence[Row]) -> LoadManifest | None:
        return LoadManifest(*rows[0]) if rows else None

    return Request(template("read_load"), {"sha256": sha256}, decode)


def read_relation_counts() -> Request[dict[str, int]]:
    """How many triples each relation has, counted in the graph itself (reads every relationship)."""

    def decode(rows: Sequence[Row]) -> dict[str, int]:
        return dict(rows)

    return Request(template("read_relation_counts"), {}, decode)


def check_signatures() -> Request[int]:
    """How many entities have a relation signature that disagrees with the graph (reads every relationship)."""

    def decode(rows: Sequence[Row]) -> int:
        return int(rows[0][0])

    return Request(template("check_signatures"), {}, decode)
