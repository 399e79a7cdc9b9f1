"""Read triples from records: parquet, JSON lines, and the subgraphs of questions as RoG and NSM have them.

Parquet has a triple in a row: head, relation and tail, or other usual names, and, if tails may be literals, is_literal,
datatype and language. Names are in a file of their own, with id, name and perhaps language and is_alias; without it the
ids are the names. JSON lines have a triple each.

Subgraphs are records of questions, as JSON lines or parquet, with a list of [head, relation, tail] named `graph` or
`subgraph` (or `tuples` in it), whose union is the graph. Ids are names, except Freebase's, which stay unnamed. Records
are read one by one; a triple in many records is stored once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import compute, parquet

from ...engine.errors import InputError
from ...models import quote_line
from ..naming import FREEBASE_ID
from ..reading import PARQUET, RereadableFile, format_columns, parquet_records, read_records
from ..source import (
    BATCH_ROWS,
    NO_ID,
    ROWS,
    FileSource,
    Part,
    SourceRowBatches,
    StatementRow,
    reject_row,
    triple_row,
)
from .delimited import columns_by_name

pc: Any = compute  # its stubs lack most functions
_TRIPLE = ("head", "relation", "tail")
_NAME = ("id", "name")
_OPTIONAL = {"is_literal": pa.bool_(), "datatype": pa.string(), "language": pa.string(), "is_alias": pa.bool_()}


class ParquetSource(FileSource):
    """A file of triples, a folder or a pattern of such files, and, optionally, one of names."""

    kind = "parquet"
    endings = (".parquet",)

    def __init__(self, path: str, names_path: str | None = None) -> None:
        self.unnamed_ids = NO_ID if names_path is None else None
        super().__init__(path, names_path)

    def options(self) -> Mapping[str, object]:
        return {"names": self.names_file is not None}

    def parts(self) -> Iterator[Part]:
        for file in self.files:
            yield SourceRowBatches(file.shown, _batches(file, _TRIPLE))
        if self.names_file:
            yield SourceRowBatches(self.names_file.shown, _batches(self.names_file, _NAME))


def read_columns(path: str) -> list[str]:
    """Return the names of the columns of a parquet file; none of a damaged one."""
    try:
        return list(parquet.read_schema(path).names)
    except pa.ArrowException:
        return []


def _batches(file: RereadableFile, wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
    with file.open_buffered() as reader:
        try:
            opened = parquet.ParquetFile(reader)
            found = opened.schema_arrow.names
            called = columns_by_name(found) if wanted == _TRIPLE else None
            columns = [found[place - 1] for place in called] if called else wanted
            if missing := [name for name in columns if name not in found]:
                raise InputError(f"{file.shown}: expected a column {missing[0]}, found {format_columns(found)}")
            optional = [name for name in _OPTIONAL if name in found]
            first = 1
            for batch in opened.iter_batches(batch_size=BATCH_ROWS, columns=[*columns, *optional]):
                given = {name: pa.nulls(batch.num_rows, kind) for name, kind in _OPTIONAL.items()}
                given |= {name: batch.column(name).cast(_OPTIONAL[name]) for name in optional}
                given |= {name: batch.column(own).cast(pa.string()) for name, own in zip(wanted, columns, strict=True)}
                given["line"] = pa.array(range(first, first + batch.num_rows))
                first += batch.num_rows
                made = _triples(given) if wanted == _TRIPLE else _names(given)
                empty = pa.nulls(batch.num_rows)
                yield pa.record_batch([made.get(field.name, empty).cast(field.type) for field in ROWS], schema=ROWS)
        except pa.ArrowException as error:
            reason = str(error).partition("\n")[0]
            raise InputError(f"{file.shown}: the parquet file is damaged ({reason}): fetch it again") from error


def _triples(given: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    is_literal, no_text = pc.fill_null(given["is_literal"], False), pa.scalar(None, pa.string())
    kinds = {name: pc.if_else(is_literal, given[name], no_text) for name in ("datatype", "language")}
    return {**given, **kinds, "is_literal": is_literal, "category": pa.array(["triple"] * len(is_literal))}


def _names(given: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    return {
        "line": given["line"],
        "head": given["id"],
        "tail": given["name"],
        "language": given["language"],
        "tag": pc.if_else(pc.fill_null(given["is_alias"], False), "alias", "name"),
        "category": pa.array(["name"] * len(given["id"])),
    }


_XSD = "http://www.w3.org/2001/XMLSchema#"

_FIELDS = ("graph", "subgraph")
_IN_FIELD = "tuples"


class RogSource(FileSource):
    """The file of questions."""

    kind = "rog"
    unnamed_ids = FREEBASE_ID

    def rows(self, file: RereadableFile) -> Iterator[StatementRow]:
        is_parquet = file.first_bytes(len(PARQUET)) == PARQUET
        for line, record, fault in _parquet_records(file) if is_parquet else read_records(file):
            yield from (reject_row(line, fault, record),) if fault else self.rows_of(record, line)

    def rows_of(self, record: Any, line: int) -> Iterator[StatementRow]:
        """Yield the triples of a record."""
        graph = next((record[name] for name in _FIELDS if name in record), None) if isinstance(record, dict) else None
        if isinstance(graph, dict):
            graph = graph.get(_IN_FIELD)
        if not isinstance(graph, list):
            yield reject_row(line, "expected a list called graph or subgraph, found none", quote_line(str(record)))
            return
        for number, item in enumerate(graph, start=1):
            if isinstance(item, list) and len(item) == len(_TRIPLE) and all(map(_is_text, item)):
                yield triple_row(line, *item)
            else:
                reason = f"expected a head, a relation and a tail that are text as item {number} of the graph"
                yield reject_row(line, reason, quote_line(str(item)))


def _parquet_records(file: RereadableFile) -> Iterator[tuple[int, Any, str]]:
    """Yield rows as `read_records` yields lines."""

    def wanted(names: Sequence[str]) -> list[str]:
        columns = [name for name in _FIELDS if name in names]
        if not columns:
            raise InputError(f"{file.shown}: expected a column graph or subgraph, found {format_columns(names)}")
        return columns

    with file.open_buffered() as reader:
        for line, record in enumerate(parquet_records(reader, file.shown, wanted), 1):
            yield line, record, ""


class JsonLinesSource(RogSource):
    """A triple a line, as an object whose fields are called head, relation and tail or the like."""

    kind = "jsonl"
    endings = (".jsonl",)
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


def _is_text(value: object) -> bool:
    """Return whether this can be an id: non-empty text without zero bytes and lone surrogates."""
    if not isinstance(value, str) or not value or "\0" in value:
        return False
    return value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value)
