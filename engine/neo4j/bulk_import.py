"""Write the files of an offline import, and import a graph with `neo4j-admin database import` into a stopped server.

Node files have ``:ID(n)``, the number of the node's record: 0 … nodes-1, each once, over all node files. Relationship
files have ``:START_ID(n)``, ``:END_ID(n)`` of existing nodes, and ``:TYPE``. A property is ``name`` for text,
``name:string[]``, ``name:int`` …; NULL is an absent one, and empty text is kept. The importer detects a missing node
only beyond the last one, and never a duplicate number.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
from pyarrow import compute, csv

from .. import machine
from ..errors import EmbeddedServerError, StorageError
from ..progress import Progress, ignore_progress
from . import process
from .home import ServerHome, delete_graph

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
    def num_nodes(self) -> int:
        return sum(file.num_rows for _, file in self.nodes)

    @property
    def num_relationships(self) -> int:
        return sum(file.num_rows for file in self.relationships)


_compute: Any = compute  # generates its functions at import, so type checkers do not know them
_NAME = re.compile(r"[A-Za-z0-9._-]+")


class ImportFileWriter:
    """Write tables of one schema to a file; `written` describes the rows so far. Use it as a context manager.

    Raises `StorageError` if the file cannot be written.

    File names consist of letters, digits, ``.``, ``-`` and ``_``, because the importer reads others as lists or
    patterns. No list may be empty or hold a single empty text, because the importer reads both as absent.
    """

    def __init__(self, path: Path, list_delimiter: str = LIST_DELIMITER) -> None:
        assert _NAME.fullmatch(path.name), path.name
        self.written = ImportFile(path.name, 0)
        self._path = path
        self._list_delimiter = list_delimiter
        self._writer: csv.CSVWriter | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._writer:
            with self._translate_errors():
                self._writer.close()

    def write(self, table: pa.Table) -> None:
        """Write rows; the first call creates the file."""
        spans_lines = any(
            _compute.any(_compute.match_substring_regex(texts, "[\n\r]")).as_py() or False
            for column in table.columns
            for texts in _texts(column)
        )
        joined = self._join_lists(table)
        with self._translate_errors():
            options = csv.WriteOptions(delimiter=DELIMITER)
            writer = self._writer or csv.CSVWriter(self._path, joined.schema, write_options=options)
            self._writer = writer
            writer.write_table(joined)
        old = self.written
        self.written = ImportFile(
            old.name,
            old.num_rows + joined.num_rows,
            old.spans_lines or spans_lines,
            max(old.longest_row, sum(map(_measure_longest_text, joined.columns))),
        )

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            raise StorageError(
                f"{self._path}: cannot be written ({reason}): make room or name another LODESTAR_HOME, then run "
                "the same command again"
            ) from error

    def _join_lists(self, table: pa.Table) -> pa.Table:
        """Return the table with each list joined into one text."""
        for at, field in enumerate(table.schema):
            if pa.types.is_list(field.type):
                joined = _compute.binary_join(table.column(at).cast(pa.list_(pa.string())), self._list_delimiter)
                assert not _compute.any(_compute.equal(joined, "")).as_py(), f"{self._path.name}: a list without text"
                table = table.set_column(at, field.name, joined)
        return table


def _measure_longest_text(column: pa.ChunkedArray) -> int:
    """Return the size of a column's longest text, in bytes; for a dictionary column, of its dictionary."""
    return max((_compute.max(_compute.binary_length(texts)).as_py() or 0 for texts in _texts(column)), default=0)


def _texts(column: pa.ChunkedArray) -> Iterator[pa.StringArray]:
    """Yield the texts of a column, including those of dictionaries and lists; none for a column of numbers."""
    for values in column.chunks:
        if pa.types.is_dictionary(values.type):
            values = values.dictionary  # noqa: PLW2901
        if pa.types.is_list(values.type):
            values = values.flatten()  # noqa: PLW2901
        if pa.types.is_string(values.type):
            yield values


# The importer

LOG = "import.log"
REPORT = "import.report"

_COMMAND = (
    "database", "import", "full", "neo4j", "--overwrite-destination", "--id-type=actual", "--verbose",
    f"--delimiter=U+{ord(DELIMITER):04X}",
)  # fmt: skip
_COLLECTOR = "-XX:+UseParallelGC"
"""Pauses do not matter here: 10 to 20 % faster than G1 on two cores."""
_LEAST_BUFFER_BYTES = 4 << 20
"""The importer's default read buffer; a row with its quotes must fit into it."""

_SUMMARY = re.compile(r"^\s+(\d+) (nodes|relationships)$", re.MULTILINE)
_NO_ROOM_MESSAGE = re.compile(
    r"No space left on device|out of disk space|File too large|quota exceeded|not enough space", re.IGNORECASE
)


def import_graph(
    home: ServerHome,
    class_path: Iterable[Path],
    files: ImportFiles,
    progress: Progress = ignore_progress,
) -> None:
    """Build the graph of a stopped server from the files. The old graph is deleted first.

    The Java heap is a sixth of the memory, between 1 and 2 GB, since larger graphs need no more; outside it the import
    may use a third. Raises `StorageError` if the disk is full, else `EmbeddedServerError` with the importer's reason;
    after an error or Ctrl-C the home has no graph. See ``logs/import.log`` for more.
    """
    total_mb = machine.memory_mb()
    delete_graph(home)
    free_bytes = shutil.disk_usage(home.data).free
    home.importing.touch()
    progress("importing", 0, 0)
    try:
        exit_code, output = process.run(
            home,
            class_path,
            [*_COMMAND, f"--max-off-heap-memory={total_mb // 3}m", f"--report-file={home.logs / REPORT}"]
            + _read_options(files)
            + [f"--nodes={label}={file.name}" for label, file in files.nodes]
            + [f"--relationships={file.name}" for file in files.relationships],
            log=home.logs / LOG,
            heap_mb=min(max(total_mb // 6, 1024), 2048),
            collector=_COLLECTOR,
            folder=files.folder,
        )
        if exit_code and reports_full_disk(output):
            raise _no_room(home, files, free_bytes)
        _check_import(exit_code, output, home, files)
        home.importing.unlink()
    except BaseException as error:
        process.kill_leftover_commands(home)
        delete_graph(home)
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise _no_room(home, files, free_bytes) from error
        raise


def keep_logs(home: ServerHome, keeper: ServerHome) -> None:
    """Move the log and report of the last import to the logs of another home."""
    for name in (LOG, REPORT):
        if (home.logs / name).exists():
            (home.logs / name).replace(keeper.logs / name)


def reports_full_disk(output: str) -> bool:
    """Return whether the import failed because the disk is full."""
    return _NO_ROOM_MESSAGE.search(output) is not None


def _read_options(files: ImportFiles) -> list[str]:
    written = [*(file for _, file in files.nodes), *files.relationships]
    longest = max((file.longest_row for file in written), default=0)
    buffer_bytes = max(_LEAST_BUFFER_BYTES, 2 * longest + (64 << 10))
    options = [f"--array-delimiter=U+{ord(files.list_delimiter):04X}", f"--read-buffer-size={buffer_bytes}"]
    if spanning := [file.name for file in written if file.spans_lines]:
        options += ["--multiline-fields-format=v2", f"--multiline-fields={','.join(spanning)}"]
    return options


def _no_room(home: ServerHome, files: ImportFiles, free_bytes: int) -> StorageError:
    property_bytes = sum((files.folder / file.name).stat().st_size for _, file in files.nodes)
    records_bytes = files.num_nodes * 15 + files.num_relationships * 34 + (256 << 20)
    usual_bytes = records_bytes + 3 * property_bytes  # with the indexes built afterwards
    return StorageError(
        f"no room left on the disk of {home.data}: the graph needs about {usual_bytes / 1e9:.1f} GB, "
        f"{free_bytes / 1e9:.1f} GB were free: make room or name another LODESTAR_HOME"
    )


def _check_import(exit_code: int, output: str, home: ServerHome, files: ImportFiles) -> None:
    log = f"its log is {home.logs / LOG}"
    if exit_code < 0:
        raise EmbeddedServerError(
            f"Neo4j's importer was killed by signal {-exit_code}: if the machine ran out of memory, close other "
            f"programs; {log}"
        )
    if exit_code:
        reason = process.failure_reason(output) or f"exit code {exit_code}"
        raise EmbeddedServerError(f"Neo4j's importer failed: {reason}; {log}")
    found = {what: int(number) for number, what in _SUMMARY.findall(output.rpartition("IMPORT DONE")[2])}
    if (found["nodes"], found["relationships"]) != (files.num_nodes, files.num_relationships):
        raise EmbeddedServerError(
            f"Neo4j's importer made {found['nodes']:,} nodes and {found['relationships']:,} relationships: "
            f"expected {files.num_nodes:,} and {files.num_relationships:,}; {log}"
        )
