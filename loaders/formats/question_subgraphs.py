"""Read JSON lines: a triple each, or the subgraphs of questions as RoG and NSM have them, whose union is the graph.

One record per question, as JSON lines (gzip or plain) or parquet, with a list of [head, relation, tail] named `graph`
or `subgraph` (or `tuples` in it). Ids are names, except Freebase's, which stay unnamed. Records are read one by one; a
triple in many records is stored once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from io import BufferedReader
from typing import Any, cast

from ...engine.errors import InputError
from ...models.message_text import quote_line
from ..naming import FREEBASE_ID
from ..reading.files import (
    PARQUET,
    RereadableFile,
    UnreadableError,
    format_columns,
    parquet_records,
    parse_record,
    record_lines,
)
from ..source import NO_ID, FileSource, Part, SourceRowBatches, StatementRow, reject_row, row_batches, triple_row
from .delimited import columns_by_name

_XSD = "http://www.w3.org/2001/XMLSchema#"

_FIELDS = ("graph", "subgraph")
_IN_FIELD = "tuples"
_TRIPLE = 3


class RogSource(FileSource):
    """The file of questions (``-`` is standard input)."""

    kind = "rog"
    unnamed_ids = FREEBASE_ID

    def __init__(self, path: str) -> None:
        self._file = RereadableFile(path)
        self._line = 0
        super().__init__([self._file])

    def parts(self) -> Iterator[Part]:
        yield SourceRowBatches(self._file.shown, row_batches(self._rows()))

    def _rows(self) -> Iterator[StatementRow]:
        self._line = 0
        with self._file.translate_faults(lambda: self._line), self._file.open_unpacked() as stream:
            reader = BufferedReader(cast(Any, stream), 1 << 20)
            start = reader.peek(len(PARQUET))
            if not start:
                raise InputError(f"{self._file.shown}: the file is empty")
            yield from self._parquet_rows(reader) if start.startswith(PARQUET) else self._json_rows(reader)

    def _json_rows(self, reader: BufferedReader[Any]) -> Iterator[StatementRow]:
        for line, raw in record_lines(reader, self._file.shown):
            self._line = line
            if not raw.strip():
                yield StatementRow(line, "blank")
                continue
            try:
                record = parse_record(raw)
            except UnreadableError as error:
                yield reject_row(line, str(error), quote_line(raw))
            else:
                yield from self.rows_of(record, line)

    def _parquet_rows(self, reader: BufferedReader[Any]) -> Iterator[StatementRow]:
        for record in parquet_records(reader, self._file.shown, self._columns):
            self._line += 1
            yield from self.rows_of(record, self._line)

    def rows_of(self, record: Any, line: int) -> Iterator[StatementRow]:
        """Yield the triples of a record."""
        return _rows_of(record, line)

    def _columns(self, names: Sequence[str]) -> list[str]:
        columns = [name for name in _FIELDS if name in names]
        if not columns:
            found = format_columns(names)
            raise InputError(f"{self._file.shown}: expected a column graph or subgraph, found {found}")
        return columns


class JsonLinesSource(RogSource):
    """A triple a line, as an object whose fields are called head, relation and tail or the like."""

    kind = "jsonl"
    unnamed_ids = NO_ID

    def rows_of(self, record: Any, line: int) -> Iterator[StatementRow]:
        fields = list(record) if isinstance(record, dict) else []
        called = columns_by_name(fields)
        values = [record[fields[place - 1]] for place in called or ()]
        if not values or not all(map(_is_text, values[:2])):
            reason = "expected a head, a relation and a tail that are text"
            yield reject_row(line, reason, quote_line(str(record)))
        elif _is_text(values[2]):
            yield triple_row(line, *values)
        else:
            datatype = {bool: "boolean", int: "integer", float: "double"}.get(type(values[2]))
            text = values[2] if isinstance(values[2], str) else json.dumps(values[2], ensure_ascii=False)
            head, relation, _ = values
            yield StatementRow(line, "triple", head, relation, text, True, datatype and f"{_XSD}{datatype}")


def _rows_of(record: Any, line: int) -> Iterator[StatementRow]:
    graph = next((record[field] for field in _FIELDS if field in record), None) if isinstance(record, dict) else None
    if isinstance(graph, dict):
        graph = graph.get(_IN_FIELD)
    if not isinstance(graph, list):
        yield reject_row(line, "expected a list called graph or subgraph, found none", quote_line(str(record)))
        return
    for number, item in enumerate(graph, start=1):
        if isinstance(item, list) and len(item) == _TRIPLE and all(map(_is_text, item)):
            yield triple_row(line, *item)
        else:
            reason = f"expected a head, a relation and a tail that are text as item {number} of the graph"
            yield reject_row(line, reason, quote_line(str(item)))


def _is_text(value: object) -> bool:
    """Return whether this can be an id: non-empty text without zero bytes and lone surrogates."""
    if not isinstance(value, str) or not value or "\0" in value:
        return False
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)
