"""Find what kinds of things stand at the two ends of relations, from the graph alone.

One pass over a bounded sample of entities and literals, then, where these are not all, a bounded number of the
relations that the sample rarely contains, one by one; of what is added to a graph, only the new relations. Samples are
the first by id, so that the same graph has the same kinds; of a relation with more than `AMONG` triples they are the
first written.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field

from ...models.wording import translate_label
from ...models.wording.kinds import NO_KIND, EndKind, EndSample, end_kinds
from ..neo4j import Request, Row, template
from ..neo4j.catalogue import LABEL_SEPARATOR, RelationInfo, read_catalogue, type_words
from ..neo4j.gateway import Gateway

NUM_ENTITIES = 16_000
"""A smaller graph is read whole: each relation looked at by itself is a query to plan, 0.4 s in a cold server."""
NUM_LITERALS = 8_000
RELATIONS_PER_LITERAL = 20
AMONG = 10_000
"""Triples of a relation, or of a literal, among which those with the first ids are looked for."""
MAX_RELATIONS = 200
"""Relations of an entity that are looked at."""
ENOUGH = 6
"""Things at an end that tell its kind; an end with less of them in the sample is looked at by itself."""
PER_END = 64
ONE_BY_ONE = 40
"""Relations that are looked at by themselves, those with most triples first."""


@dataclass(slots=True)
class _End:
    names: list[str] = field(default_factory=list)
    num_values: int = 0
    others: Counter[int] = field(default_factory=Counter)

    def add(self, name: str, signature: Sequence[int], *, is_value: bool = False) -> None:
        if len(self.names) < PER_END:
            self.names.append(name)
            self.num_values += is_value
            self.others.update(signature)


def find_end_kinds(gateway: Gateway, names: Collection[str] | None = None) -> dict[str, tuple[EndKind, EndKind]]:
    """Return the kinds at head and tail of each relation, by name; of those named, where there are names."""
    relations = gateway.run(read_catalogue()).relations
    ends: defaultdict[int, _End] = defaultdict(_End)
    is_whole = False if names is not None else _sample(gateway, relations, ends)
    wanted = [r for r in relations if names is None or r.name in names]
    rare = [r for r in wanted if min(len(ends[r.number].names), len(ends[-r.number].names)) < min(ENOUGH, r.count)]
    looked_at = [] if is_whole else sorted(rare, key=lambda r: (-r.count, r.number))[:ONE_BY_ONE]
    for relation, rows in zip(looked_at, gateway.run_all([*map(_sample_of, looked_at)]), strict=True):
        head, tail = ends[relation.number], ends[-relation.number] = _End(), _End()
        for head_name, head_signature, tail_name, tail_signature, is_value in rows:
            head.add(head_name, head_signature)
            tail.add(tail_name, tail_signature or (-relation.number,), is_value=is_value)
    own = {r.number: r.label.rpartition(LABEL_SEPARATOR)[2].replace("_", " ") for r in relations}
    labels = {number: translate_label(label) or label for number, label in own.items()}
    types = {r.number: type_words(r.domain) for r in relations} | {-r.number: type_words(r.range) for r in relations}
    samples = {  # of the relations that were there: another writer may have added some since
        end: EndSample(
            tuple(each.names),
            each.num_values,
            {other: times for other, times in each.others.items() if abs(other) in labels},
        )
        for end, each in ends.items()
        if each.names and abs(end) in labels
    }
    found = end_kinds(samples, labels, types)
    return {r.name: (found.get(r.number, NO_KIND), found.get(-r.number, NO_KIND)) for r in wanted}


def _sample(gateway: Gateway, relations: Sequence[RelationInfo], ends: defaultdict[int, _End]) -> bool:
    numbers = {relation.name: relation.number for relation in relations}
    entities = gateway.run(_rows("sample_entities", limit=NUM_ENTITIES, max_relations=MAX_RELATIONS))
    for name, signature in entities:
        for number in signature:
            ends[number].add(name, signature)
    literals = gateway.run(_rows("sample_literals", limit=NUM_LITERALS, per_literal=RELATIONS_PER_LITERAL, among=AMONG))
    for value, relation in literals:
        if relation in numbers:
            ends[-numbers[relation]].add(value, (-numbers[relation],), is_value=True)
    return len(entities) < NUM_ENTITIES and len(literals) < NUM_LITERALS


def _sample_of(relation: RelationInfo) -> Request[Sequence[Row]]:
    params = {"limit": PER_END, "max_relations": MAX_RELATIONS, "among": AMONG}
    return _rows("sample_relation", {"RELATION": relation.stored_as or relation.name}, relation=relation.name, **params)


def refresh_end_kinds(gateway: Gateway, names: Collection[str] | None = None) -> None:
    """Find the kinds at the ends of all relations, or of those named, and write them into the catalogue."""
    if names is not None and not names:
        return
    kinds = [
        {"name": name}
        | {
            f"{end}_{key}": value
            for end, kind in zip(("head", "tail"), ends, strict=True)
            for key, value in asdict(kind).items()
        }
        for name, ends in find_end_kinds(gateway, names).items()
    ]
    gateway.run(Request(template("set_relation_kinds"), {"kinds": kinds}, lambda _: None))


def _rows(name: str, names: dict[str, str] | None = None, **params: object) -> Request[Sequence[Row]]:
    return Request(template(name), params, lambda rows: rows, names or {})
