"""Look up what a change of single triples speaks of: entities by id or name, relations by name or label, triples."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ...models.message_text import quote_line
from ..errors import UsageError
from ..neo4j.catalogue import RelationInfo, read_catalogue
from ..neo4j.mining import find_entities_by_name
from ..neo4j.templates import Request, split_into_requests, template
from ..steps import Steps, send_all, send_one
from ..values import Entity
from .names import Name, parse_name_properties
from .relations import RelationRow
from .stated import End, TripleKey

T = TypeVar("T")
S = TypeVar("S")

BATCH_SIZE = 10_000
NAMES_A_BATCH = 1_000
_NO_NAME = re.compile(r"[mg]\.[0-9a-z_]+|_:.*|[A-Za-z][A-Za-z0-9+.-]*:/.*", re.DOTALL)
"""What is an id and no name: Freebase's, a blank node's, an IRI."""


def send_batches(items: Iterable[S], make: Callable[[list[S]], Request[T]], size: int = BATCH_SIZE) -> Steps[list[T]]:
    """Send the requests of the items, batch after batch."""
    answers: list[T] = []
    for batch in split_into_requests(items, size, lambda item: len(str(item))):
        answers += yield from send_all([make(batch)])
    return answers


class EntityLookup:
    """The entities that texts mean, with their names: an id, else an exact name."""

    def __init__(self) -> None:
        self.names: dict[str, tuple[Name, ...]] = {}
        """The names of the entities that the graph has, by id."""
        self._called: dict[str, tuple[str, ...]] = {}
        self._values: dict[str, tuple[str, ...]] = {}

    def read(self, texts: Iterable[str], ids: Iterable[str], values: Iterable[str] = ()) -> Steps[None]:
        """Read what the texts and ids may mean; `values` may be those of literals, too."""
        texts = list(dict.fromkeys(texts))
        yield from self._read_names({*texts, *ids})
        wanted = {*(text for text in texts if text not in self.names), *values}
        found: dict[str, tuple[str, ...]] = {}
        for some in (yield from send_batches(sorted(wanted), find_entities_by_name, NAMES_A_BATCH)):
            found |= some
        yield from self._read_names({id_ for some in found.values() for id_ in some} - self.names.keys())
        for text, ids_of_text in found.items():
            self._called[text] = tuple(id_ for id_ in ids_of_text if id_ in self.names)
            self._values[text] = tuple(id_ for id_ in ids_of_text if id_ not in self.names)

    def _read_names(self, ids: Iterable[str]) -> Steps[None]:
        for found in (yield from send_batches(sorted(ids), _read_names)):
            self.names |= found

    def candidates(self, end: End) -> tuple[str, ...]:
        """Return the ids of the entities that this may be; none where the graph has no such entity."""
        id_ = end.id if isinstance(end, Entity) else end
        if id_ in self.names:
            return (id_,)
        return () if isinstance(end, Entity) else self._called.get(end, ())

    def values(self, text: str) -> tuple[str, ...]:
        """Return the ids of the literals with this value."""
        return self._values.get(text, ())

    def resolve(self, end: End) -> str:
        """Return the id of an entity, itself where it is new; raise `UsageError` where several have the name."""
        found = self.candidates(end)
        if len(found) > 1:
            some = ", ".join(map(quote_line, found[:5]))
            raise UsageError(f"several entities are called {quote_line(str(end))}: give the id of one of {some}")
        return found[0] if found else end.id if isinstance(end, Entity) else end


def default_entity_name(end: End) -> tuple[Name, ...]:
    """Return the name of a new entity that none is given for: what it is called by, unless that is but an id."""
    text = end.name if isinstance(end, Entity) else None if _NO_NAME.fullmatch(end) else end
    return (Name(text),) if text and text.strip() else ()


@dataclass(frozen=True, slots=True)
class KnownRelation:
    """A relation as the catalogue has it now."""

    number: int
    count: int
    stored_as: str | None

    @classmethod
    def of(cls, row: RelationRow) -> KnownRelation:
        """Return a relation that has just been put into the catalogue."""
        return cls(row.number, 0, row.stored_as)


def resolve_relations(names: Iterable[str]) -> Steps[tuple[dict[str, str], dict[str, KnownRelation]]]:
    """Return the relation that each text means, itself where it is new, and those that the catalogue has.

    Raises `UsageError` for a label that several have.
    """
    wanted = sorted(set(names))
    known: dict[str, KnownRelation] = {}
    for found in (yield from send_batches(wanted, _find_relations)):
        known |= found
    meant = {name: name for name in wanted}
    if unknown := [name for name in wanted if name not in known]:
        labelled: defaultdict[str, list[RelationInfo]] = defaultdict(list)
        for relation in (yield from send_one(read_catalogue())).relations:
            for label in {relation.label.casefold(), relation.shown_label.casefold()}:
                labelled[label].append(relation)
        for name in unknown:
            some = labelled.get(name.casefold(), [])
            if len(some) > 1:
                listed = ", ".join(quote_line(relation.name) for relation in some[:5])
                raise UsageError(f"several relations are called {quote_line(name)}: give the name of one of {listed}")
            if some:
                meant[name] = some[0].name
                known[some[0].name] = KnownRelation(some[0].number, some[0].count, some[0].stored_as)
    return meant, known


def read_triple_loads(triples: Iterable[TripleKey]) -> Steps[dict[TripleKey, tuple[int, ...]]]:
    """Return the numbers of the loads that state each triple of the graph among these."""
    found: dict[TripleKey, tuple[int, ...]] = {}
    triples = list(triples)
    for is_literal in (False, True):
        some = [triple for triple in triples if triple.is_literal == is_literal]
        for answer in (yield from send_batches(some, _read_stating)):
            found |= answer
    return found


def read_signatures(ids: Iterable[str]) -> Steps[dict[str, dict[int, int]]]:
    """Return how many triples each relation has at the entities with these ids, by catalogue number."""
    signatures: dict[str, dict[int, int]] = {}
    for found in (yield from send_batches(ids, _read_signatures)):
        signatures |= found
    return signatures


def find_literals(ids: Iterable[str]) -> Steps[set[str]]:
    """Return the ids of the literals of the graph among these."""
    found = yield from send_batches(ids, _find_literals)
    return set().union(*found)


def _read_names(ids: Sequence[str]) -> Request[dict[str, tuple[Name, ...]]]:
    return Request(
        template("read_names"),
        {"ids": list(ids)},
        lambda rows: {id_: parse_name_properties(name, aliases, tags) for id_, name, aliases, tags in rows},
    )


def _find_relations(names: Sequence[str]) -> Request[dict[str, KnownRelation]]:
    return Request(
        template("find_relations"),
        {"names": list(names)},
        lambda rows: {name: KnownRelation(*of_relation) for name, *of_relation in rows},
    )


def _read_stating(triples: Sequence[TripleKey]) -> Request[dict[TripleKey, tuple[int, ...]]]:
    return Request(
        template("read_stating_loads"),
        {"triples": [list(triple[:3]) for triple in triples]},
        lambda rows: {triples[place]: tuple(loads) for place, loads in rows},
        tail_label(triples[0].is_literal),
    )


def tail_label(is_literal: bool) -> Mapping[str, str]:
    """Return the label of tails, for the name in a query's text."""
    return {"TAIL": "Literal" if is_literal else "Entity"}


def _read_signatures(ids: Sequence[str]) -> Request[dict[str, dict[int, int]]]:
    def decode(rows: Sequence[tuple[str, str | None, list[int] | None]]) -> dict[str, dict[int, int]]:
        found = {}
        for id_, _, signature in rows:
            numbers = signature or []
            half = len(numbers) // 2
            found[id_] = dict(zip(numbers[:half], numbers[half:], strict=True))
        return found

    return Request(template("read_signature_counts"), {"ids": list(ids)}, decode)


def _find_literals(ids: Sequence[str]) -> Request[set[str]]:
    return Request(template("find_literals"), {"ids": list(ids)}, lambda rows: {id_ for (id_,) in rows})
