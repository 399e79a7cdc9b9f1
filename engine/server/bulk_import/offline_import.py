"""A graph from CSV files into the folder of a server that is stopped, by Neo4j's own importer."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterable
from pathlib import Path

from ...errors import ServerError, StorageError
from ...progress.phases import Progress, silent
from ..files import graph_files
from ..files.home import ServerHome
from ..processes import admin_tool, machine
from .import_files import DELIMITER, ImportFiles
from .import_output import Imported, StageReader, failure, imported, lacked_room

LOG = "import.log"
REPORT = "import.report"

_COMMAND = (
    "database", "import", "full", "neo4j", "--overwrite-destination", "--id-type=actual", "--verbose",
    f"--delimiter=U+{ord(DELIMITER):04X}",
)  # fmt: skip
_COLLECTOR = "-XX:+UseParallelGC"
"""Nobody waits for an answer meanwhile, so pauses do not matter: a tenth to a fifth faster than G1 on two cores."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LEAST_BUFFER_BYTES = 4 << 20
"""What the importer reads at a time where it is told nothing; a row with its quotes has to fit in."""


def import_graph(
    home: ServerHome,
    class_path: Iterable[Path],
    files: ImportFiles,
    progress: Progress = silent,
    *,
    heap_mb: int | None = None,
    off_heap_mb: int | None = None,
) -> Imported:
    """Make the graph of a home whose server is stopped from the files; the graph that was there is lost at once.

    Returns what the importer counted. Raises `StorageError` when the disk has no room, else `ServerError` with the
    importer's reason; either way, and after Ctrl-C, the home has no graph. ``logs/import.log`` says more.
    """
    total_mb = machine.memory_mb()
    heap_mb = heap_mb or machine.default_import_heap_mb(total_mb)
    graph_files.delete_graph(home)
    free_bytes = shutil.disk_usage(home.data).free
    if free_bytes < _least_bytes(files):
        raise _no_room(home, files, free_bytes)
    reader = StageReader(files.num_nodes, files.num_relationships, progress)
    graph_files.begin_import(home)
    try:
        with (home.logs / LOG).open("w", encoding="utf-8") as log:

            def on_line(line: str) -> None:
                log.write(f"{line}\n")
                reader.read(line)

            ended = admin_tool.run(
                home,
                class_path,
                [*_COMMAND, f"--max-off-heap-memory={off_heap_mb or machine.default_off_heap_mb(total_mb)}m"]
                + [f"--report-file={home.logs / REPORT}", *_reading(files)]
                + [f"--nodes={label}={file.name}" for label, file in files.nodes]
                + [f"--relationships={file.name}" for file in files.relationships],
                heap_mb=heap_mb,
                collector=_COLLECTOR,
                folder=files.folder,
                on_line=on_line,
            )
        if ended.exit_code and lacked_room(ended.output):
            raise _no_room(home, files, free_bytes)
        made = _checked(ended, home, files)
        graph_files.end_import(home)
        return made
    except BaseException as error:
        graph_files.delete_graph(home)
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            raise _no_room(home, files, free_bytes) from error
        raise


def keep_logs(home: ServerHome, keeper: ServerHome) -> None:
    """Move what the last import wrote of itself to the logs of another home."""
    for name in (LOG, REPORT):
        if (home.logs / name).exists():
            (home.logs / name).replace(keeper.logs / name)


def _reading(files: ImportFiles) -> list[str]:
    """Return the options that say how the files are read."""
    longest = max((file.longest_row for file in files.all), default=0)
    buffer_bytes = max(_LEAST_BUFFER_BYTES, 2 * longest + (64 << 10))
    options = [f"--array-delimiter=U+{ord(files.list_delimiter):04X}", f"--read-buffer-size={buffer_bytes}"]
    if spanning := [file.name for file in files.all if file.spans_lines]:
        options += ["--multiline-fields-format=v2", f"--multiline-fields={','.join(spanning)}"]
    return options


def _least_bytes(files: ImportFiles) -> int:
    """Return what the graph takes without its properties."""
    return files.num_nodes * 15 + files.num_relationships * 34 + (256 << 20)


def _no_room(home: ServerHome, files: ImportFiles, free_bytes: int) -> StorageError:
    usual_bytes = _least_bytes(files) + 3 * files.property_bytes  # with the indexes that a server makes afterwards
    return StorageError(
        f"no room left on the disk of {home.data}: the graph needs about {max(usual_bytes, 10**8) / 1e9:.1f} GB, "
        f"{free_bytes / 1e9:.1f} GB were free: make room or name another folder with --home"
    )


def _checked(ended: admin_tool.Ended, home: ServerHome, files: ImportFiles) -> Imported:
    log = home.logs / LOG
    if ended.exit_code < 0:
        raise ServerError(
            f"Neo4j's importer was killed by signal {-ended.exit_code}: if the machine ran out of memory, close other "
            f"programs; its log is {log}"
        )
    if ended.exit_code:
        raise ServerError(f"Neo4j's importer failed: {failure(ended.output) or ended.reason}; its log is {log}")
    made = imported(ended.output)
    if (made.num_nodes, made.num_relationships) != (files.num_nodes, files.num_relationships):
        raise ServerError(
            f"Neo4j's importer made {made.num_nodes:,} nodes and {made.num_relationships:,} relationships: expected "
            f"{files.num_nodes:,} and {files.num_relationships:,}; its log is {log}"
        )
    return made
