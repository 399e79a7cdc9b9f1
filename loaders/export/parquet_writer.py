"""Parquet: a row a triple, and a row a name in a file of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import IO, Any

import pyarrow as pa
from pyarrow import parquet

from ...engine.database.statements import HeadTriples
from ..writing.stored_names import Name

ROWS_A_GROUP = 1 << 16

TRIPLES = pa.schema(
    [
        pa.field("head", pa.string(), nullable=False),
        pa.field("relation", pa.string(), nullable=False),
        pa.field("tail", pa.string(), nullable=False),
        pa.field("is_literal", pa.bool_(), nullable=False),
        pa.field("datatype", pa.string()),
        pa.field("language", pa.string()),
    ]
)
NAMES = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("name", pa.string(), nullable=False),
        pa.field("language", pa.string()),
        pa.field("is_alias", pa.bool_(), nullable=False),
    ]
)


class ParquetTriples:
    """Writes head, relation, tail (of a literal its value), whether it is a literal, its datatype and its language."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._rows = _Rows(stream, TRIPLES)

    def add_triples(self, triples: HeadTriples) -> None:
        """Write the triples of a head."""
        self._rows.add([(triples.head, *tail) for tail in triples.tails])

    def close(self) -> None:
        """Write what is left and the end of the file."""
        self._rows.close()


class ParquetNames:
    """Writes id, name, its language and whether it is an alias, in the order the entity has its names."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._rows = _Rows(stream, NAMES)

    def add_names(self, id_: str, names: Sequence[Name]) -> int:
        """Write the names of an entity; return how many."""
        self._rows.add([(id_, name.text, name.language or None, name.is_alias) for name in names])
        return len(names)

    def close(self) -> None:
        """Write what is left and the end of the file."""
        self._rows.close()


class _Rows:
    """Gathers rows into row groups."""

    def __init__(self, stream: IO[bytes], schema: pa.Schema) -> None:
        self._schema = schema
        self._writer = parquet.ParquetWriter(stream, schema, compression="zstd")
        self._waiting: list[tuple[Any, ...]] = []

    def add(self, rows: list[tuple[Any, ...]]) -> None:
        self._waiting += rows
        if len(self._waiting) >= ROWS_A_GROUP:
            self._write()

    def close(self) -> None:
        if self._waiting:
            self._write()
        self._writer.close()

    def _write(self) -> None:
        columns = zip(*self._waiting, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))
        self._waiting = []
