"""Look things up in the graph for people and agents, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ..api import Engine
from ..browser import browser_url_of, write_picture
from ..errors import EntityNotFoundError, StaleCatalogueError
from ..evidence import Evidence, Item
from ..evidence.data import entity_data, round_score, topic_data, triple_data
from ..linking.topics import resolve_names
from ..neo4j import Request, template
from ..neo4j.catalogue import read_catalogue
from ..neo4j.gateway import Gateway
from ..neo4j.graph import read_entity_signatures, read_hub_neighbours, read_search_names
from ..values import Entity, Triple
from .schemas import MAX_OFFSET, Direction, EntitiesData, NeighboursData, RelationsData, TripleForm, VerifyData

MAX_SPANS = 16
"""Relations of a page: each is a request of its own, so that no hub is read whole."""

Span = tuple[int, int, int]
"""Triples of one relation at an entity: its number (negative where they enter), the first, and after the last."""


def find_topics(engine: Engine, text: str, limit: int) -> EntitiesData:
    """Return the entities that a text mentions, best first."""
    return {"entities": [topic_data(each) for each in engine.link(text)[:limit]]}


def find_relations(engine: Engine, text: str, limit: int) -> RelationsData:
    """Return the relations nearest to a text."""
    return {
        "relations": [
            {
                "relation": each.value.name,
                "label": each.value.label,
                "score": round_score(each.score),
                "count": each.value.count,
                "domain": each.value.domain,
                "range": each.value.range,
            }
            for each in engine.relations(text, top_k=limit)
        ]
    }


def show_in_browser(engine: Engine, evidence: Evidence[Item]) -> dict[str, str]:
    """Write the evidence for Neo4j Browser, and return the link that shows it."""
    return {"link": write_picture(engine.gateway(), browser_url_of(engine), evidence)}


def find_entities(gateway: Gateway, ids_or_names: Sequence[str]) -> dict[str, Entity]:
    """Return the entity with each id or name; what the graph does not know is left out."""
    found = {id_: each.entity for id_, each in gateway.run(read_search_names(ids_or_names)).items()}
    names = [each for each in ids_or_names if each not in found]
    return found | (resolve_names(gateway, names) if names else {})


def read_page(
    engine: Engine,
    entity: str,
    relation: str | None = None,
    direction: Direction = "both",
    limit: int = 50,
    offset: int = 0,
) -> NeighboursData:
    """Return a page of at most `limit` triples at an entity, in the catalogue's order of their relations.

    Raises `EntityNotFoundError`, and `StaleCatalogueError` for an unknown relation.
    """
    gateway = engine.gateway()
    relations = {each.number: each for each in gateway.run(read_catalogue()).relations}
    if relation is not None and relation not in {each.name for each in relations.values()}:
        raise StaleCatalogueError(f"the graph has no relation {relation[:80]!r}: look for it by /v1/relations")
    here = find_entities(gateway, [entity]).get(entity)
    if here is None:
        raise EntityNotFoundError(f"no entity has the id or name {entity[:80]!r}: look for it by /v1/entities")
    signatures = gateway.run(read_entity_signatures([here.id])).signatures
    sizes = sorted(
        (
            (int(number), int(count))
            for number, count in zip(signatures.relations, signatures.counts, strict=True)
            if abs(int(number)) in relations
            and (relation is None or relations[abs(int(number))].name == relation)
            and (direction == "both" or (number > 0) == (direction == "out"))
        ),
        key=lambda size: (abs(size[0]), -size[0]),
    )
    spans, end = find_spans([(number, min(count, MAX_OFFSET)) for number, count in sizes], offset, limit)
    requests = [
        read_hub_neighbours([here.id], info.name, number, after, stored_as=info.stored_as, last=True)
        for number, _, after in spans
        for info in [relations[abs(number)]]
    ]
    triples: list[Triple] = []
    for (number, first, _), found in zip(spans, gateway.run_all(requests), strict=True):
        name = relations[abs(number)].name
        for row, position in zip(found.neighbours, found.positions, strict=True):
            if position >= first:
                id_ = str(found.nodes.ids[row])
                other = Entity(id_, found.nodes.names[row], id_ in found.nodes.literals)
                triples.append(Triple(here, name, other) if number > 0 else Triple(other, name, here))
    total, shown = (sum(count for _, count in some) for some in (sizes, [(n, min(c, MAX_OFFSET)) for n, c in sizes]))
    return {
        "entity": entity_data(here),
        "triples": [triple_data(each) for each in triples],
        "total": total,
        "next": end if end < shown else None,
        "cut": shown < total,
    }


def find_spans(sizes: Sequence[tuple[int, int]], offset: int, limit: int) -> tuple[list[Span], int]:
    """Return the part of each relation that is on the page that begins at a place, and where the page ends."""
    spans: list[Span] = []
    start, end = 0, offset
    for number, count in sizes:
        if start + count > offset and end - offset < limit and len(spans) < MAX_SPANS:
            first = max(offset - start, 0)
            after = min(count, first + limit - (end - offset))
            spans.append((number, first, after))
            end += after - first
        start += count
    return spans, end


def check_path(engine: Engine, path: Sequence[TripleForm]) -> VerifyData:
    """Return the triples of a path, which says entities by id or name, and whether the graph has each."""
    gateway = engine.gateway()
    ends = list(dict.fromkeys(end for each in path for end in (each.head, each.tail) if not end.startswith('"')))
    known = {end: Entity(end, end) for each in path for end in (each.head, each.tail)}
    known |= find_entities(gateway, ends)
    triples = [Triple(known[each.head], each.relation, known[each.tail]) for each in path]
    there = gateway.run(check_triples_exist(triples))
    return {
        "in_graph": all(there),
        "connected": all({a.head, a.tail} & {b.head, b.tail} for a, b in pairwise(triples)),
        "triples": [{**triple_data(each), "in_graph": is_there} for each, is_there in zip(triples, there, strict=True)],
    }


def check_triples_exist(triples: Sequence[Triple]) -> Request[list[bool]]:
    """Find whether the graph has each triple, by the ids of head and tail and the relation's name."""
    ids = list(dict.fromkeys(end.id for triple in triples for end in (triple.head, triple.tail)))
    places = {id_: place for place, id_ in enumerate(ids)}
    asked = {
        "ids": ids,
        "literals": [id_.startswith('"') for id_ in ids],
        "heads": [places[triple.head.id] for triple in triples],
        "relations": [triple.relation for triple in triples],
        "tails": [places[triple.tail.id] for triple in triples],
    }

    def decode(rows: Sequence[tuple[int, ...]]) -> list[bool]:
        there = {row[0] for row in rows}
        return [place in there for place in range(len(triples))]

    return Request(template("find_triples"), {"asked": asked}, decode)
