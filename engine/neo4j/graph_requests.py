"""Build the requests of a search (relations around entities, chain expansion, snippets, values) and of mining."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Literal

from ..data_model import Entity, RelationStep, Triple
from . import Request, Row, load_query

if TYPE_CHECKING:
    from .catalogue import RelationInfo

RELATED = "RELATED"
"""The relationship type of relations that have no type of their own; the property `relation` distinguishes them."""

MAX_VALUE_CHARS = 2_000
"""A longer literal value is cut and ends in an ellipsis."""

MAX_TRIPLES_OF_VALUE = 10_000
"""The most triples of a literal that a query examines."""


@dataclass(frozen=True, slots=True)
class EntityWithSearchNames:
    """An entity with every name that a search can find it by."""

    entity: Entity
    search_names: tuple[str, ...]
    degree: int


@dataclass(frozen=True, slots=True)
class EntitySignature:
    """An entity with the catalogue numbers of the relations that leave (n) and enter (-n) it."""

    entity: Entity
    degree: int
    relations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Expansion:
    """A step to take from several sources; the result carries the same `key`.

    The first `signatures` tails of each source come with their signatures; if `last`, only those of the unnamed ones.
    `stored_as` is the relationship type of the relation if that differs from its name.
    """

    key: int
    step: RelationStep
    sources: tuple[str, ...]
    signatures: int
    last: bool
    stored_as: str | None = None

    @property
    def type(self) -> str:
        return self.stored_as or self.step.relation


@dataclass(frozen=True, slots=True)
class Tail:
    """The end of a step. `signature` is None if it was not requested, and for a literal."""

    entity: Entity
    degree: int
    signature: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class ExpansionResult:
    """The tails of one source in one expansion; `cut` if the bound per source dropped some."""

    key: int
    source: str
    tails: tuple[Tail, ...]
    cut: bool


@dataclass(frozen=True, slots=True)
class NameQuery:
    """A full-text query in Lucene syntax. Of the `read` best matching entities it returns the first `limit`, and a few
    with the most triples.
    """

    text: str
    limit: int
    read: int = 0


POPULAR = 3
"""How many entities with the most triples a full-text query returns besides the best matches."""


def find_entity_candidates(queries: Sequence[Sequence[NameQuery]]) -> Request[list[list[EntityWithSearchNames]]]:
    """Find for each question the entities that match any of its full-text queries, each once, under the first match."""

    def decode(rows: Sequence[Row]) -> list[list[EntityWithSearchNames]]:
        found: list[dict[str, EntityWithSearchNames]] = [{} for _ in queries]
        for question, id_, name, search_names, degree in rows:
            if id_ not in found[question]:
                found[question][id_] = EntityWithSearchNames(Entity(id_, name), tuple(search_names or ()), degree)
        return [list(entities.values()) for entities in found]

    query_params = [
        {"question": question, "text": each.text, "limit": each.limit, "read": max(each.read, each.limit)}
        for question, of_question in enumerate(queries)
        for each in of_question
    ]
    return Request(load_query("find_entity_candidates"), {"queries": query_params, "popular": POPULAR}, decode)


def read_search_names(ids: Sequence[str]) -> Request[dict[str, EntityWithSearchNames]]:
    """Read the search names of the existing entities among `ids`, by id."""

    def decode(rows: Sequence[Row]) -> dict[str, EntityWithSearchNames]:
        return {
            id_: EntityWithSearchNames(Entity(id_, name), tuple(names), degree) for id_, name, names, degree in rows
        }

    return Request(load_query("read_search_names"), {"ids": list(ids)}, decode)


def read_signatures(ids: Sequence[str]) -> Request[dict[str, EntitySignature]]:
    """Read the signatures of the existing entities among `ids`, by id."""
    return Request(load_query("read_signatures"), {"ids": list(ids)}, _decode_signatures)


def read_value_signatures(ids: Sequence[str]) -> Request[dict[str, EntitySignature]]:
    """Read the signatures of the existing literals among `ids`, by id: the relations that lead to them."""
    params = {"ids": list(ids), "max_triples": MAX_TRIPLES_OF_VALUE, "value_chars": MAX_VALUE_CHARS}
    return Request(load_query("read_value_signatures"), params, partial(_decode_signatures, is_literal=True))


def _decode_signatures(rows: Sequence[Row], *, is_literal: bool = False) -> dict[str, EntitySignature]:
    return {
        id_: EntitySignature(Entity(id_, name, is_literal), degree, tuple(relations))
        for id_, name, degree, relations in rows
    }


def find_literals_by_prefix(terms: Sequence[str], limit: int) -> Request[list[list[Entity]]]:
    """Find for each id prefix the literals with this prefix, by id, at most `limit`."""

    def decode(rows: Sequence[Row]) -> list[list[Entity]]:
        found: list[list[Entity]] = [[] for _ in terms]
        for place, id_, value in rows:
            found[place].append(Entity(id_, value, is_literal=True))
        return found

    params = {"terms": list(terms), "limit": limit, "value_chars": MAX_VALUE_CHARS}
    return Request(load_query("find_values"), params, decode)


def expand_steps(expansions: Sequence[Expansion], fan_out: int, max_tails: int) -> Request[list[ExpansionResult]]:
    """Take steps from sources of moderate degree: at most `fan_out` tails per source, `max_tails` per expansion.

    A tail counts for each source that leads to it.
    """
    rows = [_expansion_params(x) | {"inverse": x.step.inverse} for x in expansions]
    return _expand("expand_steps", rows, fan_out, max_tails, value_chars=MAX_VALUE_CHARS)


def expand_from_literals(
    expansions: Sequence[Expansion], fan_out: int, max_tails: int
) -> Request[list[ExpansionResult]]:
    """Take steps back from literals, through the first `MAX_TRIPLES_OF_VALUE` triples of each."""
    rows = [*map(_expansion_params, expansions)]
    return _expand("expand_values", rows, fan_out, max_tails, max_triples=MAX_TRIPLES_OF_VALUE)


def _expand(
    name: str, expansions: list[dict[str, Any]], fan_out: int, max_tails: int, **more: int
) -> Request[list[ExpansionResult]]:
    params = {"expansions": expansions, "fan_out": fan_out, "max_tails": max_tails, **more}
    return Request(load_query(name), params, partial(_decode_expansions, fan_out=fan_out, max_tails=max_tails))


def _expansion_params(expansion: Expansion) -> dict[str, Any]:
    return {
        "key": expansion.key,
        "relation": expansion.step.relation,
        "type": expansion.type,
        "sources": list(expansion.sources),
        "signatures": expansion.signatures,
        "last": expansion.last,
    }


HUB_DEGREE = 2_000
"""From so many edges on an entity is a hub: its relations are read one by one, each in a query of its own."""


def expand_hub_step(expansion: Expansion, fan_out: int) -> Request[list[ExpansionResult]]:
    """Take one step from hubs, at most `fan_out` tails per source."""

    def decode(rows: Sequence[Row]) -> list[ExpansionResult]:
        return [_decode_expansion(expansion.key, *row, fan_out=fan_out) for row in rows]

    params: dict[str, Any] = {
        "sources": list(expansion.sources),
        "relation": expansion.step.relation if expansion.type == RELATED else None,
        "fan_out": fan_out,
        "signatures": expansion.signatures,
        "last": expansion.last,
        "inverse": expansion.step.inverse,
        "value_chars": MAX_VALUE_CHARS,
    }
    return Request(load_query("expand_hub_step"), params, decode, names={"RELATION": expansion.type})


def _decode_expansions(rows: Sequence[Row], fan_out: int, max_tails: int) -> list[ExpansionResult]:
    """Return the results of expansions that share a query, cut where more than `max_tails` were read of one: several of
    its sources may lead to the same tail.
    """
    num_tails: Counter[int] = Counter()
    for key, _, tails, _ in rows:
        num_tails[key] += len(tails)
    results = (_decode_expansion(*row, fan_out=fan_out) for row in rows)
    return [replace(each, cut=True) if num_tails[each.key] > max_tails else each for each in results]


def _decode_expansion(
    key: int, source: str, tails: list[Any], signatures: list[Any], *, fan_out: int
) -> ExpansionResult:
    known = chain((None if signature is None else tuple(signature) for signature in signatures), repeat(None))
    tail_values = tuple(
        Tail(Entity(id_, name, is_literal), degree or 0, signature)
        for (id_, name, degree, is_literal), signature in zip(tails[:fan_out], known, strict=False)
    )
    return ExpansionResult(key, source, tail_values, cut=len(tails) > fan_out)


MENTIONED_WITH = "mentioned with"
"""The relation between two concepts of the same snippet."""
MENTIONED_IN = "mentioned in"
"""The relation between a concept and the text of a snippet, which is a literal."""

MAX_SNIPPETS = 3
MAX_DEGREE = 20_000
"""The most snippets of a concept that a query examines."""

Pair = tuple[str, str]
"""The ids of two entities."""


Steps = tuple[tuple[str, bool], ...]
"""Relation and direction of each step, true if it is inverse."""


def find_paths_between(
    pairs: Sequence[Pair], max_paths: int, max_degree: int = HUB_DEGREE
) -> Request[list[tuple[int, Steps, list[str]]]]:
    """Find the shortest paths between two entities, as the pair's number, the steps, and the ids between its ends.

    At most two triples long, through no node of a higher degree, and max_paths + 1 of a pair.
    """

    def decode(rows: Sequence[Row]) -> list[tuple[int, Steps, list[str]]]:
        return [
            (pair, tuple((step.removeprefix("^"), step.startswith("^")) for step in steps), nodes)
            for pair, steps, nodes in rows
        ]

    params = {"pairs": [list(pair) for pair in pairs], "max_paths": max_paths, "max_degree": max_degree}
    return Request(load_query("join_topics"), params, decode)


def read_snippets(pairs: Sequence[Pair], max_snippets: int = MAX_SNIPPETS) -> Request[list[tuple[str, ...]]]:
    """Read for each pair the texts of the first snippets that mention both concepts, shortest first."""

    def decode(rows: Sequence[Row]) -> list[tuple[str, ...]]:
        found: list[tuple[str, ...]] = [()] * len(pairs)
        for pair, texts in rows:
            found[pair] = tuple(texts)
        return found

    params = {
        "pairs": [list(pair) for pair in pairs],
        "relation": MENTIONED_IN,
        "max_snippets": max_snippets,
        "max_degree": MAX_DEGREE,
    }
    return Request(load_query("read_snippets"), params, decode)


Signature = Mapping[int, int]
"""The number of triples of each relation at an entity, by signed catalogue number: n leaves it, -n enters it."""


@dataclass(frozen=True, slots=True)
class NodesWithSignatures:
    """Entities and literals by id, and the signatures of those that were asked for with them."""

    entities: Mapping[str, Entity]
    signatures: Mapping[str, Signature]


@dataclass(frozen=True, slots=True)
class NeighbourTriples:
    """Triples at the requested entities, and their neighbours.

    rows: the id of the requested entity; the signed catalogue number, negative if the triple enters it; the id of the
    neighbour; and the position in the store's order among the entity's triples of that relation, 0 if all triples of
    the entity were requested.
    """

    rows: Sequence[tuple[str, int, str, int]]
    nodes: NodesWithSignatures


@dataclass(frozen=True, slots=True)
class EntityReadLimits:
    """Some triples of an entity: the most of each relation, by name, that leaves and that enters it."""

    id: str
    leaving: Mapping[str, int]
    entering: Mapping[str, int]


def read_entity_signatures(ids: Sequence[str]) -> Request[NodesWithSignatures]:
    """Read the existing entities among `ids`, with their signatures."""

    def decode(rows: Sequence[Row]) -> NodesWithSignatures:
        signatures = {id_: _signature(signature or ()) for id_, _, signature in rows}
        return NodesWithSignatures({id_: Entity(id_, name) for id_, name, _ in rows}, signatures)

    return Request(load_query("read_signature_counts"), {"ids": list(ids)}, decode)


def read_neighbours(
    whole: Sequence[str], parts: Sequence[EntityReadLimits], numbers: Mapping[str, int], *, last: bool
) -> Request[NeighbourTriples]:
    """Read all triples of the entities `whole`, and some triples of `parts`.

    `numbers` are the catalogue numbers of the relations to read; others are skipped. Neighbours come with their
    signatures; if `last`, only the unnamed ones.
    """
    order = sorted(numbers, key=lambda name: numbers[name])
    num_positions = max((n for part in parts for n in (*part.leaving.values(), *part.entering.values())), default=1)
    ids = [*whole, *(part.id for part in parts)]

    def decode(rows: Sequence[Row]) -> NeighbourTriples:
        found: list[tuple[str, int, str, int]] = []
        for neighbour, code in _codes(rows):
            rest, position = divmod(code, num_positions)
            rest, relation = divmod(rest, len(order))
            source, entering = divmod(rest, 2)
            number = numbers[order[relation]]
            found.append((ids[source], -number if entering else number, neighbour, position))
        return NeighbourTriples(found, _signed_nodes(rows))

    params: dict[str, Any] = {
        "whole": list(whole),
        "parts": [{"id": p.id, "leaving": dict(p.leaving), "entering": dict(p.entering)} for p in parts],
        "numbers": {name: number for number, name in enumerate(order)},
        "num_relations": len(order),
        "positions": num_positions,
        "last": last,
        "value_chars": MAX_VALUE_CHARS,
    }
    return Request(load_query("read_neighbours"), params, decode)


def read_hub_neighbours(
    hubs: Sequence[str], relation: str, number: int, limit: int, *, stored_as: str | None, last: bool
) -> Request[NeighbourTriples]:
    """Read the first `limit` triples of one relation at each hub; a negative `number` means that it enters them.

    `stored_as` is the relationship type of the relation if that differs from its name.
    """

    def decode(rows: Sequence[Row]) -> NeighbourTriples:
        found = [(hubs[code // limit], number, neighbour, code % limit) for neighbour, code in _codes(rows)]
        return NeighbourTriples(found, _signed_nodes(rows))

    type_ = stored_as or relation
    params: dict[str, Any] = {
        "hubs": list(hubs),
        "relation": relation if type_ == RELATED else None,
        "limit": limit,
        "last": last,
        "inverse": number < 0,
        "value_chars": MAX_VALUE_CHARS,
    }
    return Request(load_query("read_hub_neighbours"), params, decode, names={"RELATION": type_})


def _codes(rows: Sequence[Row]) -> Iterator[tuple[str, int]]:
    ids, _, _, codes, _ = rows[0]
    return ((id_, code) for id_, own in zip(ids, codes, strict=True) for code in own)


def _signed_nodes(rows: Sequence[Row]) -> NodesWithSignatures:
    ids, names, literals, _, signatures = rows[0]
    known = frozenset(literals)
    return NodesWithSignatures(
        {id_: Entity(id_, name, id_ in known) for id_, name in zip(ids, names, strict=True)},
        {id_: _signature(own) for id_, own in zip(ids, signatures, strict=True) if own is not None},
    )


def _signature(row: Sequence[int]) -> Signature:
    half = len(row) // 2
    return dict(zip(row[:half], row[half:], strict=True))


# Answer paths and candidate pools, from which training data is mined

MAX_NAMESAKES = 1_000
"""The most matches of a full-text query that are searched for the entities of a name."""

_PLAIN = re.compile(r'[^"\\\x00-\x1f\x7f]*')


@dataclass(frozen=True, slots=True)
class ShortPathsToAnswers:
    """The relation paths of one or two steps of a pair; `cut` if there may be more."""

    paths: tuple[tuple[RelationStep, ...], ...] = ()
    cut: bool = False


@dataclass(frozen=True, slots=True)
class LastStepsToAnswer:
    """The last steps to an answer, by the entity they start from; `cut` if there are more."""

    steps: Mapping[str, frozenset[RelationStep]] = field(default_factory=dict)
    cut: bool = False


def find_answer_paths(
    pairs: Sequence[tuple[str, Sequence[str]]], max_degree: int, max_paths: int
) -> Request[list[ShortPathsToAnswers]]:
    """Find the short relation paths between topic and answers of each pair of ids, at most `max_paths`."""

    def decode(rows: Sequence[Row]) -> list[ShortPathsToAnswers]:
        found = [ShortPathsToAnswers()] * len(pairs)
        for pair, paths, cut in rows:
            found[pair] = ShortPathsToAnswers(tuple(tuple(map(_step, path)) for path in paths), cut)
        return found

    params = {
        "pairs": [{"key": key, "topic": topic, "answers": list(ids)} for key, (topic, ids) in enumerate(pairs)],
        "max_degree": max_degree,
        "max_paths": max_paths,
    }
    return Request(load_query("find_answer_paths"), params, decode)


def find_last_steps_to_answers(answers: Sequence[str], max_degree: int) -> Request[dict[str, LastStepsToAnswer]]:
    def decode(rows: Sequence[Row]) -> dict[str, LastStepsToAnswer]:
        steps: dict[str, dict[str, set[RelationStep]]] = {}
        cuts: dict[str, bool] = {}
        for answer, step, sources, cut in rows:
            into = steps.setdefault(answer, {})
            for source in sources:
                into.setdefault(source, set()).add(_step(step))
            cuts[answer] = cut
        return {
            answer: LastStepsToAnswer({source: frozenset(found) for source, found in into.items()}, cuts[answer])
            for answer, into in steps.items()
        }

    return Request(load_query("find_last_steps"), {"answers": list(answers), "max_degree": max_degree}, decode)


def find_entities_by_name(names: Sequence[str]) -> Request[dict[str, tuple[str, ...]]]:
    """Find the ids of the entities and literals with exactly these names, by name; unknown names are left out."""
    params: dict[str, Any] = {
        "wanted": [{"name": name, "query": _phrase(name), "term": _term(name)} for name in names],
        "limit": MAX_NAMESAKES,
    }
    return Request(
        load_query("find_entities_by_name"), params, lambda rows: {name: tuple(ids) for name, ids in rows if ids}
    )


def stream_mediator_relations() -> Request[int]:
    """Stream the signed catalogue numbers in the signatures of unnamed entities, one a row."""
    return Request(load_query("stream_mediator_relations"), {}, lambda rows: int(rows[0][0]))


def _step(returned: str) -> RelationStep:
    return RelationStep(returned[1:], inverse=True) if returned.startswith("^") else RelationStep(returned)


def _phrase(name: str) -> str:
    return '"' + name.replace("_", " ").replace("\\", "\\\\").replace('"', '\\"') + '"'


def _term(value: str) -> str | None:
    plain = _PLAIN.match(value)
    assert plain
    if not plain[0]:
        return None
    return f'"{plain[0]}"' if plain[0] == value else f'"{plain[0]}'


VALUE_CHARS = 100
"""The longest literal value, as a name on a path."""


@dataclass(frozen=True, slots=True)
class RelationPathGroup:
    """Paths with the same relations, merged: their steps in `PoolChain`'s notation, the names on one of them, and their
    number; `cut` if there may be more from their start.
    """

    steps: tuple[str, ...]
    names: tuple[str, ...]
    count: int
    cut: bool


def find_shortest_paths(pairs: Sequence[tuple[str, str]], max_paths: int) -> Request[list[list[RelationPathGroup]]]:
    """Find the shortest paths of each pair of ids (topic, answer), from at most `max_paths` paths a pair."""

    def decode(rows: Sequence[Row]) -> list[list[RelationPathGroup]]:
        found: list[list[RelationPathGroup]] = [[] for _ in pairs]
        for pair, steps, names, count, cut in rows:
            found[pair].append(RelationPathGroup(tuple(steps), tuple(names), count, cut))
        return found

    params = {
        "pairs": [{"key": key, "topic": topic, "answer": answer} for key, (topic, answer) in enumerate(pairs)],
        "max_paths": max_paths,
        "value_chars": VALUE_CHARS,
    }
    return Request(load_query("find_shortest_paths"), params, decode)


def read_one_hop_paths(ids: Sequence[str], max_degree: int) -> Request[dict[str, list[RelationPathGroup]]]:
    """Read the relation paths of one hop that start at the entities among `ids`, from at most `max_degree` triples of
    each, literals included.
    """

    def decode(rows: Sequence[Row]) -> dict[str, list[RelationPathGroup]]:
        found: dict[str, list[RelationPathGroup]] = {}
        for id_, step, names, count, cut in rows:
            found.setdefault(id_, []).append(RelationPathGroup((step,), tuple(names), count, cut))
        return found

    params = {"ids": list(ids), "max_degree": max_degree, "value_chars": VALUE_CHARS}
    return Request(load_query("read_one_hop_paths"), params, decode)


Direction = Literal["out", "in", "both"]


def read_triples_at(
    here: Entity, relations: Sequence[RelationInfo], direction: Direction, offset: int, limit: int
) -> Request[list[Triple]]:
    """Read some of the triples of these relations, which it has, at an entity."""

    def decode(rows: Sequence[Row]) -> list[Triple]:
        others = ((name, leaves, Entity(id_, value, is_literal)) for name, leaves, id_, value, is_literal in rows)
        return [Triple(here, name, it) if leaves else Triple(it, name, here) for name, leaves, it in others]

    params = {"id": here.id, "relations": [each.name for each in relations], "offset": offset, "limit": limit}
    params |= {"leaving": direction != "in", "entering": direction != "out", "value_chars": MAX_VALUE_CHARS}
    types = sorted({each.stored_as or each.name for each in relations})
    return Request(load_query("read_page"), params, decode, names={"RELATION": types})


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

    return Request(load_query("find_triples"), {"asked": asked}, decode)
