"""What is made of the graph for a training, kept in the folder of its checkpoint: of this graph, as it is now."""

from __future__ import annotations

import glob
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..api import Engine
from ..errors import DatabaseUnavailableError, UsageError
from ..neo4j.catalogue import read_catalogue
from ..neo4j.file_lock import lock_file
from ..settings import Settings
from ..whole_file import storing

Say = Callable[[str], None]

DIGITS = 12
"""Of the graph's fingerprint, in the name of the file."""


@dataclass(frozen=True, slots=True)
class Made:
    """A file to be made: name and suffix, between which the graph's fingerprint stands. busy: what is said where
    another process makes it. done, do: the word for making, as mined and mine."""

    name: str
    suffix: str
    busy: str
    done: str
    do: str


def make_once_per_graph(
    folder: Path, made: Made, settings: Settings, make: Callable[[Engine, Path], None], *, fresh: bool, say: Say
) -> Path:
    """Return the file, made now or when the training in this folder began; one process makes it for all.

    say: told what is to be known beside. Where the graph cannot be reached, what was made has to do. Raises
    `UsageError` where the folder has it of another graph, or of this one before it was changed, unless `fresh`;
    `StorageError` where the folder cannot be written.
    """
    with storing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with lock_file(folder / f".{made.name}.lock", made.busy):
            kept = sorted(folder.glob(f"{glob.escape(made.name)}-{'[0-9a-f]' * DIGITS}{made.suffix}"))
            try:
                with Engine(settings) as engine:
                    fingerprint = engine.gateway().fetch(read_catalogue()).fingerprint
                    wanted = folder / f"{made.name}-{fingerprint[:DIGITS]}{made.suffix}"
                    _let_go([path for path in kept if path != wanted], made, fresh=fresh)
                    if not wanted.exists():
                        make(engine, wanted)
            except DatabaseUnavailableError as error:
                if not kept:
                    raise
                wanted = kept[-1]
                say(f"{wanted.name} was {made.done} before; whether the graph has changed since is not known: {error}")
    return wanted


def _let_go(others: Sequence[Path], made: Made, *, fresh: bool) -> None:
    """Remove what was made of another graph, where that is asked for."""
    if others and not fresh:
        raise UsageError(
            f"{others[0]} was {made.done} from another graph, or from this one before it was changed: name another "
            f"--out, or give --fresh to {made.do} and train anew"
        )
    for path in others:
        path.unlink(missing_ok=True)
