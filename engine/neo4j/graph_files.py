"""The files of the graph in a server's folder: whether they are there and whole, deleted, exchanged for others.

    data/databases/neo4j, data/transactions/neo4j    the graph
    data/importing                                   there while an import writes: what it left is no graph
    data/arriving/                                   the data folder of the server whose graph is to be the graph

An exchange begins with one rename, which brings ``arriving``. What is still to be done can be seen from there being
``arriving`` and what is in it, so whoever finds it can finish. Users and passwords are in ``data/databases/system``,
which stays. None of this may be called while a server runs on the folder, except `sweep`.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from ..errors import ServerError
from .home import ServerHome

_GRAPH = "neo4j"
_PARTS = ("databases", "transactions")
_STORE = f"databases/{_GRAPH}/neostore"


def has_graph(home: ServerHome) -> bool:
    """Whether a server started on this folder would find a graph that was made before, even an empty one."""
    stores = (home.data / _STORE, _arriving(home) / _STORE)
    return not _importing(home).exists() and any(store.is_file() for store in stores)


def delete_graph(home: ServerHome) -> None:
    """Delete the graph, if there is one; users stay."""
    if not home.data.exists():
        return
    begin_import(home)  # half deleted is no graph either
    for part in _PARTS:
        _delete(home.data / part / _GRAPH)
    end_import(home)


def begin_import(home: ServerHome) -> None:
    """Note that what is there is no graph until `end_import`."""
    _importing(home).touch()


def end_import(home: ServerHome) -> None:
    """Note that the graph is whole."""
    _importing(home).unlink()


def require_whole(home: ServerHome) -> None:
    """Raise `ServerError` unless the home has a whole graph of its own."""
    if not has_graph(home) or not all((home.data / part / _GRAPH).is_dir() for part in _PARTS):
        raise ServerError(f"{home.folder}: expected the graph that was loaded, found no whole one: load it again")


def require_same_disk(home: ServerHome, source: ServerHome) -> None:
    """Raise `ServerError` unless a folder can be renamed from one home to the other."""
    here, there = _existing(home.data), _existing(source.data)
    if here.stat().st_dev != there.stat().st_dev:
        raise ServerError(
            f"{here} and {there} are on different disks: a bulk load needs both on one; name another home with --home"
        )


def bring(home: ServerHome, source: ServerHome) -> None:
    """Begin to exchange the graph for the one of the source, whose data folder goes.

    Raises `ServerError`, with nothing changed, when that folder cannot be renamed.
    """
    try:
        source.data.rename(_arriving(home))
    except OSError as error:
        raise ServerError(
            f"{source.data} cannot be renamed to {_arriving(home)}: {error.strerror}; the graph stays as it was"
        ) from error


def settle(home: ServerHome) -> None:
    """Finish an exchange and delete a half import, if one was cut off: afterwards a server may start."""
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
            raise ServerError(
                f"{arriving} cannot be renamed to {graph}: {error.strerror}: the next start of the server tries again"
            ) from error


def sweep(home: ServerHome) -> None:
    """Delete what an exchange that is finished left behind."""
    _delete(_arriving(home))


def _arriving(home: ServerHome) -> Path:
    return home.data / "arriving"


def _importing(home: ServerHome) -> Path:
    return home.data / "importing"


def _existing(path: Path) -> Path:
    """Return the path, or the nearest folder above it that exists."""
    return next(folder for folder in (path, *path.parents) if folder.exists())


def _delete(folder: Path) -> None:
    try:
        if folder.exists():
            shutil.rmtree(folder)
    except OSError as error:
        raise ServerError(f"{error.filename or folder} cannot be deleted: {error.strerror}") from error
