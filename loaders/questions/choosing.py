"""The file of questions that a path and a split mean."""

from __future__ import annotations

import re
from pathlib import Path

from ...engine.errors import InputError


def chosen_file(path: str, split: str | None) -> str:
    """Return the file itself or, of a folder, the one file whose name has the split as a word.

    Raises `InputError` for a folder without a split, and for one where no file or several have it.
    """
    folder = Path(path)
    if not folder.is_dir():
        return path
    names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    if split is None:
        raise InputError(f"{path}: expected a file of questions, found a folder: name one of its files, or a --split")
    found = [name for name in names if re.search(rf"(?<![a-z0-9]){re.escape(split)}(?![a-z0-9])", name.lower())]
    if len(found) != 1:
        what = f"{len(found)} files" if found else "no file"
        raise InputError(f"{path}: expected one file of the split {split!r}, found {what} of {', '.join(names)}")
    return str(folder / found[0])
