"""Read a Neo4j that is already there: nodes, then relationships, page by page into a spool, and from there.

Nothing is written there: every query runs with access mode READ. An entity's id is its node's element id. A
relationship with properties is an unnamed record, whose id is the relationship's element id: start and end hang on it
by the relationship's type, so that walking through it is one hop, as through Freebase's mediators.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from neo4j.spatial import Point
from neo4j.time import Date, DateTime, Duration, Time

from ....engine.errors import DatabaseUnavailableError
from ....engine.neo4j.gateway import Gateway
from ....engine.progress import Progress, ignore_progress
from ....engine.whole_file import translate_storage_errors
from ....engine.writing.records import RelationFacts
from ....models.whole_file import atomic_write
from ...source import (
    BATCH_ROWS,
    ROWS,
    Part,
    Source,
    SourceRowBatches,
    StatementRow,
    alias_row,
    digest_of,
    name_row,
    triple_row,
)
from .mapping import GraphMapping, LabelMapping
from .survey import (
    MAX_NUMBERS,
    NO_LABEL,
    ElementIdRange,
    Node,
    Page,
    Relationship,
    Survey,
    read_nodes,
    read_relationships,
)

MAX_AGE_S = 24 * 3_600
"""What was read longer ago is read again: the database may have changed."""
MAX_BATCH_CHARS = 16_000_000
FORMAT = 1


@dataclass(slots=True)
class SpoolState:
    """How far the reading is: for each part its pages, and the number in the element ids that is read next."""

    started_s: float = field(default_factory=time.time)
    pages: dict[str, int] = field(default_factory=dict)
    next: dict[str, int] = field(default_factory=dict)
    digest: str = ""
    num_rows: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    format: int = FORMAT


class Spool:
    """The rows of a database in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = self._read_state()

    @property
    def is_begun(self) -> bool:
        """Whether pages are there from an earlier reading."""
        return bool(self.state.pages)

    @property
    def size_bytes(self) -> int:
        return sum(path.stat().st_size for path in self.folder.glob("*.arrow"))

    def add(self, part: str, rows: Iterable[StatementRow], next_number: int, left_out: Counter[str]) -> None:
        """Write a page of a part, after which the reading goes on at `next_number`; `left_out` fills as it is read.

        Raises `StorageError` if there is no room.
        """
        digest = hashlib.sha256(self.state.digest.encode())
        number = self.state.pages.get(part, 0)
        num_rows = 0
        with translate_storage_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            with atomic_write(self._page(part, number)) as draft, pa.OSFile(str(draft), "wb") as sink:
                options = pa.ipc.IpcWriteOptions(compression="zstd")
                with pa.ipc.new_file(sink, ROWS, options=options) as writer:
                    for batch in _batches(rows):
                        num_rows += batch.num_rows
                        _hash_batch(digest, batch)
                        writer.write_batch(batch)
            self.state = SpoolState(
                started_s=self.state.started_s,
                pages=self.state.pages | {part: number + 1},
                next=self.state.next | {part: next_number},
                digest=digest.hexdigest(),
                num_rows=self.state.num_rows + num_rows,
                left_out=dict(Counter(self.state.left_out) + left_out),
            )
            with atomic_write(self.folder / _STATE) as draft:
                draft.write_text(json.dumps(asdict(self.state)), encoding="utf-8")

    def batches(self, part: str) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield the batches of a part, each with the size of the pages that are read with it."""
        done_bytes = 0
        for number in range(self.state.pages.get(part, 0)):
            path = self._page(part, number)
            done_bytes += path.stat().st_size
            with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
                for place in range(reader.num_record_batches):
                    yield reader.get_batch(place), done_bytes

    def delete(self) -> None:
        """Delete everything; the next reading begins anew."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.state = SpoolState()

    def _page(self, part: str, number: int) -> Path:
        return self.folder / f"{part}-{number:07}.arrow"

    def _read_state(self) -> SpoolState:
        try:
            state = SpoolState(**json.loads((self.folder / _STATE).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            state = None
        if state is None or state.format != FORMAT or time.time() - state.started_s > MAX_AGE_S:
            shutil.rmtree(self.folder, ignore_errors=True)
            return SpoolState()
        return state


_STATE = "state.json"


def _batches(rows: Iterable[StatementRow]) -> Iterator[pa.RecordBatch]:
    batch: list[StatementRow] = []
    chars = 0
    for row in rows:
        batch.append(row)
        chars += len(row.head or "") + len(row.tail or "")
        if len(batch) == BATCH_ROWS or chars > MAX_BATCH_CHARS:
            yield _batch(batch)
            batch, chars = [], 0
    if batch:
        yield _batch(batch)


def _batch(rows: list[StatementRow]) -> pa.RecordBatch:
    columns = zip(zip(*rows, strict=True), ROWS, strict=True)
    return pa.record_batch([pa.array(column, of.type) for column, of in columns], schema=ROWS)


def _hash_batch(digest: hashlib._Hash, batch: pa.RecordBatch) -> None:
    """Update a hash by what a batch says, whatever its rows' numbers are."""
    for column in batch.columns[1:]:
        for buffer in column.buffers():
            digest.update(buffer if buffer is not None else b"-")


XSD = "http://www.w3.org/2001/XMLSchema#"
WKT = "http://www.opengis.net/ont/geosparql#wktLiteral"


class LiteralText(NamedTuple):
    """A literal: its text and its datatype, None for plain text."""

    text: str
    datatype: str | None = None


def literals_of(value: object) -> Iterator[LiteralText]:
    """Yield the literals of a property's value: one of a scalar, one of each distinct item of a list.

    Bytes, vectors and blank texts have none. Times are in ISO 8601, points in well-known text: longitude or x first.
    """
    if isinstance(value, list):
        if len(value) > MAX_NUMBERS and isinstance(value[0], int | float):
            return
        yield from dict.fromkeys(found for item in value for found in literals_of(item))
    elif (found := _literal_of(value)) is not None:
        yield found


def _literal_of(value: object) -> LiteralText | None:  # noqa: PLR0911 - a line a type
    match value:
        case str():
            return LiteralText(value) if value.strip() else None
        case bool():
            return LiteralText(str(value).lower(), f"{XSD}boolean")
        case int():
            return LiteralText(str(value), f"{XSD}integer")
        case float():
            special = {"inf": "INF", "-inf": "-INF", "nan": "NaN"}
            return LiteralText(special.get(repr(value), repr(value)), f"{XSD}double")
        case Point():
            parts = " ".join(repr(part).removesuffix(".0") for part in value)
            return LiteralText(f"POINT{' Z' if len(value) > 2 else ''}({parts})", WKT)
        case DateTime():
            return LiteralText(_without_zeros(value.iso_format()), f"{XSD}dateTime")
        case Date():
            return LiteralText(value.iso_format(), f"{XSD}date")
        case Time():
            return LiteralText(_without_zeros(value.iso_format()), f"{XSD}time")
        case Duration():
            return LiteralText(value.iso_format(), f"{XSD}duration")
    return None


def _without_zeros(text: str) -> str:
    """Return a time without the zeros that end the fraction of its seconds."""
    return re.sub(r"\.?0*(?=$|[Z+-]\d*:?\d*$)", "", text, count=1) if "." in text else text


PAGE_SIZE = 20_000
"""Element ids that are read by one query, in a transaction of their own."""
FETCH_SIZE = 2_000
TYPE = "type"
"""The relation between a node and its labels."""


class Neo4jSource(Source):
    """The nodes and relationships of a database, as a mapping says.

    `fetch` reads them; everything else is from what it read. `staging` is the folder for that.
    """

    kind = "neo4j"

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
        return self._spool.folder

    @property
    def left_out(self) -> Mapping[str, int]:
        unread = sum(self._survey.keys[key] for key in self._without)
        counts = Counter({"properties": unread}) + Counter(self._spool.state.left_out)
        return {name: num for name, num in sorted(counts.items()) if num}

    @property
    def size_bytes(self) -> int:
        return self._spool.size_bytes

    @property
    def position_bytes(self) -> int:
        return self._position_bytes

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
        return digest_of(self.kind, self._mapping.as_json(), [self._spool.state.digest])

    def options(self) -> Mapping[str, object]:
        return {**self._from, "elements": self._survey.nodes.prefix}

    def parts(self) -> Iterator[Part]:
        self._position_bytes = 0
        for part in (_NODES, _RELATIONSHIPS):
            yield SourceRowBatches(f"{self.name} {part}", self._batches(part))

    def relation_facts(self) -> Mapping[str, RelationFacts]:
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
