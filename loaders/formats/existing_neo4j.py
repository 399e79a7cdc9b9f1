"""Read a Neo4j that is already there: a survey of it, then nodes and relationships, page by page into a spool.

Nothing is written there: every query runs with access mode READ. An entity's id is its node's element id, a record's
the relationship's. An element id is ``KIND:DATABASE:NUMBER``. Numbers ascend as elements are created, and those of
deleted elements are used again, so that a range of numbers is a page: it is read by seeks, whatever was read before.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from ...engine.errors import (
    AuthenticationError,
    DatabaseError,
    DatabaseUnavailableError,
    InputError,
    UsageError,
)
from ...engine.neo4j.gateway import Gateway
from ...engine.neo4j.templates import Request, Row, template
from ...engine.progress import Progress, ignore_progress
from ...engine.whole_file import translate_storage_errors
from ...engine.writing.records import RelationFacts
from ...models.message_text import quote_line
from ...models.whole_file import atomic_write
from ..mapping import EVERYWHERE, NO_LABEL, ElementFilter, GraphMapping, LabelFacts, PropertySample, Survey, TypeFacts
from ..property_graph import SAMPLE_SIZE, Node, Relationship, Rows, relation_facts
from ..source import BATCH_ROWS, ROWS, Part, Source, SourceRowBatches, StatementRow, digest_of

_ELEMENT_ID = re.compile(r"(\d+:[^:]+:)\d+")


class ElementGroup(NamedTuple):
    """How many elements to read have these labels, or this one type, and these properties; it may be none.

    `last` is the highest number in their element ids, `id` one of these.
    """

    labels: tuple[str, ...]
    keys: tuple[str, ...]
    num: int
    last: int
    id: str


class EndsSample(NamedTuple):
    """The labels of both ends of some relationships."""

    starts: tuple[str, ...]
    ends: tuple[str, ...]
    num: int


class Page(NamedTuple):
    """A range of element ids: those that begin with `prefix`, from one number to another, without some properties."""

    prefix: str
    first: int
    last: int
    without: Sequence[str]


def element_prefix(element_id: str) -> str | None:
    """Return what precedes the number in an element id, None if it has another form."""
    found = _ELEMENT_ID.fullmatch(element_id)
    return found[1] if found else None


def check_node_condition(where: ElementFilter) -> Request[None]:
    """Return a request that is never run: the database plans it if the condition on nodes is one."""
    return Request(template("check_nodes"), {}, lambda _rows: None, where.fill("NODES"))


def check_relationship_condition(where: ElementFilter) -> Request[None]:
    """Like `check_node_condition` for the condition on relationships."""
    return Request(template("check_relationships"), {}, lambda _rows: None, where.fill("RELATIONSHIPS"))


def survey_nodes(where: ElementFilter = EVERYWHERE) -> Request[ElementGroup]:
    """Stream the combinations of labels and properties of all nodes, each with the count of those to read."""

    def decode(rows: Sequence[Row]) -> ElementGroup:
        labels, keys, num, last, id_ = rows[0]
        return ElementGroup(tuple(labels), tuple(keys), num, last, id_)

    return Request(template("survey_nodes"), {}, decode, where.fill("NODES"))


def survey_relationships(where: ElementFilter = EVERYWHERE) -> Request[ElementGroup]:
    """Stream the combinations of type and properties of all relationships, each with the count of those to read."""

    def decode(rows: Sequence[Row]) -> ElementGroup:
        type_, keys, num, last, id_ = rows[0]
        return ElementGroup((type_,), tuple(keys), num, last, id_)

    return Request(template("survey_relationships"), {}, decode, where.fill("NODES", "RELATIONSHIPS"))


def sample_properties(label: str, limit: int) -> Request[list[PropertySample]]:
    """Read what the properties of at most `limit` nodes with a label hold."""

    def decode(rows: Sequence[Row]) -> list[PropertySample]:
        return [
            PropertySample(key, type_, num, num_distinct, num_items or 0, num_chars or 0.0)
            for key, type_, num, num_distinct, num_items, num_chars in rows
        ]

    return Request(template("sample_properties"), {"limit": limit}, decode, {"LABEL": label})


def sample_ends(type_: str, limit: int) -> Request[list[EndsSample]]:
    """Read which labels are at the ends of at most `limit` relationships of a type."""

    def decode(rows: Sequence[Row]) -> list[EndsSample]:
        return [EndsSample(tuple(starts), tuple(ends), num) for starts, ends, num in rows]

    return Request(template("sample_ends"), {"limit": limit}, decode, {"RELATION": type_})


def _node(rows: Sequence[Row]) -> Node:
    id_, labels, is_within, properties = rows[0]
    return Node(id_, labels, properties, is_within)


def _relationship(rows: Sequence[Row]) -> Relationship:
    id_, type_, start, end, is_within, properties = rows[0]
    return Relationship(id_, type_, start, end, properties, is_within)


def read_nodes(page: Page, where: ElementFilter = EVERYWHERE) -> Request[Node]:
    return Request(template("read_nodes"), page._asdict(), _node, where.fill("NODES"))


def read_relationships(
    page: Page, labels: Sequence[str] | None, where: ElementFilter = EVERYWHERE
) -> Request[Relationship]:
    """Stream the relationships of a page; only nodes with one of `labels` are read, all if it is None."""
    params: Mapping[str, Any] = page._asdict() | {"labels": labels}
    names = where.fill("NODES", "RELATIONSHIPS")
    return Request(template("read_relationships"), params, _relationship, names)


def read_database_id() -> Request[str]:
    """Read the id of the database, which is the same under every address."""
    return Request(template("read_database_id"), {}, lambda rows: str(rows[0][0]))


ENDS_SAMPLE_SIZE = 200
"""Relationships of a type whose ends are looked at."""
MAX_SAMPLED = 200
"""Labels and types that are sampled, those with most elements first; of the others only counts are known."""


@dataclass(slots=True)
class ElementIdRange:
    """The element ids of nodes or relationships: what they begin with, and the highest number."""

    prefix: str = ""
    last: int = -1


@dataclass(frozen=True, slots=True)
class Neo4jSurvey(Survey):
    """What a database holds."""

    nodes: ElementIdRange
    """Where the ids of nodes end; an id is never beyond it unless it is younger than this survey."""
    edges: ElementIdRange


def check_where(gateway: Gateway, where: ElementFilter, place: str = "") -> None:
    """Have the database plan conditions without reading anything; raise an error for what is none.

    place: the file that says them (`InputError`); options without (`UsageError`).
    """
    checks = (
        ("nodes", "--where", where.nodes, check_node_condition(where)),
        ("relationships", "--where-relationship", where.relationships, check_relationship_condition(where)),
    )
    for name, option, condition, request in checks:
        if condition:
            try:
                gateway.plan(request)
            except (DatabaseUnavailableError, AuthenticationError):
                raise
            except DatabaseError as error:
                said = _PLACE.split(str(error))[0].removeprefix("Neo4j: ").strip().rstrip(".")
                message = f"expected a condition in Cypher, found {quote_line(condition)}: {said}"
                raise (InputError if place else UsageError)(
                    f"{f'{place}: where.{name}' if place else option}: {message}"
                ) from error


_PLACE = re.compile(r"\s*\(line \d+, column|\n")
"""What follows in Neo4j's messages is about the text of the query."""


def survey(gateway: Gateway, where: ElementFilter = EVERYWHERE) -> Neo4jSurvey:
    """Survey a database in one pass over its nodes and one over its relationships, and sample what may be a name.

    Counts are of what meets the conditions; labels and types are all. Raises `InputError` for a database without such
    nodes, or with element ids of an unknown form.
    """
    labels: dict[str, LabelFacts] = {}
    nodes, edges = ElementIdRange(), ElementIdRange()
    keys: Counter[str] = Counter()
    num_nodes = num_relationships = 0
    for group in gateway.stream(survey_nodes(where)):
        num_nodes += group.num
        _extend(nodes, group)
        keys.update(dict.fromkeys(group.keys, group.num))
        for label in group.labels or (NO_LABEL,):
            found = labels.setdefault(label, LabelFacts())
            found.num += group.num
            found.keys.update(dict.fromkeys(group.keys, group.num))
    if labels and not num_nodes:
        raise InputError(f"expected nodes that meet the condition {quote_line(where.nodes)}, found none")
    if not labels:
        connection = gateway.connection
        raise InputError(
            f"{connection.where}: expected nodes in database {connection.database!r}, found none that "
            f"{connection.user!r} may read: check --from-database, and the user's rights"
        )
    types: dict[str, TypeFacts] = {}
    for group in gateway.stream(survey_relationships(where)):
        num_relationships += group.num
        _extend(edges, group)
        keys.update(dict.fromkeys(group.keys, group.num))
        of_type = types.setdefault(group.labels[0], TypeFacts())
        of_type.num += group.num
        of_type.num_with_keys += group.num if group.keys else 0
        of_type.keys.update(dict.fromkeys(group.keys, group.num))
    for label in _largest({label: facts.num for label, facts in labels.items()}):
        samples = gateway.run(sample_properties(label, SAMPLE_SIZE))
        labels[label].samples = {sample.key: sample for sample in sorted(samples, key=lambda sample: sample.num)}
    for type_ in _largest({type_: facts.num for type_, facts in types.items()}):
        ends = gateway.run(sample_ends(type_, ENDS_SAMPLE_SIZE))
        types[type_].starts = _commonest((label, each.num) for each in ends for label in each.starts)
        types[type_].ends = _commonest((label, each.num) for each in ends for label in each.ends)
    return Neo4jSurvey(labels, types, num_nodes, num_relationships, keys, nodes, edges)


def _extend(extent: ElementIdRange, group: ElementGroup) -> None:
    prefix = element_prefix(group.id)
    if prefix is None or extent.prefix not in ("", prefix):
        raise InputError(
            f"expected element ids such as 4:DATABASE:17, found {group.id!r}: Lodestar cannot read this database"
        )
    extent.prefix = prefix
    extent.last = max(extent.last, group.last)


def _largest(counts: Mapping[str, int]) -> list[str]:
    """Return the names of the largest, as far as a query can name them."""
    ranked = sorted(counts, key=lambda name: (-counts[name], name))[:MAX_SAMPLED]
    return [name for name in ranked if name and "\\u" not in name and "\x00" not in name]


def _commonest(counts: Iterable[tuple[str, int]]) -> str:
    found: Counter[str] = Counter()
    for name, num in counts:
        found[name] += num
    return min(found, key=lambda name: (-found[name], name), default="")


MAX_AGE_S = 24 * 3_600
"""What was read longer ago is read again: the database may have changed."""
MAX_BATCH_CHARS = 16_000_000
FORMAT = 2


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


PAGE_SIZE = 20_000
"""Element ids that are read by one query, in a transaction of their own."""
FETCH_SIZE = 2_000


class _Shortener:
    """Makes ids of the numbers in element ids where the database is not there to stay."""

    def __init__(self, survey: Neo4jSurvey | None) -> None:
        self._prefixes = (survey.nodes.prefix, survey.edges.prefix) if survey else None

    def node(self, node: Node) -> Node:
        return node._replace(id=f"n{node.id.removeprefix(self._prefixes[0])}") if self._prefixes else node

    def relationship(self, found: Relationship) -> Relationship:
        if not self._prefixes:
            return found
        start, end = (f"n{each.removeprefix(self._prefixes[0])}" for each in (found.start, found.end))
        return found._replace(id=f"r{found.id.removeprefix(self._prefixes[1])}", start=start, end=end)


class Neo4jSource(Source):
    """The nodes and relationships of a database, as a mapping says.

    `fetch` reads them; everything else is from what it read. `staging` is the folder for that. name: what the database
    was made of; its address and its element ids say nothing then, and ids are ``n17`` and ``r17``.
    """

    kind = "neo4j"

    def __init__(
        self, gateway: Gateway, survey: Neo4jSurvey, mapping: GraphMapping, staging: Path, name: str = ""
    ) -> None:
        connection = gateway.connection
        self.name = name or f"{connection.where}/{connection.database}"
        self._shorten = _Shortener(survey if name else None)
        self._gateway = gateway
        self._survey = survey
        self._mapping = mapping
        self._without = mapping.without(survey)
        self._rows = Rows(mapping)
        self._from = {"from": connection.where, "from_database": connection.database, "from_user": connection.user}
        self._from |= {"elements": survey.nodes.prefix}
        if name:
            self._from = {"from": name}
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
        return self._from

    def parts(self) -> Iterator[Part]:
        self._position_bytes = 0
        for part in (_NODES, _RELATIONSHIPS):
            yield SourceRowBatches(f"{self.name} {part}", self._batches(part))

    def relation_facts(self) -> Mapping[str, RelationFacts]:
        return relation_facts(self._survey, self._mapping)

    def _batches(self, part: str) -> Iterator[pa.RecordBatch]:
        before = self._position_bytes
        for batch, done_bytes in self._spool.batches(part):
            self._position_bytes = before + done_bytes
            yield batch

    def _node_rows(self, page: Page, left_out: Counter[str]) -> Iterator[StatementRow]:
        if page.first == 0:
            yield from self._rows.of_labels()
        found = self._gateway.stream(read_nodes(page, self._mapping.where), FETCH_SIZE)
        for line, node in enumerate(found, page.first + 1):
            yield from self._rows.of_node(line, self._shorten.node(node), left_out)

    def _relationship_rows(self, page: Page, left_out: Counter[str]) -> Iterator[StatementRow]:
        labels = sorted(self._mapping.labels) if set(self._mapping.labels) != set(self._survey.labels) else None
        found = self._gateway.stream(read_relationships(page, labels, self._mapping.where), FETCH_SIZE)
        for line, relationship in enumerate(found, page.first + 1):
            yield from self._rows.of_relationship(line, self._shorten.relationship(relationship), left_out)


_NODES, _RELATIONSHIPS = "nodes", "relationships"
