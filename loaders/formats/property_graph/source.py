"""Read a Neo4j that is already there: nodes, then relationships, page by page into a spool, and from there.

Nothing is written there: every query runs with access mode READ. An entity's id is its node's element id. A
relationship with properties is an unnamed record, whose id is the relationship's element id: start and end hang on it
by the relationship's type, so that walking through it is one hop, as through Freebase's mediators.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from ....engine.errors import DatabaseUnavailableError
from ....engine.neo4j.gateway import Gateway
from ....engine.neo4j.property_graph import Node, Page, Relationship, read_nodes, read_relationships
from ....engine.progress import Progress, ignore_progress
from ....engine.writing.relations import RelationFacts
from ...rows import StatementRow, alias_row, name_row, triple_row
from ...source import Part, SourceRowBatches, digest_of
from .mapping import GraphMapping, LabelMapping
from .spool import Spool
from .survey import NO_LABEL, ElementIdRange, Survey
from .values import literals_of

PAGE_SIZE = 20_000
"""Element ids that are read by one query, in a transaction of their own."""
FETCH_SIZE = 2_000
TYPE = "type"
"""The relation between a node and its labels."""


class Neo4jSource:
    """The nodes and relationships of a database, as a mapping says.

    `fetch` reads them; everything else is from what it read. `staging` is the folder for that.
    """

    kind = "neo4j"
    max_rejects = 0
    languages: Sequence[str] = ()
    unnamed_ids: str | None = None

    def __init__(self, gateway: Gateway, survey: Survey, mapping: GraphMapping, staging: Path) -> None:
        connection = gateway.connection
        self.name = f"{connection.where}/{connection.database}"
        self._gateway = gateway
        self._survey = survey
        self._mapping = mapping
        self._without = mapping.without(survey)
        self._rows = _Rows(mapping)
        self._from = {"from": connection.where, "from_database": connection.database, "from_user": connection.user}
        key = json.dumps([survey.nodes.prefix, mapping.as_json()], sort_keys=True)
        self._spool = Spool(staging / f"neo4j-{hashlib.sha256(key.encode()).hexdigest()[:16]}")
        self._position_bytes = 0

    @property
    def goes_on(self) -> bool:
        """Whether an earlier reading was interrupted, or its load was, so that this one goes on with it."""
        return self._spool.is_begun

    @property
    def folder(self) -> Path:
        """The folder of what is read."""
        return self._spool.folder

    @property
    def left_out(self) -> Mapping[str, int]:
        """What was left out, by kind."""
        unread = sum(self._survey.keys[key] for key in self._without)
        counts = Counter({"properties": unread}) + Counter(self._spool.state.left_out)
        return {name: num for name, num in sorted(counts.items()) if num}

    @property
    def size_bytes(self) -> int:
        """The size of what was read, on disk."""
        return self._spool.size_bytes

    @property
    def position_bytes(self) -> int:
        """How much of it is read again."""
        return self._position_bytes

    def reads(self, path: Path) -> bool:  # noqa: ARG002
        """Return False: it reads no file of the user's."""
        return False

    def fetch(self, progress: Progress = ignore_progress, page_size: int = PAGE_SIZE) -> None:
        """Read the database to its end, from where an interrupted reading stopped.

        Raises `DatabaseUnavailableError` if the server goes away meanwhile; what was read stays.
        """
        nodes, edges = self._survey.nodes, self._survey.edges
        total = nodes.last + edges.last + 2
        try:
            for part, extent, done in ((_NODES, nodes, 0), (_RELATIONSHIPS, edges, nodes.last + 1)):
                for first in range(self._spool.state.next.get(part, 0), extent.last + 1, page_size):
                    progress("fetching", done + first, total)
                    self._fetch_page(part, extent, first, min(first + page_size - 1, extent.last))
        except DatabaseUnavailableError as error:
            read = sum(self._spool.state.next.values())
            raise DatabaseUnavailableError(
                f"{self._gateway.connection.where} went away when {read:,} of {total:,} element ids were read: run the "
                "same command again within a day, and it goes on from there"
            ) from error
        progress("fetching", total, total)

    def _fetch_page(self, part: str, extent: ElementIdRange, first: int, last: int) -> None:
        left_out: Counter[str] = Counter()
        page = Page(extent.prefix, first, last, self._without)
        rows = self._node_rows(page, left_out) if part == _NODES else self._relationship_rows(page, left_out)
        self._spool.add(part, rows, last + 1, left_out)

    def delete(self) -> None:
        """Delete what was read."""
        self._spool.delete()

    def digest(self) -> str:
        """Return the hash of what was read, under whatever address, and of the mapping."""
        return digest_of(self.kind, self._mapping.as_json(), [self._spool.state.digest])

    def options(self) -> Mapping[str, object]:
        """Return the address and what element ids begin with, by which answers lead back to their nodes."""
        return {**self._from, "elements": self._survey.nodes.prefix}

    def parts(self) -> Iterator[Part]:
        """Yield the nodes, then the relationships."""
        self._position_bytes = 0
        for part in (_NODES, _RELATIONSHIPS):
            yield SourceRowBatches(f"{self.name} {part}", self._batches(part))

    def relation_facts(self) -> Mapping[str, RelationFacts]:
        """Return the label that most ends of each relationship type have."""
        return {
            type_: RelationFacts(range=facts.ends or None)
            for type_, facts in self._survey.relationships.items()
            if type_ in self._mapping.relationships
        }

    def _batches(self, part: str) -> Iterator[pa.RecordBatch]:
        before = self._position_bytes
        for batch, done_bytes in self._spool.batches(part):
            self._position_bytes = before + done_bytes
            yield batch

    def _node_rows(self, page: Page, left_out: Counter[str]) -> Iterator[StatementRow]:
        if page.first == 0 and self._mapping.types:
            yield from (name_row(0, label, label) for label in self._mapping.labels if label)
        found = self._gateway.stream(read_nodes(page, self._mapping.where), FETCH_SIZE)
        for line, node in enumerate(found, page.first + 1):
            yield from self._rows.of_node(line, node, left_out)

    def _relationship_rows(self, page: Page, left_out: Counter[str]) -> Iterator[StatementRow]:
        labels = sorted(self._mapping.labels) if set(self._mapping.labels) != set(self._survey.labels) else None
        found = self._gateway.stream(read_relationships(page, labels, self._mapping.where), FETCH_SIZE)
        for line, relationship in enumerate(found, page.first + 1):
            yield from self._rows.of_relationship(line, relationship, left_out)


_NODES, _RELATIONSHIPS = "nodes", "relationships"


class _Rows:
    """Turns nodes and relationships into rows as a mapping says; what is left out is counted."""

    def __init__(self, mapping: GraphMapping) -> None:
        self._mapping = mapping
        self._order = {label: place for place, label in enumerate(mapping.labels)}
        self._mapped: dict[tuple[str, ...], list[tuple[str, LabelMapping]]] = {}
        """The labels that count of those that nodes have together."""

    def of_node(self, line: int, node: Node, left_out: Counter[str]) -> Iterator[StatementRow]:
        """Yield the types of a node, its name and aliases, and its other properties as literals."""
        mapped = self._map_labels(tuple(node.labels or (NO_LABEL,)))
        if not mapped or not node.is_within:
            left_out["nodes"] += 1
            return
        if self._mapping.types:
            yield from (triple_row(line, node.id, TYPE, label) for label, _ in mapped if label)
        texts = {key: [found.text.strip() for found in literals_of(value)] for key, value in node.properties}
        named_by = next((each.name for _, each in mapped if any(texts.get(key) for key in each.name)), ())
        if named_by:
            yield name_row(line, node.id, " ".join(texts[key][0] for key in named_by if texts.get(key)))
        aliases = dict.fromkeys(key for _, each in mapped for key in each.aliases if key not in named_by)
        other_names = [text for key in named_by for text in texts.get(key, [])[1:]] if len(named_by) == 1 else []
        other_names += [text for key in aliases for text in texts.get(key, [])]
        yield from (alias_row(line, node.id, text) for text in other_names)
        kept = {key for _, each in mapped for key in each.kept}.difference(named_by, aliases)
        for key, value in node.properties:
            if key in kept:
                yield from _literal_rows(line, node.id, key, value, left_out)
            elif key not in aliases and key not in named_by:
                left_out["properties"] += 1

    def of_relationship(self, line: int, found: Relationship, left_out: Counter[str]) -> Iterator[StatementRow]:
        """Yield the triple of a relationship, or those of the unnamed record that holds its properties."""
        keys = self._mapping.relationships.get(found.type)
        if keys is None or not found.is_within:
            left_out["relationships"] += 1
            return
        said: list[StatementRow] = []
        for key, value in found.properties:
            if key in keys:
                said += _literal_rows(line, found.id, key, value, left_out)
            else:
                left_out["properties"] += 1
        if said:
            yield triple_row(line, found.start, found.type, found.id)
            yield triple_row(line, found.id, found.type, found.end)
            yield from said
        else:
            yield triple_row(line, found.start, found.type, found.end)

    def _map_labels(self, labels: tuple[str, ...]) -> list[tuple[str, LabelMapping]]:
        if labels not in self._mapped:
            ranked = sorted((label for label in labels if label in self._order), key=self._order.__getitem__)
            self._mapped[labels] = [(label, self._mapping.labels[label]) for label in ranked]
        return self._mapped[labels]


def _literal_rows(line: int, head: str, key: str, value: object, left_out: Counter[str]) -> Iterator[StatementRow]:
    found = list(literals_of(value))
    if not found:
        left_out["values that are no literals"] += 1
    yield from (StatementRow(line, "triple", head, key, each.text, True, each.datatype) for each in found)
