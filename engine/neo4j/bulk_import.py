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
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .. import machine
from ..errors import NO_ROOM, EmbeddedServerError, StorageError
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
        exit_code, output = server_process.run_neo4j_command(
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
        if exit_code and _NO_ROOM_MESSAGE.search(output):
            raise _no_room(home, files, free_bytes)
        _check_import(exit_code, output, home, files)
        home.importing.unlink()
    except BaseException as error:
        server_process.kill_leftover_commands(home)
        delete_graph(home)
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise _no_room(home, files, free_bytes) from error
        raise


def move_import_logs(home: ServerHome, keeper: ServerHome) -> None:
    """Move the log and report of the last import to the logs of another home."""
    for name in (LOG, REPORT):
        if (home.logs / name).exists():
            (home.logs / name).replace(keeper.logs / name)


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
        reason = server_process.find_failure_reason(output) or f"exit code {exit_code}"
        raise EmbeddedServerError(f"Neo4j's importer failed: {reason}; {log}")
    found = {what: int(number) for number, what in _SUMMARY.findall(output.rpartition("IMPORT DONE")[2])}
    if (found["nodes"], found["relationships"]) != (files.num_nodes, files.num_relationships):
        raise EmbeddedServerError(
            f"Neo4j's importer made {found['nodes']:,} nodes and {found['relationships']:,} relationships: "
            f"expected {files.num_nodes:,} and {files.num_relationships:,}; {log}"
        )
