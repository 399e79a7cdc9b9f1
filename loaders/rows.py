"""Hold a source's statements as rows and Arrow batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

import pyarrow as pa

from ..engine.neo4j.templates import MAX_REQUEST_CHARS

T = TypeVar("T")


def split_batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of `size`; the last one may be shorter."""
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch


def split_by_bytes(batches: Iterable[pa.RecordBatch], max_bytes: int = MAX_REQUEST_CHARS) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the batches in batches of about this many bytes, at least one row each."""
    for batch in batches:
        if batch.nbytes <= max_bytes or batch.num_rows <= 1:
            yield batch
        else:
            half = batch.num_rows // 2
            yield from split_by_bytes((batch.slice(0, half), batch.slice(half)), max_bytes)


BATCH_ROWS = 50_000

ROWS = pa.schema(
    [
        ("line", pa.int64()),
        ("category", pa.string()),
        ("head", pa.string()),
        ("relation", pa.string()),
        ("tail", pa.string()),
        ("is_literal", pa.bool_()),
        ("datatype", pa.string()),
        ("language", pa.string()),
        ("tag", pa.string()),
        ("reason", pa.string()),
    ]
)


class StatementRow(NamedTuple):
    """One statement, or another kind of line.

    The category is `triple`, `name` (head is the id, tail the text, tag `name`, `alias` or None),
    `comment` (head is the relation that the text in tail explains), `reject` (with the
    reason; tail is the unreadable text, whole or shortened), or the name of a category of skipped lines.
    """

    line: int
    category: str
    head: str | None = None
    relation: str | None = None
    tail: str | None = None
    is_literal: bool | None = None
    datatype: str | None = None
    language: str | None = None
    tag: str | None = None
    reason: str | None = None


def triple_row(line: int, head: str, relation: str, tail: str) -> StatementRow:
    """Return the row of a triple whose tail is an entity."""
    return StatementRow(line, "triple", head, relation, tail, False)


def name_row(line: int, id_: str, name: str) -> StatementRow:
    """Return the row of a name."""
    return StatementRow(line, "name", head=id_, tail=name)


def alias_row(line: int, id_: str, name: str) -> StatementRow:
    """Return the row of an alias."""
    return StatementRow(line, "name", head=id_, tail=name, tag="alias")


def comment_row(line: int, relation: str, text: str) -> StatementRow:
    """Return the row of what explains a relation."""
    return StatementRow(line, "comment", head=relation, tail=text)


def reject_row(line: int, reason: str, text: str) -> StatementRow:
    """Return the row of unreadable text."""
    return StatementRow(line, "reject", tail=text, reason=reason)


def row_batches(rows: Iterable[StatementRow]) -> Iterator[pa.RecordBatch]:
    """Yield the rows as record batches of `ROWS`."""
    return record_batches(rows, ROWS)


def record_batches(rows: Iterable[Sequence[object]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield tuples as record batches of a schema, `BATCH_ROWS` at a time."""
    for batch in split_batches(rows, BATCH_ROWS):
        columns = [pa.array(column, field.type) for column, field in zip(zip(*batch, strict=True), schema, strict=True)]
        yield pa.record_batch(columns, schema=schema)


class RowStream:
    """Rows of tables with the same columns; there is at least one table."""

    def __init__(self, tables: Iterable[pa.Table]) -> None:
        self._tables = iter(tables)
        self._rest: pa.Table | None = None

    def take(self, num_rows: int) -> pa.Table:
        """Return the next `num_rows` rows; there must be enough."""
        rest = next(self._tables) if self._rest is None else self._rest
        while rest.num_rows < num_rows:
            rest = pa.concat_tables([rest, next(self._tables)])
        self._rest = rest.slice(num_rows)
        return rest.slice(0, num_rows)
