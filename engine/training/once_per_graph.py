"""Make training data from the graph once, store it in the checkpoint's folder, and check that it is from this graph."""

from __future__ import annotations

import glob
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..api import Engine
from ..errors import DatabaseUnavailableError, UsageError
from ..neo4j.catalogue import read_catalogue
from ..settings import Settings
from ..whole_file import lock_file, translate_storage_errors

Say = Callable[[str], None]

DIGITS = 12
"""Digits of the graph's fingerprint in the file name."""


@dataclass(frozen=True, slots=True)
class GraphFileSpec:
    """A file to make: name and suffix, with the graph's fingerprint between them. busy: message while another process
    makes it. done, do: the verb, such as mined and mine.
    """

    name: str
    suffix: str
    busy: str
    done: str
    do: str


def make_once_per_graph(
    folder: Path,
    made: GraphFileSpec,
    settings: Settings,
    make: Callable[[Engine, Path], None],
    *,
    fresh: bool,
    say: Say,
) -> Path:
    """Return the file, made now or by an earlier run of this training; one process makes it for all.

    say: receives messages. If the graph cannot be reached, an existing file is used. Raises `UsageError` if the folder
    has a file from another graph, or from this one before a change, unless `fresh`; `StorageError` if the folder cannot
    be written.
    """
    with translate_storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with lock_file(folder / f".{made.name}.lock", made.busy):
            kept = sorted(folder.glob(f"{glob.escape(made.name)}-{'[0-9a-f]' * DIGITS}{made.suffix}"))
            try:
                with Engine(settings) as engine:
                    fingerprint = engine.gateway().fetch(read_catalogue()).fingerprint
                    wanted = folder / f"{made.name}-{fingerprint[:DIGITS]}{made.suffix}"
                    _delete_outdated([path for path in kept if path != wanted], made, fresh=fresh)
                    if not wanted.exists():
                        make(engine, wanted)
            except DatabaseUnavailableError as error:
                if not kept:
                    raise
                wanted = kept[-1]
                say(
                    f"{wanted.name} was {made.done} earlier; it is unknown whether the graph has changed since: {error}"
                )
    return wanted


def _delete_outdated(others: Sequence[Path], made: GraphFileSpec, *, fresh: bool) -> None:
    """Delete files made from another graph, if `fresh`."""
    if others and not fresh:
        raise UsageError(
            f"{others[0]} was {made.done} from another graph, or from this one before a change: name another "
            f"--out, or give --fresh to {made.do} and train again"
        )
    for path in others:
        path.unlink(missing_ok=True)
