"""Stages that no load came back for."""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from pathlib import Path

from ...engine.errors import LoadInProgressError
from ...engine.server.file_lock import locked

ABANDONED_S = 7 * 24 * 3_600
"""A load that was interrupted is expected to be repeated within a week; later it converts its source again."""


def sweep(staging: Path) -> None:
    """Delete the stages that nobody has written to or gone on with for `ABANDONED_S`."""
    for folder in staging.iterdir():
        if not folder.is_dir() or _age_s(folder) < ABANDONED_S:
            continue
        with (
            suppress(LoadInProgressError),
            locked(folder.with_suffix(".lock"), "", refusal=LoadInProgressError("its load is under way")),
        ):
            shutil.rmtree(folder, ignore_errors=True)


def _age_s(folder: Path) -> float:
    """Return how long ago the folder or what is in it was changed."""
    changed_s = folder.stat().st_mtime
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            changed_s = max(changed_s, path.stat().st_mtime)
    return time.time() - changed_s
