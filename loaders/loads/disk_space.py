"""Is there room: looked up before a load begins, so that it does not fail for want of it in the middle."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

from ...engine.errors import StorageError
from ..stage.stage import Counts

STAGE_BYTES_A_BYTE = 4
"""Of the stage, for each byte of the source on disk (gzip); measured 2.0 to 3.6 on FB15k-237 and copies of it."""

# Of the graph with its indexes, logs and the files that are imported; see docs/loading.md.
BYTES_A_TRIPLE = 180
BYTES_A_NODE = 1_100


def make_staging(folder: Path) -> None:
    """Make the folder that sources are converted in; raise `StorageError` where it cannot be."""
    with _written(folder):
        folder.mkdir(parents=True, exist_ok=True)


def made_within(folder: Path, prefix: str) -> Path:
    """Return a new folder in the one that sources are converted in; raise `StorageError` where it cannot be made."""
    make_staging(folder)
    with _written(folder):
        return Path(mkdtemp(prefix=prefix, dir=folder))


@contextmanager
def _written(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{folder}: cannot be written: {error.strerror or error}: name another folder with --home"
        ) from error


def check_room_for_stage(folder: Path, size_bytes: int | None) -> None:
    """Raise `StorageError` when the disk of `folder` has no room to convert a source of this size."""
    _check(folder, (size_bytes or 0) * STAGE_BYTES_A_BYTE, "to convert the source")


def check_room_for_graph(folder: Path, counts: Counts) -> None:
    """Raise `StorageError` when the disk of `folder` has no room for a graph of this size."""
    _check(folder, graph_bytes(counts), f"for {counts.num_triples:,} triples")


def graph_bytes(counts: Counts) -> int:
    """Return about how much a graph takes on disk while it is loaded."""
    return counts.num_triples * BYTES_A_TRIPLE + (counts.num_entities + counts.num_literals) * BYTES_A_NODE


def _check(folder: Path, needed_bytes: int, purpose: str) -> None:
    existing = next(path for path in (folder, *folder.resolve().parents) if path.exists())
    free_bytes = shutil.disk_usage(existing).free
    if free_bytes < needed_bytes:
        raise StorageError(
            f"{existing}: expected {needed_bytes / 1e9:,.1f} GB free {purpose}, found {free_bytes / 1e9:,.1f} GB: "
            "make room or name another --home"
        )
