"""Read a Neo4j that is already there: a survey of it, then its nodes and relationships.

Nothing is written there: every query runs with access mode READ. An entity's id is its node's element id, a record's
the relationship's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...engine.errors import InputError
from ...engine.neo4j import Request, Row, template
from ...engine.neo4j.gateway import Gateway
from ..mapping import NO_LABEL, LabelFacts, PropertySample, Survey, TypeFacts
from ..property_graph import SAMPLE_SIZE, Element, Node, PropertyGraph, Relationship

ENDS_SAMPLE_SIZE = 200
"""Relationships of a type whose ends are looked at."""
MAX_SAMPLED = 200
"""Labels and types that are sampled, those with most elements first; of the others only counts are known."""
FETCH_SIZE = 2_000


class Neo4jGraph(PropertyGraph):
    """The nodes and relationships of a database.

    name: what the database was made of; its address and its element ids say nothing then, and ids are ``n17`` and
    ``r17``.
    """

    kind = "neo4j"

    def __init__(self, gateway: Gateway, name: str = "") -> None:
        connection = gateway.connection
        self.name = name or f"{connection.where}/{connection.database}"
        self._gateway = gateway
        self._is_temporary = bool(name)
        self._options = {
            "from": connection.where,
            "from_database": connection.database,
            "from_user": connection.user,
        }
        self._num_with: Counter[str] = Counter()
        """How many nodes and relationships have each property."""

    def options(self) -> Mapping[str, object]:
        return {"from": self.name} if self._is_temporary else self._options

    def survey(self) -> Survey:
        """Survey the database in one pass over its nodes and one over its relationships, and sample what may be a name.

        Raises `InputError` for a database without nodes.
        """
        labels: dict[str, LabelFacts] = {}
        types: dict[str, TypeFacts] = {}
        self._num_with = Counter()
        num_nodes = 0
        for its_labels, its_keys, num in self._stream("survey_nodes"):
            num_nodes += num
            counts = dict.fromkeys(its_keys, num)
            self._num_with.update(counts)
            for label in its_labels or (NO_LABEL,):
                found = labels.setdefault(label, LabelFacts())
                found.num += num
                found.keys.update(counts)
        if not num_nodes:
            connection = self._gateway.connection
            raise InputError(
                f"{connection.where}: expected nodes in database {connection.database!r}, found none that "
                f"{connection.user!r} may read: check --from-database, and the user's rights"
            )
        for type_, its_keys, num in self._stream("survey_relationships"):
            counts = dict.fromkeys(its_keys, num)
            self._num_with.update(counts)
            of_type = types.setdefault(type_, TypeFacts())
            of_type.num += num
            of_type.num_with_keys += num if its_keys else 0
            of_type.keys.update(counts)
        for label in _largest({label: facts.num for label, facts in labels.items()}):
            labels[label].samples = self._sample_properties(label)
        for type_ in _largest({type_: facts.num for type_, facts in types.items()}):
            ends = self._run("sample_ends", {"limit": ENDS_SAMPLE_SIZE}, RELATION=type_)
            types[type_].starts = _commonest((label, num) for starts, _, num in ends for label in starts)
            types[type_].ends = _commonest((label, num) for _, ends, num in ends for label in ends)
        return Survey(labels, types, num_nodes)

    def elements(self) -> Iterator[Element]:
        parameters = {"without": list(self.unread)}
        for id_, labels, properties in self._stream("read_nodes", parameters):
            yield Node(self._id("n", id_), labels, properties)
        for id_, type_, start, end, properties in self._stream("read_relationships", parameters):
            yield Relationship(self._id("r", id_), type_, self._id("n", start), self._id("n", end), properties)

    def notes(self) -> Mapping[str, int]:
        return {"properties": sum(self._num_with[key] for key in self.unread)}

    def _id(self, letter: str, element_id: str) -> str:
        return f"{letter}{element_id.rpartition(':')[2]}" if self._is_temporary else element_id

    def _sample_properties(self, label: str) -> dict[str, PropertySample]:
        """Return what the properties of some nodes with a label hold, of each the commonest type of values."""
        rows = self._run("sample_properties", {"limit": SAMPLE_SIZE}, LABEL=label)
        samples = (
            PropertySample(key, type_, num, num_distinct, num_items or 0, num_chars or 0.0)
            for key, type_, num, num_distinct, num_items, num_chars in rows
        )
        return {sample.key: sample for sample in sorted(samples, key=lambda sample: sample.num)}

    def _run(self, query: str, parameters: Mapping[str, Any], **names: str) -> list[Row]:
        return self._gateway.run(Request(template(query), parameters, list, names))

    def _stream(self, query: str, parameters: Mapping[str, Any] | None = None) -> Iterator[Row]:
        request = Request(template(query), parameters or {}, lambda rows: rows[0])
        return self._gateway.stream(request, FETCH_SIZE)


def read_database_id(gateway: Gateway) -> str:
    """Return the id of the database, which is the same under every address."""
    return gateway.run(Request(template("read_database_id"), {}, lambda rows: str(rows[0][0])))


def _largest(counts: Mapping[str, int]) -> list[str]:
    """Return the names of the largest, as far as a query can name them."""
    ranked = sorted(counts, key=lambda name: (-counts[name], name))[:MAX_SAMPLED]
    return [name for name in ranked if name and "\\u" not in name and "\x00" not in name]


def _commonest(counts: Iterable[tuple[str, int]]) -> str:
    found: Counter[str] = Counter()
    for name, num in counts:
        found[name] += num
    return min(found, key=lambda name: (-found[name], name), default="")
