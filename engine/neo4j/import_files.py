"""Write the CSV files for the offline importer.

Columns, as the importer of Neo4j 5.26 reads them:

    nodes            ``:ID(n)``, the number of the node's record: 0 … nodes-1, each once, over all node files
    relationships    ``:START_ID(n)``, ``:END_ID(n)`` of existing nodes; ``:TYPE``, not empty
    properties       ``name`` for text, ``name:string[]``, ``name:int``, ``name:int[]``, ``name:double`` …

NULL is an absent property; empty text is kept, also beside other text in a list. The importer detects a missing node
only beyond the last one, and never a duplicate number.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
from pyarrow import compute, csv

from ..errors import StorageError

DELIMITER = "\t"
"""Rarer in names than a comma, so fewer texts need quotes."""
LIST_DELIMITER = "\x1f"
"""Separates the items of a list, if no item contains it."""


@dataclass(frozen=True, slots=True)
class ImportFile:
    """A file and its contents.

    spans_lines: whether a text has a line break. longest_row: upper bound of the bytes of a row, without quotes.
    """

    name: str
    num_rows: int
    spans_lines: bool = False
    longest_row: int = 0


@dataclass(frozen=True, slots=True)
class ImportFiles:
    """The files of one folder: node files with their labels (``A:B`` is two), and relationship files.

    `list_delimiter` separates the items of all lists: one character that is in none of them.
    """

    folder: Path
    nodes: tuple[tuple[str, ImportFile], ...]
    relationships: tuple[ImportFile, ...] = ()
    list_delimiter: str = LIST_DELIMITER

    @property
    def all(self) -> tuple[ImportFile, ...]:
        """Every file."""
        return (*(file for _, file in self.nodes), *self.relationships)

    @property
    def num_nodes(self) -> int:
        """Total rows of the node files."""
        return sum(file.num_rows for _, file in self.nodes)

    @property
    def num_relationships(self) -> int:
        """Total rows of the relationship files."""
        return sum(file.num_rows for file in self.relationships)

    @property
    def property_bytes(self) -> int:
        """Approximate size of the nodes' properties."""
        return sum((self.folder / file.name).stat().st_size for _, file in self.nodes)


_compute: Any = compute  # generates its functions at import, so type checkers do not know them
_LINE_BREAKS = ("\n", "\r")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


class ImportFileWriter:
    """Write tables of one schema to a file; `written` describes the result. Use it as a context manager.

    Raises `StorageError` if the file cannot be written.

    File names consist of letters, digits, ``.``, ``-`` and ``_``, because the importer reads others as lists or
    patterns. No list may be empty or hold a single empty text, because the importer reads both as absent.
    """

    def __init__(self, path: Path, list_delimiter: str = LIST_DELIMITER) -> None:
        assert _NAME.fullmatch(path.name), path.name
        self._path = path
        self._list_delimiter = list_delimiter
        self._writer: csv.CSVWriter | None = None
        self._num_rows = 0
        self._spans_lines = False
        self._longest_row = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer:
            with self._translate_errors():
                self._writer.close()

    @property
    def written(self) -> ImportFile:
        """Description of the rows written so far."""
        return ImportFile(self._path.name, self._num_rows, self._spans_lines, self._longest_row)

    def write(self, table: pa.Table) -> None:
        """Write rows; the first call creates the file."""
        self._note_line_breaks(table)
        joined = self._join_lists(table)
        with self._translate_errors():
            writer = self._writer or csv.CSVWriter(
                self._path, joined.schema, write_options=csv.WriteOptions(delimiter=DELIMITER)
            )
            self._writer = writer
            writer.write_table(joined)
        self._num_rows += joined.num_rows
        self._longest_row = max(self._longest_row, sum(self._longest_text(column) for column in joined.columns))

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise StorageError(
                f"{self._path}: cannot be written ({reason}): make room or name another --home, then run the same "
                "command again"
            ) from error

    def _note_line_breaks(self, table: pa.Table) -> None:
        for column in table.columns:
            for texts in _texts(column):
                self._spans_lines |= any(
                    _compute.any(_compute.match_substring(texts, end)).as_py() or False for end in _LINE_BREAKS
                )

    def _longest_text(self, column: pa.ChunkedArray) -> int:
        """Return the size of a column's longest text, in bytes; for a dictionary column, of its dictionary."""
        return max((_compute.max(_compute.binary_length(texts)).as_py() or 0 for texts in _texts(column)), default=0)

    def _join_lists(self, table: pa.Table) -> pa.Table:
        """Return the table with each list joined into one text."""
        for at, field in enumerate(table.schema):
            if pa.types.is_list(field.type):
                joined = _compute.binary_join(table.column(at).cast(pa.list_(pa.string())), self._list_delimiter)
                assert not _compute.any(_compute.equal(joined, "")).as_py(), f"{self._path.name}: a list without text"
                table = table.set_column(at, field.name, joined)
        return table


def _texts(column: pa.ChunkedArray) -> Iterator[pa.StringArray]:
    """Yield the texts of a column, including those of dictionaries and lists; none for a column of numbers."""
    for chunk in column.chunks:
        yield from _texts_of(chunk)


def _texts_of(values: pa.Array) -> Iterator[pa.StringArray]:
    if pa.types.is_dictionary(values.type):
        yield from _texts_of(values.dictionary)
    elif pa.types.is_list(values.type):
        yield from _texts_of(values.flatten())
    elif pa.types.is_string(values.type):
        yield values
