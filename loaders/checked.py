"""A source read to its end before anything is written: faults found, duplicates counted, names gathered.

Ids are numbered and triples are kept as pairs of numbers, about 100 bytes a triple: a hundred million triples need
another way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ..engine.errors import InputError
from .progress import Progress, silent
from .source import MAX_RELATIONS, RelationFacts, Source, fault_of_id, fault_of_relation, search_name
from .textfile import shown

_BITS = 32
_MASK = (1 << _BITS) - 1
_REPORT_EVERY = 50_000


@dataclass(slots=True)
class CheckedGraph:
    """All that a source says, without duplicates."""

    ids: list[str]
    """The entities in the order of their first appearance."""
    names: dict[str, dict[str, None]]
    """By id, in order: the name, then the aliases. Ids without a name are absent."""
    relation_facts: Mapping[str, RelationFacts]
    num_duplicates: int = 0
    num_names_ignored: int = 0
    """Rows of names whose id is in no triple."""
    _pairs: dict[str, set[int]] = field(default_factory=dict)

    @property
    def relations(self) -> list[str]:
        """The relations' names, sorted."""
        return sorted(self._pairs)

    @property
    def num_triples(self) -> int:
        """The number of distinct triples."""
        return sum(map(len, self._pairs.values()))

    def pairs(self, relation: str) -> Iterator[tuple[str, str]]:
        """Yield head and tail of the relation's triples; those of one head follow each other."""
        ids = self.ids
        for pair in sorted(self._pairs[relation]):
            yield ids[pair >> _BITS], ids[pair & _MASK]

    def entity_rows(self) -> Iterator[dict[str, object]]:
        """Yield id, name (None for a mediator), aliases and search names of every entity."""
        for id_ in self.ids:
            names = list(self.names.get(id_, ()))
            yield {
                "id": id_,
                "name": names[0] if names else None,
                "aliases": names[1:],
                "search_names": list(dict.fromkeys(filter(None, map(search_name, names)))),
            }


def read_checked(source: Source, progress: Progress = silent) -> CheckedGraph:
    """Read a source to its end; raise `InputError` for the first fault."""
    numbers: dict[str, int] = {}
    pairs: dict[str, set[int]] = {}
    num_rows = 0
    for head, relation, tail in source.triples():
        num_rows += 1
        if num_rows % _REPORT_EVERY == 0:
            progress("reading", num_rows, 0)
        for id_ in (head, tail):
            if id_ not in numbers and (fault := fault_of_id(id_)):
                raise InputError(f"{source.place}: {fault}: {shown(id_)}")
        key = numbers.setdefault(head, len(numbers)) << _BITS | numbers.setdefault(tail, len(numbers))
        if relation not in pairs:
            if fault := fault_of_relation(relation):
                raise InputError(f"{source.place}: {fault}: {shown(relation)}")
            if len(pairs) == MAX_RELATIONS:
                raise InputError(f"{source.place}: more than {MAX_RELATIONS:,} relations, Neo4j cannot keep them apart")
            pairs[relation] = set()
        pairs[relation].add(key)
    graph = CheckedGraph(list(numbers), {}, source.relation_facts(), _pairs=pairs)
    graph.num_duplicates = num_rows - graph.num_triples
    for id_, name in source.names():
        if id_ in numbers:
            graph.names.setdefault(id_, {})[name] = None
        else:
            graph.num_names_ignored += 1
    progress("reading", num_rows, num_rows)
    return graph
