"""Find the files of a source: one, those of a folder, or those that a pattern fits."""

from __future__ import annotations

from glob import glob, has_magic
from pathlib import Path

from ...engine.errors import InputError

_NOT_READ = (".", "_")
"""How names begin that Hadoop, Spark and Lodestar leave beside the files of a folder."""


def list_files(path: str) -> list[str]:
    """Return the files of a folder or of a pattern (``*``, ``?``, ``[…]``, ``**``) by name; any other path itself.

    Files whose names begin with a dot or an underscore are left out. Raises `InputError` where none is left.
    """
    if path and Path(path).is_dir():
        found = [str(each) for each in Path(path).iterdir()]
    elif has_magic(path) and not Path(path).exists():
        found = glob(path, recursive=True)  # noqa: PTH207 - a pattern may begin at the root
    else:
        return [path]
    files = sorted(each for each in found if Path(each).is_file() and not Path(each).name.startswith(_NOT_READ))
    if not files:
        reason = (
            "expected files, found none there"
            if Path(path).is_dir()
            else "no such file, nor any that fits it as a pattern"
        )
        raise InputError(f"{path}: {reason}")
    return files


def derive_source_name(path: str, files: list[str]) -> str | None:
    """Return how the source of these files is called: as the folder or the pattern; None for one file."""
    return Path(path).name if files != [path] else None
