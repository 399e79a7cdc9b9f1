"""Read parquet with one triple per row, as `lodestar export` writes it; names are in their own file, one per row.

Triples have the columns head, relation and tail, and, if tails may be literals, is_literal, datatype and language.
Names have id and name, and may have language and is_alias. Without a names file the ids are the names. With one, and
without a column is_literal, an unnamed tail may be a value.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from io import BufferedReader
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from ...engine.errors import InputError
from ..reading.files import RereadableFile, derive_source_name, format_columns, list_files
from ..reading.lines import FIRST_LINES
from ..source import BATCH_ROWS, NO_ID, ROWS, FileSource, Part, SourceRowBatches
from .delimited import Values, columns_by_name, value_pattern

RowColumns = Callable[[Mapping[str, pa.Array]], dict[str, pa.Array]]
"""Makes the columns of `ROWS` of those that a file has."""

TRIPLE_COLUMNS = ("head", "relation", "tail")
_NAME_COLUMNS = ("id", "name")
_OPTIONAL = {"is_literal": pa.bool_(), "datatype": pa.string(), "language": pa.string(), "is_alias": pa.bool_()}


class ParquetSource(FileSource):
    """A file of triples, a folder or a pattern of such files, and, optionally, one of names."""

    kind = "parquet"

    def __init__(self, path: str, names_path: str | None = None, *, values: Values = "auto") -> None:
        self.unnamed_ids = NO_ID if names_path is None else None
        self._values: Values = values
        files = list_files(path)
        self._files = [RereadableFile(each) for each in files]
        self._names = RereadableFile(names_path) if names_path is not None else None
        super().__init__([*self._files, *([self._names] if self._names else [])], derive_source_name(path, files))

    def options(self) -> Mapping[str, object]:
        return {"names": self._names is not None, **({"values": self._values} if self._names else {})}

    def parts(self) -> Iterator[Part]:
        triples = partial(_triples, value_pattern=self._value_pattern())
        for file in self._files:
            yield SourceRowBatches(file.shown, _batches(file, TRIPLE_COLUMNS, triples))
        if self._names:
            yield SourceRowBatches(self._names.shown, _batches(self._names, _NAME_COLUMNS, _names))

    def _value_pattern(self) -> str | None:
        if self._names is None:
            return None
        with closing(_batches(self._names, _NAME_COLUMNS, _names)) as batches:
            first = next(batches, None)
        return value_pattern(self._values, first.column("head")[:FIRST_LINES].to_pylist() if first else ())


def has_triples(path: str) -> bool:
    """Return whether the columns of a parquet file are those of triples."""
    return columns_by_name(read_columns(path)) is not None


def read_columns(path: str) -> list[str]:
    """Return the names of the columns of a parquet file; none of a damaged one."""
    try:
        return list(parquet.read_schema(path).names)
    except pa.ArrowException:
        return []


def _batches(
    file: RereadableFile, wanted: Sequence[str], row_columns: RowColumns
) -> Generator[pa.RecordBatch, None, None]:
    with file.translate_faults(), file.open_unpacked() as stream:
        try:
            opened = parquet.ParquetFile(BufferedReader(cast(Any, stream), 1 << 20))
            found = opened.schema_arrow.names
            called = columns_by_name(found) if wanted == TRIPLE_COLUMNS else None
            if called:
                wanted = [found[place - 1] for place in called]
            if missing := [name for name in wanted if name not in found]:
                raise InputError(f"{file.shown}: expected a column {missing[0]}, found {format_columns(found)}")
            columns = [*wanted, *(name for name in _OPTIONAL if name in found)]
            line = 0
            for batch in opened.iter_batches(batch_size=BATCH_ROWS, columns=columns):
                given = {name: batch.column(name) for name in batch.schema.names}
                given |= {name: given[own] for name, own in zip(TRIPLE_COLUMNS, wanted if called else (), strict=False)}
                made = {
                    "line": pa.array(range(line + 1, line + batch.num_rows + 1)),
                    **row_columns(_cast_columns(given)),
                }
                line += batch.num_rows
                empty = pa.nulls(batch.num_rows)
                yield pa.record_batch([made.get(field.name, empty).cast(field.type) for field in ROWS], schema=ROWS)
        except pa.ArrowException as error:
            reason = str(error).partition("\n")[0]
            raise InputError(f"{file.shown}: the parquet file is damaged ({reason}): fetch it again") from error


def _cast_columns(given: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Return the columns as text or truth values, and optional ones too."""
    size = len(next(iter(given.values())))
    found = {name: column.cast(_OPTIONAL.get(name, pa.string())) for name, column in given.items()}
    return {name: pa.nulls(size, kind) for name, kind in _OPTIONAL.items()} | found


def _triples(given: Mapping[str, pa.Array], *, value_pattern: str | None) -> dict[str, pa.Array]:
    is_value = pa.array([False] * len(given["tail"]))
    if value_pattern and given["is_literal"].null_count == len(is_value):
        found = pc.call_function(
            "match_substring_regex", [given["tail"]], pc.MatchSubstringOptions(rf"\A(?:{value_pattern})\z")
        )
        is_value = pc.fill_null(found, False)
    is_literal = pc.call_function("or", [pc.fill_null(given["is_literal"], False), is_value])
    kinds = {
        name: pc.call_function("if_else", [is_literal, given[name], pa.scalar(None, pa.string())])
        for name in ("datatype", "language")
    }
    return {
        **{name: given[name] for name in TRIPLE_COLUMNS},
        **kinds,
        "is_literal": is_literal,
        "tag": pc.call_function("if_else", [is_value, "value", pa.scalar(None, pa.string())]),
        "category": pa.array(["triple"] * len(is_literal)),
    }


def _names(given: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    return {
        "head": given["id"],
        "tail": given["name"],
        "language": given["language"],
        "tag": pc.call_function("if_else", [pc.fill_null(given["is_alias"], False), "alias", "name"]),
        "category": pa.array(["name"] * len(given["id"])),
    }
