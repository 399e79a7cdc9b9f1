"""A graph from Parquet files into the folder of a server that is stopped, by Neo4j's own importer.

Columns of the files, as the importer of Neo4j 5.26 reads them:

    nodes            ``:ID(n)`` BIGINT, the number of the node's record: 0 … nodes-1, each once, over all node files
    relationships    ``:START_ID(n)``, ``:END_ID(n)`` BIGINT of nodes that are there; ``:TYPE`` VARCHAR, not empty
    properties       ``name`` for text, ``name:string[]``, ``name:int``, ``name:int[]``, ``name:double`` …

NULL is an absent property, and so is empty text; an empty list and empty text in a list stay. The importer finds a
missing node only beyond the last one, and never a number that is given twice.
"""

from __future__ import annotations

import errno
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..errors import ServerError, StorageError
from . import admin_tool, graph_files, machine
from .home import ServerHome
from .import_output import Imported, Progress, StageReader, failure, imported, lacked_room

LOG = "import.log"
REPORT = "import.report"

_COMMAND = (
    "database", "import", "full", "neo4j", "--overwrite-destination", "--input-type=parquet", "--id-type=actual",
    "--verbose",
)  # fmt: skip
_COLLECTOR = "-XX:+UseParallelGC"
"""Nobody waits for an answer meanwhile, so pauses do not matter: a tenth to a fifth faster than G1 on two cores."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NAME = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class ImportFiles:
    """Parquet files of one folder, by name: nodes with the label of each file (``A:B`` is two), and relationships.

    Names are of letters, digits, ``.``, ``-`` and ``_``: the importer reads others as lists or patterns.
    """

    folder: Path
    nodes: tuple[tuple[str, str], ...]
    relationships: tuple[str, ...] = ()


def import_graph(
    home: ServerHome,
    class_path: Iterable[Path],
    files: ImportFiles,
    progress: Progress = lambda _stage, _done, _total: None,
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
    sizes = _measured(files)
    graph_files.delete_graph(home)
    free_bytes = shutil.disk_usage(home.data).free
    if free_bytes < sizes.least_bytes:
        raise _no_room(home, sizes, free_bytes)
    reader = StageReader(sizes.num_nodes, sizes.num_relationships, progress)
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
                + [f"--report-file={home.logs / REPORT}"]
                + [f"--nodes={label}={name}" for label, name in files.nodes]
                + [f"--relationships={name}" for name in files.relationships],
                heap_mb=heap_mb,
                collector=_COLLECTOR,
                folder=files.folder,
                on_line=on_line,
            )
        if ended.exit_code and lacked_room(ended.output):
            raise _no_room(home, sizes, free_bytes)
        made = _checked(ended, home, sizes)
        graph_files.end_import(home)
        return made
    except BaseException as error:
        graph_files.delete_graph(home)
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            raise _no_room(home, sizes, free_bytes) from error
        raise


def keep_logs(home: ServerHome, keeper: ServerHome) -> None:
    """Move what the last import wrote of itself to the logs of another home."""
    for name in (LOG, REPORT):
        if (home.logs / name).exists():
            (home.logs / name).replace(keeper.logs / name)


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Rows of the files, and the bytes of their columns before compression."""

    num_nodes: int
    num_relationships: int
    column_bytes: int

    @property
    def least_bytes(self) -> int:
        """What the graph takes without its properties."""
        return self.num_nodes * 15 + self.num_relationships * 34 + (256 << 20)

    @property
    def usual_bytes(self) -> int:
        """What a graph of such files took, with the indexes that a server makes afterwards."""
        return self.least_bytes + 3 * self.column_bytes


def _measured(files: ImportFiles) -> _Sizes:
    from pyarrow import parquet

    for name in [*(name for _, name in files.nodes), *files.relationships]:
        assert _NAME.fullmatch(name), name
    nodes, relationships = (
        [parquet.read_metadata(files.folder / name) for name in names]
        for names in ([name for _, name in files.nodes], files.relationships)
    )
    return _Sizes(
        sum(file.num_rows for file in nodes),
        sum(file.num_rows for file in relationships),
        sum(
            file.row_group(group).total_byte_size
            for file in [*nodes, *relationships]
            for group in range(file.num_row_groups)
        ),
    )


def _no_room(home: ServerHome, sizes: _Sizes, free_bytes: int) -> StorageError:
    return StorageError(
        f"no room left on the disk of {home.data}: the graph needs about {max(sizes.usual_bytes, 10**8) / 1e9:.1f} GB, "
        f"{free_bytes / 1e9:.1f} GB were free: make room or name another folder with --home"
    )


def _checked(ended: admin_tool.Ended, home: ServerHome, sizes: _Sizes) -> Imported:
    log = home.logs / LOG
    if ended.exit_code < 0:
        raise ServerError(
            f"Neo4j's importer was killed by signal {-ended.exit_code}: if the machine ran out of memory, close other "
            f"programs; its log is {log}"
        )
    if ended.exit_code:
        raise ServerError(f"Neo4j's importer failed: {failure(ended.output) or ended.reason}; its log is {log}")
    made = imported(ended.output)
    if (made.num_nodes, made.num_relationships) != (sizes.num_nodes, sizes.num_relationships):
        raise ServerError(
            f"Neo4j's importer made {made.num_nodes:,} nodes and {made.num_relationships:,} relationships: expected "
            f"{sizes.num_nodes:,} and {sizes.num_relationships:,}; its log is {log}"
        )
    return made
