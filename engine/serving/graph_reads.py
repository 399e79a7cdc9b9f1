"""Read the triples of an entity page by page, and check which triples of a path are in the graph.

A page continues where the previous one ended: `cursor` holds the edition of the graph, the entity, and a place in the
order of its relations. The server keeps nothing between pages.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..errors import EntityNotFoundError, StaleCatalogueError, UsageError
from ..linking.topics import resolve_names
from ..neo4j.catalogue import Catalogue, Edition
from ..neo4j.graph import read_search_names
from ..neo4j.neighbours import read_entity_signatures, read_hub_neighbours
from ..neo4j.templates import Request, template
from ..steps import Steps, send_all, send_one
from ..values import Entity, Triple

Direction = Literal["out", "in", "both"]

MAX_SPANS = 16
"""Relations of a page: each is a request of its own, so that no hub is read whole."""
MAX_OFFSET = 10_000
"""Neighbours of one relation that are shown; beyond them the page says that it was cut."""
MAX_TRIPLES = 50


@dataclass(frozen=True, slots=True)
class NeighbourPage:
    """Triples at an entity, relation by relation; total: of all pages. cursor: for the next page, None at the end.

    cut: neighbours of some relation beyond the first `MAX_OFFSET` are on no page.
    """

    entity: Entity
    triples: tuple[Triple, ...]
    total: int
    cursor: str | None
    cut: bool


@dataclass(frozen=True, slots=True)
class _Span:
    """Triples of one relation, signed: negative where they enter the entity."""

    number: int
    start: int
    end: int


def find_entity(id_or_name: str) -> Steps[Entity]:
    """Return the entity with this id or name; raise `EntityNotFoundError` if there is none."""
    found = yield from send_one(read_search_names([id_or_name]))
    if id_or_name in found:
        return found[id_or_name].entity
    named = yield from resolve_names([id_or_name])
    if id_or_name not in named:
        raise EntityNotFoundError(f"no entity has the id or name {id_or_name[:80]!r}: look for it by /v1/entities")
    return named[id_or_name]


def read_page(
    catalogue: Catalogue,
    edition: Edition,
    id_or_name: str,
    *,
    relation: str | None = None,
    direction: Direction = "both",
    limit: int = 50,
    cursor: str | None = None,
) -> Steps[NeighbourPage]:
    """Return a page of at most `limit` triples at an entity, in the catalogue's order of their relations.

    Raises `EntityNotFoundError`, `StaleCatalogueError`, and `UsageError` for a cursor of another request or graph.
    """
    by_number = {each.number: each for each in catalogue.relations}
    if relation is not None and relation not in {each.name for each in catalogue.relations}:
        raise StaleCatalogueError(f"the graph has no relation {relation[:80]!r}: look for it by /v1/relations")
    entity = yield from find_entity(id_or_name)
    (described,) = yield from send_all([read_entity_signatures([entity.id])])
    signatures = described.signatures
    sizes = [
        (int(number), int(count))
        for number, count in zip(signatures.relations, signatures.counts, strict=True)
        if abs(int(number)) in by_number
        and (relation is None or by_number[abs(int(number))].name == relation)
        and (direction == "both" or (number > 0) == (direction == "out"))
    ]
    sizes.sort(key=lambda size: (abs(size[0]), -size[0]))
    key = _make_key(edition, entity.id, relation, direction)
    at = _read_cursor(cursor, key)
    spans, end = _find_spans([(number, min(count, MAX_OFFSET)) for number, count in sizes], at, limit)
    found = yield from send_all(
        [
            read_hub_neighbours(
                [entity.id],
                (info := by_number[abs(span.number)]).name,
                span.number,
                span.end,
                stored_as=info.stored_as,
                last=True,
            )
            for span in spans
        ]
    )
    triples: list[Triple] = []
    for span, neighbours in zip(spans, found, strict=True):
        name = by_number[abs(span.number)].name
        for at_row, position in zip(neighbours.neighbours, neighbours.positions, strict=True):
            if position >= span.start:
                id_ = str(neighbours.nodes.ids[at_row])
                other = Entity(id_, neighbours.nodes.names[at_row], id_ in neighbours.nodes.literals)
                triples.append(Triple(entity, name, other) if span.number > 0 else Triple(other, name, entity))
    total = sum(count for _, count in sizes)
    shown = sum(min(count, MAX_OFFSET) for _, count in sizes)
    return NeighbourPage(
        entity, tuple(triples), total, None if end >= shown else _write_cursor(key, end), cut=shown < total
    )


def check_triples_exist(triples: Sequence[tuple[str, str, str]]) -> Request[list[bool]]:
    """Find whether the graph has each triple, by the ids of head and tail and the relation's name."""
    ids = list(dict.fromkeys(id_ for head, _, tail in triples for id_ in (head, tail)))
    places = {id_: place for place, id_ in enumerate(ids)}
    asked = {
        "ids": ids,
        "literals": [id_.startswith('"') for id_ in ids],
        "heads": [places[head] for head, _, _ in triples],
        "relations": [relation for _, relation, _ in triples],
        "tails": [places[tail] for _, _, tail in triples],
    }

    def decode(rows: Sequence[tuple[int, ...]]) -> list[bool]:
        there = {row[0] for row in rows}
        return [place in there for place in range(len(triples))]

    return Request(template("find_triples"), {"asked": asked}, decode)


def check_path(triples: Sequence[tuple[str, str, str]]) -> Steps[tuple[list[Triple], list[bool]]]:
    """Return the triples, which say entities by id or name, and whether the graph has each; the id is the
    name of what has none."""
    if not 1 <= len(triples) <= MAX_TRIPLES:
        raise UsageError(f"expected 1 to {MAX_TRIPLES} triples, found {len(triples)}")
    ends = list(dict.fromkeys(end for head, _, tail in triples for end in (head, tail) if not end.startswith('"')))
    known = yield from send_one(read_search_names(ends))
    unknown = [end for end in ends if end not in known]
    named = (yield from resolve_names(unknown)) if unknown else {}
    there = {end: each.entity for end, each in known.items()} | named
    meant = {end: Entity(each.id, each.name or each.id) for end, each in there.items()}
    found = [
        Triple(meant.get(head, Entity(head, head)), relation, meant.get(tail, Entity(tail, tail)))
        for head, relation, tail in triples
    ]
    ids = [(each.head.id, each.relation, each.tail.id) for each in found]
    return found, (yield from send_one(check_triples_exist(ids)))


def _find_spans(sizes: Sequence[tuple[int, int]], at: int, limit: int) -> tuple[list[_Span], int]:
    """Return the part of each relation that is on the page that begins at a place, and where the page ends."""
    spans: list[_Span] = []
    start, end = 0, at
    for number, count in sizes:
        if start + count > at and end - at < limit and len(spans) < MAX_SPANS:
            first = max(at - start, 0)
            last = min(count, first + limit - (end - at))
            spans.append(_Span(number, first, last))
            end += last - first
        start += count
    return spans, end


def _make_key(edition: Edition, *parts: object) -> str:
    return hashlib.sha256(json.dumps([list(edition), *parts]).encode()).hexdigest()[:16]


def _write_cursor(key: str, place: int) -> str:
    return base64.urlsafe_b64encode(f"{key}:{place}".encode()).decode().rstrip("=")


def _read_cursor(cursor: str | None, key: str) -> int:
    if cursor is None:
        return 0
    try:
        said = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
    except ValueError:
        said = ""
    own, _, place = said.partition(":")
    if own != key or not (place.isdecimal() and len(place) < 10):
        raise UsageError("the cursor is of another question, or the graph has changed since: begin without one")
    return int(place)
