"""Define what clients send, and look things up in the graph for people and agents, as plain data.

The replies that are evidence or answers are `engine.evidence.json_data`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, pairwise
from typing import Annotated, Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, model_validator
from typing_extensions import TypedDict

from ..api import Engine
from ..data_model import Entity, Item, Triple
from ..errors import EntityNotFoundError, StaleCatalogueError
from ..evidence import Evidence
from ..evidence.json_data import (
    EntityData,
    TopicData,
    TripleData,
    round_score,
    serialise_entity,
    serialise_topic,
    serialise_triple,
)
from ..linking import resolve_entity_names
from ..neo4j.catalogue import count_entities_by_type, read_catalogue, read_graph_state
from ..neo4j.gateway import Gateway
from ..neo4j.graph_requests import (
    Direction,
    check_triples_exist,
    read_entity_signatures,
    read_search_names,
    read_triples_at,
)
from ..neo4j_browser import find_browser_login, store_picture_in_database
from ..resources import GraphResources
from ..suggesting import list_kind_names, read_plan_schema, suggest_questions

MAX_TRIPLES = 50
MAX_KINDS = 12
MAX_OFFSET = 10_000
"""Triples of an entity that are shown."""
DEADLINE_S, MAX_DEADLINE_S = 30.0, 120.0
Text = Annotated[str, Field(min_length=1, max_length=10_000)]
Name = Annotated[str, Field(min_length=1, max_length=1_000)]
Limit = Annotated[int, Field(ge=1, le=100)]


class Form(BaseModel):
    """A request; the first unknown field refuses it, for an error a field would take seconds of the event loop."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown(cls, given: Any) -> Any:
        names = given if isinstance(given, dict) else ()
        unknown = next((name for name in names if name not in cls.model_fields), None)
        if unknown is not None:
            raise ValueError(f"unknown field {str(unknown)[:80]!r}")
        return given


class AskOptions(Form):
    """The options of a recipe that a request may change; none of them names a file, a model or an address."""

    top_k: StrictInt | None = Field(default=None, ge=1, le=100)
    max_hop: StrictInt | None = Field(default=None, ge=1, le=4)
    beam_width: StrictInt | None = Field(default=None, ge=1, le=50)
    plans: StrictBool | None = None
    return_to_topic: StrictBool | None = None


class AskForm(Form):
    """A question; `topics` are ids or names of its topic entities, if you know them; `options` are the recipe's."""

    question: Text = Field(examples=["What is the capital of Peru?"])
    topics: list[Name] = Field(default=[], max_length=20)
    id: str = Field(default="", max_length=200)
    options: AskOptions = Field(default=AskOptions(), examples=[{"top_k": 5}])
    timeout_s: float = Field(default=DEADLINE_S, gt=0, le=MAX_DEADLINE_S, description="The deadline of this request.")


class TripleForm(Form):
    """A triple: head and tail by id or name, the relation by name."""

    head: Name
    relation: Name
    tail: Name


class ChatMessage(BaseModel):
    """A message of a conversation."""

    role: str = Field(max_length=40)
    content: str | Annotated[list[dict[str, Any]], Field(max_length=100, fail_fast=True)] | None = None


class ChatForm(BaseModel):
    """A chat completion in OpenAI's format: the user's last message is the question; unknown fields are ignored."""

    model: str = Field(default="lodestar", max_length=200)
    messages: list[ChatMessage] = Field(min_length=1, max_length=200, fail_fast=True)
    stream: bool = False
    stream_options: dict[str, Any] | None = None


class GraphData(TypedDict):
    """What a graph holds: its name and sizes, and its largest kinds with their numbers of things (null where the
    graph has no types)."""

    name: str
    num_triples: int
    num_entities: int
    num_literals: int
    num_relations: int
    kinds: dict[str, int | None]


class QuestionsData(TypedDict):
    """Questions that the graph answers."""

    questions: list[str]


class LinkedEntitiesData(TypedDict):
    """Entities that a text mentions, best first."""

    entities: list[TopicData]


class RelationData(TypedDict):
    """A relation: its name, its words, how near it is by cosine, how many triples have it, the types of its ends."""

    relation: str
    label: str
    score: float | None
    count: int
    domain: str | None
    range: str | None


class RelationsData(TypedDict):
    """Relations nearest to a text."""

    relations: list[RelationData]


class NeighboursData(TypedDict):
    """A page of the first 10,000 triples at an entity. total: of all its triples. next: the offset of the next page,
    null at the end."""

    entity: EntityData
    triples: list[TripleData]
    total: int
    next: int | None


class CheckedTripleData(TripleData):
    """A triple, and whether the graph has it; what the graph does not know has its id as its name."""

    in_graph: bool


class VerifyData(TypedDict):
    """Whether the graph has every triple of a path, which, and whether they meet end to end."""

    in_graph: bool
    connected: bool
    triples: list[CheckedTripleData]


# Lookups

_questions: WeakKeyDictionary[GraphResources, QuestionsData] = WeakKeyDictionary()


def find_questions(engine: Engine) -> QuestionsData:
    """Return questions that the graph answers; found once for each edition of it, since they are asked for it."""
    graph = engine.read_graph()
    if graph not in _questions:
        _questions[graph] = {"questions": suggest_questions(engine)}
    return _questions[graph]


def describe_graph(engine: Engine) -> GraphData:
    state, settings = engine.gateway().run(read_graph_state()), engine.settings
    kinds: dict[str, int | None] = {**count_entities_by_type(engine.gateway())} or dict.fromkeys(
        list_kind_names(engine.read_graph().catalogue.relations, read_plan_schema(engine))
    )
    return {
        "name": urlsplit(settings.uri).hostname or "" if settings.uri else settings.name,
        "num_triples": state.num_triples,
        "num_entities": state.num_entities,
        "num_literals": state.num_literals,
        "num_relations": state.num_relations,
        "kinds": dict(islice(kinds.items(), MAX_KINDS)),
    }


def find_topics(engine: Engine, text: str, limit: int) -> LinkedEntitiesData:
    return {"entities": [serialise_topic(each) for each in engine.link(text)[:limit]]}


def find_relations(engine: Engine, text: str, limit: int) -> RelationsData:
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
    return {"link": store_picture_in_database(engine.gateway(), find_browser_login(engine)[0], evidence)}


def find_entities(gateway: Gateway, ids_or_names: Sequence[str]) -> dict[str, Entity]:
    """Return the entity with each id or name; what the graph does not know is left out."""
    found = {id_: each.entity for id_, each in gateway.run(read_search_names(ids_or_names)).items()}
    names = [each for each in ids_or_names if each not in found]
    return found | (resolve_entity_names(gateway, names) if names else {})


def read_neighbours(
    engine: Engine, entity: str, relation: str | None, direction: Direction, limit: int, offset: int
) -> NeighboursData:
    """Return a page of triples at an entity, in the order in which the database has them.

    Raises `EntityNotFoundError`, and `StaleCatalogueError` for an unknown relation.
    """
    gateway, labels = engine.gateway(), engine.read_graph().labels
    relations = {each.number: each for each in gateway.run(read_catalogue()).relations}
    if relation is not None and relation not in {each.name for each in relations.values()}:
        raise StaleCatalogueError(f"the graph has no relation {relation[:80]!r}: look for it by list_relations")
    here = find_entities(gateway, [entity]).get(entity)
    if here is None:
        raise EntityNotFoundError(f"no entity has the id or name {entity[:80]!r}: look for it by find_entities")
    sizes = {
        number: count
        for number, count in gateway.run(read_entity_signatures([here.id])).signatures.get(here.id, {}).items()
        if abs(number) in relations
        and relation in (None, relations[abs(number)].name)
        and (direction == "both" or (number > 0) == (direction == "out"))
    }
    total = sum(sizes.values())
    shown = min(total, MAX_OFFSET)
    limit = max(min(limit, shown - offset), 0)
    among = [relations[number] for number in dict.fromkeys(map(abs, sizes))]
    triples = gateway.run(read_triples_at(here, among, direction, offset, limit)) if limit else []
    return {
        "entity": serialise_entity(here),
        "triples": [serialise_triple(each, labels) for each in triples],
        "total": total,
        "next": offset + len(triples) if triples and offset + len(triples) < shown else None,
    }


def check_path(engine: Engine, path: Sequence[TripleForm]) -> VerifyData:
    """Return the triples of a path, which says entities by id or name, and whether the graph has each."""
    gateway = engine.gateway()
    ends = list(dict.fromkeys(end for each in path for end in (each.head, each.tail) if not end.startswith('"')))
    known = {end: Entity(end, end) for each in path for end in (each.head, each.tail)}
    known |= find_entities(gateway, ends)
    triples = [Triple(known[each.head], each.relation, known[each.tail]) for each in path]
    there = gateway.run(check_triples_exist(triples))
    labels = engine.read_graph().labels
    return {
        "in_graph": all(there),
        "connected": all({a.head, a.tail} & {b.head, b.tail} for a, b in pairwise(triples)),
        "triples": [
            {**serialise_triple(each, labels), "in_graph": is_there}
            for each, is_there in zip(triples, there, strict=True)
        ],
    }
