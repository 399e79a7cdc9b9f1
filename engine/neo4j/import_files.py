"""Write the CSV files of the offline importer.

Columns, as the importer of Neo4j 5.26 reads them:

    nodes            ``:ID(n)``, the number of the node's record: 0 … nodes-1, each once, over all node files
    relationships    ``:START_ID(n)``, ``:END_ID(n)`` of nodes that are there; ``:TYPE``, not empty
    properties       ``name`` for text, ``name:string[]``, ``name:int``, ``name:int[]``, ``name:double`` …

NULL is an absent property; empty text, and empty text beside another in a list, stay. The importer finds a missing node
only beyond the last one, and never a number that is given twice.
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
"""Rarer in names than a comma: fewer texts hold it."""
LIST_DELIMITER = "\x1f"
"""Of the items of a list, where none has it."""


@dataclass(frozen=True, slots=True)
class ImportFile:
    """A file and what is in it.

    spans_lines: a text has a line break. longest_row: no row has more bytes, quotes left aside.
    """

    name: str
    num_rows: int
    spans_lines: bool = False
    longest_row: int = 0


@dataclass(frozen=True, slots=True)
class ImportFiles:
    """Files of one folder: nodes with the label of each file (``A:B`` is two), and relationships.

    `list_delimiter` parts the items of all lists: one character that is in none of them.
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
        """Rows of the node files."""
        return sum(file.num_rows for _, file in self.nodes)

    @property
    def num_relationships(self) -> int:
        """Rows of the relationship files."""
        return sum(file.num_rows for file in self.relationships)

    @property
    def property_bytes(self) -> int:
        """About what the properties of the nodes take."""
        return sum((self.folder / file.name).stat().st_size for _, file in self.nodes)


_compute: Any = compute  # its functions are made when it is imported: checkers of types do not know them
_LINE_BREAKS = ("\n", "\r")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


class ImportFileWriter:
    """Writes tables of one schema as a file; `written` says what it wrote. Use it as a context manager.

    Raises `StorageError` when the file cannot be written.

    Names of files are of letters, digits, ``.``, ``-`` and ``_``: the importer reads others as lists or patterns. Every
    list has some text: the importer takes an empty one, and one of one empty text, for none.
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
            with self._translated():
                self._writer.close()

    @property
    def written(self) -> ImportFile:
        """The file as far as it is written."""
        return ImportFile(self._path.name, self._num_rows, self._spans_lines, self._longest_row)

    def write(self, table: pa.Table) -> None:
        """Write rows; there is no file before the first."""
        self._look_for_line_breaks(table)
        joined = self._joined(table)
        with self._translated():
            writer = self._writer or csv.CSVWriter(
                self._path, joined.schema, write_options=csv.WriteOptions(delimiter=DELIMITER)
            )
            self._writer = writer
            writer.write_table(joined)
        self._num_rows += joined.num_rows
        self._longest_row = max(self._longest_row, sum(self._longest_text(column) for column in joined.columns))

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise StorageError(
                f"{self._path}: cannot be written ({reason}): make room or name another --home, then run the same "
                "command again"
            ) from error

    def _look_for_line_breaks(self, table: pa.Table) -> None:
        for column in table.columns:
            for texts in _texts(column):
                self._spans_lines |= any(
                    _compute.any(_compute.match_substring(texts, end)).as_py() or False for end in _LINE_BREAKS
                )

    def _longest_text(self, column: pa.ChunkedArray) -> int:
        """Return the bytes of a column's longest text. Of a dictionary, its texts count."""
        return max((_compute.max(_compute.binary_length(texts)).as_py() or 0 for texts in _texts(column)), default=0)

    def _joined(self, table: pa.Table) -> pa.Table:
        """Return the table with each list as one text."""
        for at, field in enumerate(table.schema):
            if pa.types.is_list(field.type):
                joined = _compute.binary_join(table.column(at).cast(pa.list_(pa.string())), self._list_delimiter)
                assert not _compute.any(_compute.equal(joined, "")).as_py(), f"{self._path.name}: a list without text"
                table = table.set_column(at, field.name, joined)
        return table


def _texts(column: pa.ChunkedArray) -> Iterator[pa.StringArray]:
    """Yield the texts that a column has: those of its dictionaries, and of its lists; none for a column of numbers."""
    for chunk in column.chunks:
        yield from _texts_of(chunk)


def _texts_of(values: pa.Array) -> Iterator[pa.StringArray]:
    if pa.types.is_dictionary(values.type):
        yield from _texts_of(values.dictionary)
    elif pa.types.is_list(values.type):
        yield from _texts_of(values.flatten())
    elif pa.types.is_string(values.type):
        yield values
