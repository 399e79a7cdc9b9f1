"""Read what a plan may name: the relations of a graph, and its kinds with where their things are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ...models.text import SUBCLASS_RELATIONS, RelationWords
from ...models.wording import fold, singular
from ...models.wording.kinds import UNKNOWN, VALUE_KINDS
from ..evidence.text import relation_words
from ..neo4j import Request, Row, template
from ..neo4j.catalogue import Catalogue, RelationInfo
from .compile import KindSource, Schema

if TYPE_CHECKING:
    from ..neo4j.gateway import Gateway

MAX_KINDS = 1_000

Type = tuple[str, str, Sequence[str]]
"""A type's id, its name, and the ids of all that it is a subclass of."""


def read_schema(db: Gateway, catalogue: Catalogue, words: Mapping[str, RelationWords]) -> Schema:
    """Read the schema of the graph with this catalogue; words: of its relations. One round trip."""
    types = [each for some in db.run_all(read_types(catalogue, words)) for each in some]
    relations = {r.name: r.stored_as or r.name for r in catalogue.relations}
    type_relations = tuple(r.name for r in catalogue.relations if words[r.name].is_type)
    return Schema(relations, type_relations, kinds_of_types(types) or kinds_of_ends(catalogue.relations))


def read_types(catalogue: Catalogue, words: Mapping[str, RelationWords]) -> list[Request[list[Type]]]:
    """Read the types of the graph, the largest first; a request for each relation that leads to them."""
    subclass = [r.name for r in catalogue.relations if relation_words(r.name).lower() in SUBCLASS_RELATIONS]

    def decode(rows: Sequence[Row]) -> list[Type]:
        return [(id_, name or id_, ups) for id_, name, ups in rows]

    return [
        Request(
            template("read_types"),
            {"relation": r.name, "subclass": subclass, "limit": MAX_KINDS},
            decode,
            {"RELATION": r.stored_as or r.name},
        )
        for r in catalogue.relations
        if words[r.name].is_type
    ]


def kind_name(text: str) -> str:
    """Return the name of a kind as a question has it: in small letters, in the singular; of an IRI the last part."""
    return singular(fold(relation_words(text) if "://" in text else text).strip())


def kinds_of_types(types: Iterable[Type]) -> dict[str, KindSource]:
    """Return the kinds by name, each with the types that are of it: its own and their subclasses."""
    types = list(types)
    names = {id_: kind_name(name) for id_, name, _ in types}
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for id_, _, ups in types:
        for up in (id_, *ups):
            if up in names:
                found[names[up]][id_] = None
    return {name: KindSource(tuple(ids)) for name, ids in found.items()}


def kinds_of_ends(relations: Sequence[RelationInfo]) -> dict[str, KindSource]:
    """Return the kinds of a graph without types: what the words for the ends of its relations name."""
    ends: dict[str, list[str]] = defaultdict(list)
    for relation in relations:
        for end, kind, step in (
            (relation.head, relation.domain, relation.name),
            (relation.tail, relation.range, f"^{relation.name}"),
        ):
            if end.kind in (*VALUE_KINDS, "text"):
                continue
            said = [kind_name(kind)] if kind else []
            said += [end.kind] if end.kind != UNKNOWN else []
            for name in dict.fromkeys([*said, *map(kind_name, end.words)]):
                ends[name].append(step)
    return {name: KindSource((), tuple(steps)) for name, steps in ends.items() if name}
