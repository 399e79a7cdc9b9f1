"""Read triples from records: JSON lines and parquet, and the subgraphs of questions as RoG and NSM have them.

A record has a triple: head, relation and tail, or other usual names, and perhaps is_literal, datatype and language.
Without a file of names the ids are the names.

Subgraphs are records of questions with a list of [head, relation, tail] named `graph` or `subgraph` (or `tuples` in
it), whose union is the graph. Ids are names, except Freebase's, which stay unnamed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

from ...engine.errors import InputError
from .. import source
from ..reading import FREEBASE_ID, PARQUET, RereadableFile, format_columns, read_parquet, read_records
from ..source import XSD, FileSource, StatementRow
from .columns import columns_by_name

_TRIPLE = ("head", "relation", "tail")
_GRAPHS = ("graph", "subgraph")
_OPTIONAL = ("is_literal", "datatype", "language")
_columns_by_name = lru_cache(columns_by_name)


class JsonLinesSource(FileSource):
    """A file of triples, a folder or a pattern of such files, and, optionally, one of names."""

    kind = "jsonl"
    endings: Sequence[str] = (".jsonl", ".ndjson", ".json")

    def __init__(self, path: str, names_path: str | None = None) -> None:
        self.unnamed_ids = source.NO_ID if names_path is None else None
        super().__init__(path, names_path)

    def rows(self, file: RereadableFile) -> Iterator[StatementRow]:
        return map(_triple_of, _records(file, _TRIPLE))


class ParquetSource(JsonLinesSource):
    kind = "parquet"
    endings = (".parquet",)


def _records(file: RereadableFile, wanted: Sequence[str]) -> Iterator[tuple[int, Any, str]]:
    if file.first_bytes(len(PARQUET)) != PARQUET:
        for line, record, fault in read_records(file):
            is_list = isinstance(record, list) and not (len(record) == len(_TRIPLE) and all(map(is_text, record)))
            yield from ((line, each, fault) for each in (record if is_list else [record]))
        return

    def choose(found: Sequence[str]) -> list[str]:
        if wanted == _GRAPHS and (graphs := [name for name in _GRAPHS if name in found]):
            return graphs
        called = _columns_by_name(tuple(found)) if wanted == _TRIPLE else None
        columns = [found[place - 1] for place in called] if called else list(wanted)
        if missing := [name for name in columns if name not in found]:
            raise InputError(f"{file.shown}: expected a column {missing[0]}, found {format_columns(found)}")
        return [*columns, *(name for name in _OPTIONAL if name in found)]

    number = 0
    as_they_are = wanted == _GRAPHS
    for batch in read_parquet(file, choose, 16 if as_they_are else source.BATCH_ROWS):
        texts = [
            column if as_they_are or pa.types.is_boolean(column.type) else column.cast(pa.string())
            for column in batch.columns
        ]
        for record in pa.record_batch(texts, names=batch.schema.names).to_pylist():
            number += 1
            yield number, record, ""


def _triple_of(found: tuple[int, Any, str]) -> StatementRow:
    line, record, fault = found
    if fault:
        return source.reject_row(line, fault, record)
    if isinstance(listed := found[1], list) and len(listed) == len(_TRIPLE):
        return _triple_of((line, dict(zip(_TRIPLE, listed, strict=True)), ""))
    fields = list(record) if isinstance(record, dict) else []
    values: list[Any] = [record[fields[place - 1]] for place in _columns_by_name(tuple(fields)) or ()]
    if not values or not all(map(is_text, values[:2])) or values[2] is None:
        reason = "expected a head, a relation and a tail that are text"
        return source.reject_row(line, reason, str(record))
    head, relation, tail = values
    if is_text(tail) and not record.get("is_literal"):
        return source.triple_row(line, head, relation, tail)
    datatype = {bool: "boolean", int: "integer", float: "double"}.get(type(tail))
    text = tail if isinstance(tail, str) else json.dumps(tail, ensure_ascii=False)
    written = record.get("datatype") or (datatype and f"{XSD}{datatype}")
    return StatementRow(line, "triple", head, relation, text, True, written, record.get("language"))


class RogSource(FileSource):
    """The file of questions."""

    kind = "rog"
    unnamed_ids = FREEBASE_ID

    def rows(self, file: RereadableFile) -> Iterator[StatementRow]:
        for line, record, fault in _records(file, _GRAPHS):
            graph = next((record[name] for name in _GRAPHS if name in record), None) if isinstance(record, dict) else 0
            items = graph.get("tuples") if isinstance(graph, dict) else graph
            if fault or not isinstance(items, list):
                reason = fault or "expected a list called graph or subgraph, found none"
                yield source.reject_row(line, reason, str(record))
                continue
            for number, item in enumerate(items, 1):
                if isinstance(item, list) and len(item) == len(_TRIPLE) and all(map(is_text, item)):
                    yield source.triple_row(line, *item)
                else:
                    reason = f"expected a head, a relation and a tail that are text as item {number} of the graph"
                    yield source.reject_row(line, reason, str(item))


def is_text(value: object) -> bool:
    """Return whether this can be an id: non-empty text without zero bytes and lone surrogates."""
    if not isinstance(value, str) or not value or "\0" in value:
        return False
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)
