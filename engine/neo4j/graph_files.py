"""Check, delete and exchange the graph's files in a server's folder.

    data/databases/neo4j, data/transactions/neo4j    the graph
    data/importing                                   exists while an import writes: the files are then no graph
    data/arriving/                                   the data folder of the server whose graph replaces this one

An exchange begins with one rename, which creates ``arriving``. The content of ``arriving`` shows which steps remain, so
any later process can finish it. Users and passwords are in ``data/databases/system``, which stays. Call none of these
functions, except `delete_leftovers`, while a server runs on the folder.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from ..errors import EmbeddedServerError
from .home import ServerHome

_GRAPH = "neo4j"
_PARTS = ("databases", "transactions")
_STORE = f"databases/{_GRAPH}/neostore"
_FULL_TEXT = "fulltext-1.0"


def has_graph(home: ServerHome) -> bool:
    """Return whether a server started on this folder would find an existing graph, even an empty one."""
    stores = (home.data / _STORE, _arriving(home) / _STORE)
    return not _importing(home).exists() and any(store.is_file() for store in stores)


def measure_store_size(home: ServerHome) -> int:
    """Return the size of the graph's files, without the full-text indexes, which Neo4j's page cache does not hold."""
    num_bytes = 0
    for path in (home.data / "databases" / _GRAPH).rglob("*"):
        if _FULL_TEXT not in path.parts and path.is_file():
            with suppress(FileNotFoundError):  # a running server deletes files
                num_bytes += path.stat().st_size
    return num_bytes


def delete_graph(home: ServerHome) -> None:
    """Delete the graph, if there is one; users stay."""
    if not home.data.exists():
        return
    begin_import(home)  # a half deleted graph is not valid either
    for part in _PARTS:
        _delete(home.data / part / _GRAPH)
    end_import(home)


def begin_import(home: ServerHome) -> None:
    """Mark the files as no valid graph until `end_import`."""
    _importing(home).touch()


def end_import(home: ServerHome) -> None:
    """Mark the graph as complete."""
    _importing(home).unlink()


def require_whole(home: ServerHome) -> None:
    """Raise `EmbeddedServerError` unless the home has a complete graph of its own."""
    if not has_graph(home) or not all((home.data / part / _GRAPH).is_dir() for part in _PARTS):
        raise EmbeddedServerError(f"{home.folder}: expected the loaded graph, found no complete one: load it again")


def require_same_disk(home: ServerHome, source: ServerHome) -> None:
    """Raise `EmbeddedServerError` unless a folder can be renamed from one home to the other."""
    here, there = _existing(home.data), _existing(source.data)
    if here.stat().st_dev != there.stat().st_dev:
        raise EmbeddedServerError(
            f"{here} and {there} are on different disks: a bulk load needs both on one; name another home with --home"
        )


def begin_graph_swap(home: ServerHome, source: ServerHome) -> None:
    """Begin to replace the graph by that of the source; this moves the source's data folder.

    Raises `EmbeddedServerError`, with nothing changed, if that folder cannot be renamed.
    """
    try:
        source.data.rename(_arriving(home))
    except OSError as error:
        raise EmbeddedServerError(
            f"{source.data} cannot be renamed to {_arriving(home)}: {error.strerror}; the graph stays as it was"
        ) from error


def finish_graph_swap(home: ServerHome) -> None:
    """Finish an interrupted exchange and delete a partial import; afterwards a server may start."""
    if _importing(home).exists():
        delete_graph(home)
    for part in _PARTS:
        graph, arriving = home.data / part / _GRAPH, _arriving(home) / part / _GRAPH
        if not arriving.exists():
            continue
        replaced = _arriving(home) / "replaced"
        try:
            graph.parent.mkdir(exist_ok=True)
            replaced.mkdir(exist_ok=True)
            if graph.exists():
                graph.rename(replaced / part)
            arriving.rename(graph)
        except OSError as error:
            raise EmbeddedServerError(
                f"{arriving} cannot be renamed to {graph}: {error.strerror}: the next start of the server tries again"
            ) from error


def delete_leftovers(home: ServerHome) -> None:
    """Delete what a finished exchange left behind."""
    _delete(_arriving(home))


def _arriving(home: ServerHome) -> Path:
    return home.data / "arriving"


def _importing(home: ServerHome) -> Path:
    return home.data / "importing"


def _existing(path: Path) -> Path:
    """Return the path, or its nearest parent that exists."""
    return next(folder for folder in (path, *path.parents) if folder.exists())


def _delete(folder: Path) -> None:
    try:
        if folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise EmbeddedServerError(f"{error.filename or folder} cannot be deleted: {error.strerror}") from error
