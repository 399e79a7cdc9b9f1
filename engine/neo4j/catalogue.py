"""Read and refresh the relation catalogue and the state of the graph; stream all of it."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal

from ...models.wording import list_lexicon_phrases
from ...models.wording.answer_kinds import NO_KIND, RelationEndProfile
from ..errors import GraphError, StaleCatalogueError
from . import Request, Row, load_query

if TYPE_CHECKING:
    from .gateway import Gateway

LABEL_SEPARATOR = " – "

GRAPH_VERSION = 3
"""Version of the graph model: labels, properties, constraints and indexes."""

Edition = tuple[int, str | None, str | None, int, str | None, int]
"""What differs after a load began, finished or was deleted, single triples were changed, or relations were described:
see ``read_graph_edition.cypher``."""

Origin = Literal["user", "source", "lexicon"]
"""Who said it, in the order of trust."""
ORIGINS: tuple[Origin, ...] = ("user", "source", "lexicon")
ORIGIN_OF: dict[str, Origin] = {origin: origin for origin in ORIGINS}


@dataclass(frozen=True, slots=True)
class RelationPhrase:
    """Words by which people ask for the tails of a relation, or `inverse` for its heads."""

    text: str
    origin: Origin = "user"
    inverse: bool = False

    @property
    def tag(self) -> str:
        return f"{'inverse' if self.inverse else 'forward'} {self.origin}"

    @classmethod
    def of(cls, text: str, tag: str) -> RelationPhrase:
        direction, _, origin = tag.partition(" ")
        return cls(text, ORIGIN_OF.get(origin, "source"), direction == "inverse")


@dataclass(frozen=True, slots=True)
class RelationInfo:
    """A relation in the catalogue.

    `number` is at least 1 and does not change when more is loaded. `label` is a readable name; `LABEL_SEPARATOR`
    separates the parts of a compound relation. `domain` and `range` are the types of head and tail, `inverse` is the
    inverse relation; each is None if no source gave it. `stored_as` is the type of its relationships if that differs
    from its name.
    """

    number: int
    name: str
    label: str
    count: int
    domain: str | None = None
    range: str | None = None
    inverse: str | None = None
    stored_as: str | None = None
    said_label: str | None = None
    """What the user would have it called; `label` is what it was called when it was loaded."""
    description: str | None = None
    phrases: tuple[RelationPhrase, ...] = ()
    """What people ask for it by, without the lexicon's."""
    head: RelationEndProfile = NO_KIND
    tail: RelationEndProfile = NO_KIND
    """What stands at its ends."""

    @property
    def shown_label(self) -> str:
        """What a reader is shown: what the user calls it, else what the source does."""
        of_source = (p.text for p in self.phrases if p.origin == "source" and not p.inverse)
        return self.said_label or next(of_source, self.label)

    @classmethod
    def of_row(cls, row: Row) -> RelationInfo:
        number, name, label, count, domain, range_, inverse, stored_as, said, about, phrases, tags, head, tail = row
        said_phrases = tuple(map(RelationPhrase.of, phrases or (), tags or ()))
        kinds = _end(head), _end(tail)
        return cls(number, name, label, count, domain, range_, inverse, stored_as, said, about, said_phrases, *kinds)


def _end(stored: Sequence[Any]) -> RelationEndProfile:
    kind, share, words = stored
    return RelationEndProfile(kind, share or 0.0, tuple(words or ())) if kind or words else NO_KIND


def list_relation_phrases(relation: RelationInfo) -> tuple[RelationPhrase, ...]:
    """Return all phrases of a relation, the best trusted first: its label as the user said it, what is stored with it,
    and what the lexicon has for its label."""
    said = [RelationPhrase(relation.said_label)] if relation.said_label else []
    forward, inverse = list_lexicon_phrases(relation.shown_label.rpartition(LABEL_SEPARATOR)[2].replace("_", " "))
    found = (
        *said,
        *relation.phrases,
        *(RelationPhrase(text, "lexicon") for text in forward),
        *(RelationPhrase(text, "lexicon", inverse=True) for text in inverse),
    )
    return tuple(sorted(dict.fromkeys(found), key=lambda phrase: ORIGINS.index(phrase.origin)))


def verbalise_type(type_: str | None) -> str:
    """Return the words of a type's last part (`location.country` is "country"); empty for None."""
    return (type_ or "").rpartition(".")[2].replace("_", " ").lower()


@dataclass(frozen=True, slots=True)
class RelationCatalogue:
    """All relations of the graph, by number."""

    relations: tuple[RelationInfo, ...]

    @property
    def fingerprint(self) -> str:
        """A hash that changes when a relation, its words or its count changes."""
        digest = hashlib.sha256()
        for r in sorted(self.relations, key=lambda relation: relation.number):
            values = [r.number, r.name, r.label, r.count, r.domain, r.range, r.inverse]
            values += [r.stored_as] if r.stored_as else []
            values += [r.said_label, [(p.text, p.tag) for p in r.phrases]] if r.said_label or r.phrases else []
            digest.update(json.dumps(values, ensure_ascii=True).encode())
        return digest.hexdigest()

    @property
    def vocabulary(self) -> str:
        """A hash of the relations' names and words; it does not change when triples of known relations are added."""
        rows = sorted((r.name, r.label, r.domain or "") for r in self.relations)
        return hashlib.sha256(json.dumps(rows, ensure_ascii=True).encode()).hexdigest()

    @property
    def stored_as(self) -> dict[str, str]:
        """The relationship types of the relations that are not stored under their own names."""
        return {r.name: r.stored_as for r in self.relations if r.stored_as}


@dataclass(frozen=True, slots=True)
class GraphState:
    """Contents of the graph, and whether it is fit for retrieval."""

    num_entities: int
    num_relations: int
    num_triples: int
    num_literals: int = 0
    num_finished_loads: int = 0
    unfinished_loads: tuple[str, ...] = ()
    """The sources of loads that did not finish, except those that are being deleted."""
    deleting_loads: tuple[str, ...] = ()
    """The sources of loads whose deletion did not finish."""
    graph_version: int = GRAPH_VERSION
    """The highest version of the graph model among the loads."""
    has_entity_id: bool = True
    """The uniqueness constraint of entity ids exists."""
    has_entity_names: bool = True
    """The full-text index of names exists and is filled."""
    num_other_nodes: int = 0
    """Nodes that are not Lodestar's, judged by their labels."""

    @property
    def counts(self) -> str:
        return f"{self.num_triples:,} triples, {self.num_entities:,} entities, {self.num_relations:,} relations"

    @property
    def num_loads(self) -> int:
        return self.num_finished_loads + len(self.unfinished_loads) + len(self.deleting_loads)

    @property
    def is_empty(self) -> bool:
        return self.num_entities == 0 or self.num_triples == 0

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why answers are incomplete, one line for each unfinished load or deletion."""
        load = "the load of {} has not finished: answers are incomplete until the same `lodestar load` runs again"
        deletion = "the deletion of the load of {} has not finished: answers may rest on it until it is deleted again"
        return (*map(load.format, self.unfinished_loads), *map(deletion.format, self.deleting_loads))

    def check_version(self) -> None:
        """Raise `GraphError` if the graph is of another version than this Lodestar's."""
        if self.graph_version != GRAPH_VERSION:
            raise GraphError(
                f"the graph is of model version {self.graph_version}, this Lodestar reads {GRAPH_VERSION}: "
                "load it again with --replace"
            )

    def check(self) -> None:
        """Raise `GraphError` if no question can be answered from this graph."""
        self.check_version()
        is_whole = not self.is_empty and self.has_entity_id and self.has_entity_names
        if self.unfinished_loads and not (self.num_finished_loads and is_whole):
            source = self.unfinished_loads[0]
            raise GraphError(
                f"the load of {source} has not finished: wait for it, or run the same `lodestar load` again"
            )
        if self.deleting_loads and not self.num_finished_loads:
            raise GraphError(
                f"the deletion of the load of {self.deleting_loads[0]} has not finished, and the graph has no other: "
                "delete it again, or run its `lodestar load` again"
            )
        if self.is_empty and self.num_other_nodes:
            raise GraphError(
                f"the graph is empty beside {self.num_other_nodes:,} nodes that Lodestar did not load: read them with "
                "`lodestar load neo4j`"
            )
        if self.is_empty:
            raise GraphError("the graph is empty: load one with `lodestar load geonames` or `lodestar load tsv FILE`")
        if not self.has_entity_id:
            raise GraphError("the graph has no constraint entity_id: run `lodestar db refresh`")
        if not self.has_entity_names:
            raise GraphError("the graph has no name index entity_names: make it with `lodestar db refresh`")


@dataclass(frozen=True, slots=True)
class LoadManifest:
    """The record of a load in the graph; counts are those of its source, without duplicates."""

    sha256: str
    number: int = 1
    source: str = ""
    kind: str = ""
    num_triples: int = 0
    num_entities: int = 0
    num_literals: int = 0
    num_relations: int = 0
    num_duplicates: int = 0
    num_names: int = 0
    checksum: str = ""
    options: str = "{}"
    """The options of the load, as a JSON object."""
    writer: str = ""
    started: str | None = None
    """ISO 8601, with the time zone."""
    finished: str | None = None
    """ISO 8601; None until the load is complete, and again once its deletion has begun."""
    graph_version: int = GRAPH_VERSION
    deleting: bool = False
    num_removed: int = 0
    """Triples of its source that were removed one by one since, and are not among `num_triples`."""


def read_catalogue() -> Request[RelationCatalogue]:
    return Request(
        load_query("read_catalogue"), {}, lambda rows: RelationCatalogue(tuple(map(RelationInfo.of_row, rows)))
    )


def read_graph_state() -> Request[GraphState]:
    """Read the counts, loads and indexes of the graph."""

    def decode(rows: Sequence[Row]) -> GraphState:
        if not rows:
            return GraphState(0, 0, 0, has_entity_id=False, has_entity_names=False)
        indexes, num_entities, num_literals, counts, loads, num_nodes, num_pictured = rows[0]
        num_own_nodes = num_entities + num_literals + len(counts) + len(loads) + num_pictured
        return GraphState(
            num_entities=num_entities,
            num_relations=len(counts),
            num_triples=sum(counts),
            num_literals=num_literals,
            num_finished_loads=sum(finished for _, finished, _, _ in loads),
            unfinished_loads=tuple(source for source, finished, deleting, _ in loads if not finished and not deleting),
            deleting_loads=tuple(source for source, _, deleting, _ in loads if deleting),
            graph_version=max((version for *_, version in loads if version), default=GRAPH_VERSION),
            has_entity_id="entity_id" in indexes,
            has_entity_names="entity_names" in indexes,
            num_other_nodes=max(num_nodes - num_own_nodes, 0),
        )

    return Request(load_query("read_graph_state"), {}, decode)


def read_database_id() -> Request[str]:
    """Read the id of the database, which is the same under every address."""
    return Request(load_query("read_database_id"), {}, lambda rows: str(rows[0][0]))


def read_graph_edition() -> Request[Edition]:
    """Read the edition, which differs after every change of the graph by Lodestar."""

    def decode(rows: Sequence[Row]) -> Edition:
        num_loads, started, finished, num_relations, described, num_changes = rows[0]
        return num_loads, started, finished, num_relations, described, num_changes

    return Request(load_query("read_edition"), {}, decode)


def read_loads() -> Request[tuple[LoadManifest, ...]]:
    return Request(load_query("read_loads"), {}, lambda rows: tuple(_manifest(properties) for (properties,) in rows))


def _manifest(properties: dict[str, Any]) -> LoadManifest:
    known = {field.name for field in fields(LoadManifest)}
    return LoadManifest(**{name: value for name, value in properties.items() if name in known})


def read_relation_counts() -> Request[dict[str, int]]:
    """Count the triples of each relation in the graph itself; reads every relationship."""
    return Request(load_query("read_relation_counts"), {}, dict)


def count_signature_mismatches() -> Request[int]:
    """Count the entities whose relation signature disagrees with the graph; reads every relationship."""
    return Request(load_query("check_signatures"), {}, lambda rows: int(rows[0][0]))


def look_up_relation_name_by_number(number: int, relations: Mapping[int, str]) -> str:
    """Return a relation's name by its catalogue number; raise `StaleCatalogueError` where the catalogue lacks it."""
    name = relations.get(number)
    if name is None:
        raise StaleCatalogueError(
            f"relation number {number} of the graph is not in its catalogue: run `lodestar db refresh`"
        )
    return name


def read_graph_figures(gateway: Gateway) -> dict[str, Any] | None:
    """Return the sizes and loads of a graph as JSON data; None for an empty one."""
    state = gateway.run(read_graph_state())
    loads = list_loads(gateway)
    if state.is_empty and not loads:
        return None
    return {
        "num_entities": state.num_entities,
        "num_literals": state.num_literals,
        "num_relations": state.num_relations,
        "num_triples": state.num_triples,
        "kinds": count_entities_by_type(gateway),
        "loads": loads,
    }


def list_loads(gateway: Gateway) -> list[dict[str, Any]]:
    """Return the manifests of the loads as JSON data, each with its state in words."""
    return [
        asdict(load)
        | {"state": "its deletion has not finished" if load.deleting else load.finished or "has not finished"}
        for load in gateway.run(read_loads())
    ]


MAX_KINDS = 1_000


def count_entities_by_type(gateway: Gateway) -> dict[str, int]:
    """Return how many things are of each kind, those of its subclasses too, by the name of the kind."""
    from ...models.text import SUBCLASS_RELATIONS, TYPE_RELATIONS

    relations = gateway.run(read_catalogue()).relations
    subclass = [r.name for r in relations if r.label in SUBCLASS_RELATIONS]
    found: Counter[str] = Counter()
    for r in relations:
        if r.label.rpartition(LABEL_SEPARATOR)[2] in TYPE_RELATIONS:
            params = {"relation": r.name, "subclass": subclass, "limit": MAX_KINDS}
            found.update(
                gateway.run(Request(load_query("count_kinds"), params, dict, {"RELATION": r.stored_as or r.name}))
            )
    return dict(found.most_common())


STREAMED = 200
"""Triples per row of a stream, and a good number of rows to fetch at a time; a hub arrives in chunks of their
product."""


def stream_triples(gateway: Gateway) -> Iterator[tuple[str, Sequence[Sequence[Any]]]]:
    """Stream heads with some of their triples, in order; more of the same head may follow."""
    names = sorted(relation.name for relation in gateway.run(read_catalogue()).relations)
    params = {"ranks": {name: rank for rank, name in enumerate(names)}, "chunk_size": STREAMED}
    yield from gateway.stream(Request(load_query("stream_triples"), params, itemgetter(0)), STREAMED)


def stream_names(gateway: Gateway) -> Iterator[tuple[str, Sequence[Any]]]:
    """Stream the named entities with their properties name, aliases and name_tags."""
    for id_, *names in gateway.stream(Request(load_query("stream_names"), {}, itemgetter(0)), STREAMED):
        yield str(id_), names
