"""Import a graph with `neo4j-admin database import` into a stopped server, from files that are there.

Node files have ``:ID(n)``, the number of the node's record: 0 … nodes-1, each once, over all node files. Relationship
files have ``:START_ID(n)``, ``:END_ID(n)`` of existing nodes, and ``:TYPE``. A property is ``name`` for text,
``name:string[]``, ``name:int`` …; nothing is an absent one, and ``""`` an empty text. No list may be empty or hold a
single empty text, which the importer reads as absent. File names consist of letters, digits, ``.``, ``-`` and ``_``,
because it reads others as lists or patterns. It detects a missing node only beyond the last one, and never a duplicate
number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .. import machine
from ..errors import EmbeddedServerError
from ..progress import Progress, ignore_progress
from . import server_process
from .server_home import ServerHome, delete_graph

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


LOG = "import.log"

_COMMAND = (
    "database", "import", "full", "neo4j", "--overwrite-destination", "--id-type=actual", "--verbose",
    f"--delimiter=U+{ord(DELIMITER):04X}",
)  # fmt: skip
_LEAST_BUFFER_BYTES = 4 << 20
"""The importer's default read buffer; a row with its quotes must fit into it."""

_SUMMARY = re.compile(r"^\s+(\d+) (nodes|relationships)$", re.MULTILINE)


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
    home.importing.touch()
    progress("importing", 0, 0)
    try:
        output = server_process.run_admin_command(
            home,
            class_path,
            [*_COMMAND, f"--max-off-heap-memory={total_mb // 3}m"]
            + _read_options(files)
            + [f"--nodes={label}={file.name}" for label, file in files.nodes]
            + [f"--relationships={file.name}" for file in files.relationships],
            log_name=LOG,
            heap_mb=min(max(total_mb // 6, 1024), 2048),
            folder=files.folder,
        )
        _check_import(output, home, files)
        home.importing.unlink()
    except BaseException:
        server_process.kill_leftover_commands(home)
        delete_graph(home)
        raise


def _read_options(files: ImportFiles) -> list[str]:
    written = [*(file for _, file in files.nodes), *files.relationships]
    longest = max((file.longest_row for file in written), default=0)
    buffer_bytes = max(_LEAST_BUFFER_BYTES, 2 * longest + (64 << 10))
    options = [f"--array-delimiter=U+{ord(files.list_delimiter):04X}", f"--read-buffer-size={buffer_bytes}"]
    if spanning := [file.name for file in written if file.spans_lines]:
        options += ["--multiline-fields-format=v2", f"--multiline-fields={','.join(spanning)}"]
    return options


def _check_import(output: str, home: ServerHome, files: ImportFiles) -> None:
    found = {what: int(number) for number, what in _SUMMARY.findall(output.rpartition("IMPORT DONE")[2])}
    if (found["nodes"], found["relationships"]) != (files.num_nodes, files.num_relationships):
        raise EmbeddedServerError(
            f"Neo4j's importer made {found['nodes']:,} nodes and {found['relationships']:,} relationships: "
            f"expected {files.num_nodes:,} and {files.num_relationships:,}; its log is {home.logs / LOG}"
        )
