"""Import a graph with `neo4j-admin database import` into a stopped server, and read its output.

With ``--verbose`` the importer counts the nodes and relationships of each stage, and prints the exception of a failure:

    Relationships, started 2026-01-01 12:00:00.000+0000
    [*Relationships:12.1MB/s 63.75MiB-------------------------------]2.58M ∆2.58M
    Done in 6s 595ms
"""

from __future__ import annotations

import errno
import re
import shutil
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .. import machine
from ..errors import EmbeddedServerError, StorageError
from ..progress import Progress, ignore_progress
from . import admin_tool, graph_files, memory
from .embedded import BOLT_PORT, HTTP_PORT, EmbeddedServer
from .home import ServerHome
from .import_files import DELIMITER, ImportFiles

# The stages that process all nodes (False) or all relationships (True); the others are short.
_STAGES = {
    "Nodes": ("nodes", False),
    "Relationships": ("relationships", True),
    "Node Degrees": ("degrees", True),
    "Relationship --> Relationship": ("outgoing links", True),
    "Node --> Relationship": ("first links", False),
    "Relationship <-- Relationship": ("incoming links", True),
    "Node counts and label index build": ("label index", False),
    "Relationship counts and relationship type index build": ("type index", True),
}
_STARTED = re.compile(rf"({'|'.join(map(re.escape, sorted(_STAGES, key=len, reverse=True)))})(?: [\d/-]+)?, started ")
_COUNT = re.compile(r"\]\s*(\d+(?:\.\d+)?)([KMGB]?) ")
_DONE = "Done in "
_UNIT = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "B": 10**9}

_SUMMARY = re.compile(r"^\s+(\d+) (nodes|relationships|properties)$", re.MULTILINE)
_CLASS = r"(?:\w+\.)+[\w$]*(?:Exception|Error)"
_EXCEPTION = re.compile(rf"^(?:Caused by: )?({_CLASS})(?:: (.+))?$", re.MULTILINE)
_WRAPPERS = re.compile(rf"^(?:{_CLASS}: )+")
_BAD_INPUT = re.compile(
    r"ERROR in input\n"
    r"  data source: .*?\[source:(?P<file>.*), position:\d+, line:(?P<line>\d+)\]\n"
    r"  in field: (?P<field>.*):\d+\n"
    r"(?:  .*\n)*?"
    r"  original error: (?P<reason>.*)"
)
_OUT_OF_MEMORY = re.compile(r"^Terminating due to java\.lang\.(OutOfMemoryError: .+)$", re.MULTILINE)
_NO_ROOM_MESSAGE = re.compile(
    r"No space left on device|out of disk space|File too large|quota exceeded|not enough space", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """Counts of an import, as reported by the importer."""

    num_nodes: int
    num_relationships: int
    num_properties: int


class ImportProgressReader:
    """Read the output line by line and call `progress`; each stage ends at its total of nodes or relationships."""

    def __init__(self, num_nodes: int, num_relationships: int, progress: Progress) -> None:
        self.num_nodes, self.num_relationships, self.progress = num_nodes, num_relationships, progress
        self._stage: tuple[str, int] | None = None

    def read(self, line: str) -> None:
        """Read the next line."""
        if started := _STARTED.search(line):
            name, over_relationships = _STAGES[started[1]]
            self._stage = (name, self.num_relationships if over_relationships else self.num_nodes)
            self.progress(name, 0, self._stage[1])
        elif self._stage and line.startswith(_DONE):
            name, total = self._stage
            self._stage = None
            self.progress(name, total, total)
        elif self._stage and (counted := _COUNT.search(line)):
            name, total = self._stage
            self.progress(name, min(int(float(counted[1]) * _UNIT[counted[2]]), total), total)


def read_import_counts(output: str) -> ImportCounts:
    """Return the counts of a successful import."""
    counts = {what: int(number) for number, what in _SUMMARY.findall(output.rpartition("IMPORT DONE")[2])}
    return ImportCounts(counts["nodes"], counts["relationships"], counts["properties"])


def find_import_failure(output: str) -> str:
    """Return why an import failed, "" if the output does not say: the first exception that has a message."""
    if exhausted := _OUT_OF_MEMORY.search(output):
        return exhausted[1]
    if bad := _BAD_INPUT.search(output):
        return f"{bad['file']}, line {bad['line']}, {bad['field']}: {bad['reason']}"
    for kind, message in _EXCEPTION.findall(output):
        if not kind.endswith("CommandFailedException"):
            return _WRAPPERS.sub("", message) or str(kind.rpartition(".")[2])
    return ""


def reports_full_disk(output: str) -> bool:
    """Return whether the import failed because the disk is full."""
    return _NO_ROOM_MESSAGE.search(output) is not None


LOG = "import.log"
REPORT = "import.report"

_COMMAND = (
    "database", "import", "full", "neo4j", "--overwrite-destination", "--id-type=actual", "--verbose",
    f"--delimiter=U+{ord(DELIMITER):04X}",
)  # fmt: skip
_COLLECTOR = "-XX:+UseParallelGC"
"""Pauses do not matter here: 10 to 20 % faster than G1 on two cores."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LEAST_BUFFER_BYTES = 4 << 20
"""The importer's default read buffer; a row with its quotes must fit into it."""


def import_graph(
    home: ServerHome,
    class_path: Iterable[Path],
    files: ImportFiles,
    progress: Progress = ignore_progress,
    *,
    heap_mb: int | None = None,
    off_heap_mb: int | None = None,
) -> ImportCounts:
    """Build the graph of a stopped server from the files. The old graph is deleted first.

    Returns the importer's counts. Raises `StorageError` if the disk is full, else `EmbeddedServerError` with the
    importer's reason; after an error or Ctrl-C the home has no graph. See ``logs/import.log`` for more.
    """
    total_mb = machine.memory_mb()
    heap_mb = heap_mb or memory.default_import_heap_mb(total_mb)
    graph_files.delete_graph(home)
    free_bytes = shutil.disk_usage(home.data).free
    if free_bytes < _least_bytes(files):
        raise _no_room(home, files, free_bytes)
    reader = ImportProgressReader(files.num_nodes, files.num_relationships, progress)
    graph_files.begin_import(home)
    try:
        with (home.logs / LOG).open("w", encoding="utf-8") as log:

            def on_line(line: str) -> None:
                log.write(f"{line}\n")
                reader.read(line)

            ended = admin_tool.run(
                home,
                class_path,
                [*_COMMAND, f"--max-off-heap-memory={off_heap_mb or memory.default_off_heap_mb(total_mb)}m"]
                + [f"--report-file={home.logs / REPORT}", *_read_options(files)]
                + [f"--nodes={label}={file.name}" for label, file in files.nodes]
                + [f"--relationships={file.name}" for file in files.relationships],
                heap_mb=heap_mb,
                collector=_COLLECTOR,
                folder=files.folder,
                on_line=on_line,
            )
        if ended.exit_code and reports_full_disk(ended.output):
            raise _no_room(home, files, free_bytes)
        counts = _check_import(ended, home, files)
        graph_files.end_import(home)
        return counts
    except BaseException as error:
        graph_files.delete_graph(home)
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            raise _no_room(home, files, free_bytes) from error
        raise


def keep_logs(home: ServerHome, keeper: ServerHome) -> None:
    """Move the log and report of the last import to the logs of another home."""
    for name in (LOG, REPORT):
        if (home.logs / name).exists():
            (home.logs / name).replace(keeper.logs / name)


def _read_options(files: ImportFiles) -> list[str]:
    """Return the options for reading the files."""
    longest = max((file.longest_row for file in files.all), default=0)
    buffer_bytes = max(_LEAST_BUFFER_BYTES, 2 * longest + (64 << 10))
    options = [f"--array-delimiter=U+{ord(files.list_delimiter):04X}", f"--read-buffer-size={buffer_bytes}"]
    if spanning := [file.name for file in files.all if file.spans_lines]:
        options += ["--multiline-fields-format=v2", f"--multiline-fields={','.join(spanning)}"]
    return options


def _least_bytes(files: ImportFiles) -> int:
    """Return the size of the graph without its properties, in bytes."""
    return files.num_nodes * 15 + files.num_relationships * 34 + (256 << 20)


def _no_room(home: ServerHome, files: ImportFiles, free_bytes: int) -> StorageError:
    usual_bytes = _least_bytes(files) + 3 * files.property_bytes  # with the indexes built afterwards
    return StorageError(
        f"no room left on the disk of {home.data}: the graph needs about {max(usual_bytes, 10**8) / 1e9:.1f} GB, "
        f"{free_bytes / 1e9:.1f} GB were free: make room or name another folder with --home"
    )


def _check_import(ended: admin_tool.CommandResult, home: ServerHome, files: ImportFiles) -> ImportCounts:
    log = home.logs / LOG
    if ended.exit_code < 0:
        raise EmbeddedServerError(
            f"Neo4j's importer was killed by signal {-ended.exit_code}: if the machine ran out of memory, close other "
            f"programs; its log is {log}"
        )
    if ended.exit_code:
        raise EmbeddedServerError(
            f"Neo4j's importer failed: {find_import_failure(ended.output) or ended.reason}; its log is {log}"
        )
    counts = read_import_counts(ended.output)
    if (counts.num_nodes, counts.num_relationships) != (files.num_nodes, files.num_relationships):
        raise EmbeddedServerError(
            f"Neo4j's importer made {counts.num_nodes:,} nodes and {counts.num_relationships:,} relationships: "
            f"expected {files.num_nodes:,} and {files.num_relationships:,}; its log is {log}"
        )
    return counts


class ImportServer(EmbeddedServer):
    """The server that receives a bulk import: ``<home_dir>/incoming/servers/<name>``, with its own folder, lock and
    ports.

    On Linux its processes do not outlive their user: the importer ends with the call, and a server that the main thread
    started ends with that thread.
    """

    usual_ports = (0, 0)

    def __init__(self, target: EmbeddedServer) -> None:
        super().__init__(target.name, target.servers_dir.parent / "incoming", target.jars.folder.parent)
        self.target = target

    def import_graph(
        self,
        files: ImportFiles,
        progress: Progress = ignore_progress,
        *,
        heap_mb: int | None = None,
        off_heap_mb: int | None = None,
    ) -> ImportCounts:
        """Stop the server and replace its graph by the one in the files.

        Raises the errors of the function `import_graph`, and `DownloadError`.
        """
        class_path = self.jars.ensure()
        with self._lock_server():
            self._stop()
            self._settle()
            self.home.create()
            return import_graph(self.home, class_path, files, progress, heap_mb=heap_mb, off_heap_mb=off_heap_mb)

    def reset(self) -> None:
        """Stop the server and delete its folder."""
        self._delete()

    def discard(self) -> None:
        """Stop the server and delete its graph; the logs stay until the next load."""
        if not self.home.folder.exists():
            return
        with self._lock_server():
            self._stop()
            admin_tool.kill_leftover_commands(self.home)
            graph_files.delete_graph(self.home)

    def _find_avoided_ports(self) -> set[int]:
        avoided = {BOLT_PORT, HTTP_PORT, *self.target.remembered_ports}
        return avoided | self.target._find_avoided_ports() | super()._find_avoided_ports()

    def _ends_with_parent(self) -> bool:
        return threading.current_thread() is threading.main_thread()
